"""A specification comes back from its text as it went in, and names whoever asks."""

from __future__ import annotations

from ppduck import interrupts
from ppduck.call.spec import Spec
from ppduck.frozen import frozen


@frozen
class Level:
    name: str
    share: float | None


@frozen
class OwnSpec(Spec):
    conf: list[str]
    levels: tuple[Level, ...]
    shares: dict[str, float]
    limit: float | None = None


SPEC = OwnSpec("a_mask", "t", ["x1"], (Level("a", 0.5), Level("b", None)), {"x1": 0.1})


def test_it_is_read_as_it_was_written() -> None:
    assert OwnSpec.read(SPEC.text()) == SPEC
    assert OwnSpec.read(SPEC.text()) is OwnSpec.read(SPEC.text()), "read once for all groups of a query"


def test_equal_specifications_have_equal_texts() -> None:
    other = OwnSpec("a_mask", "t", ["x1"], (Level("a", 0.5), Level("b", None)), {"x1": 0.1})
    assert SPEC.text() == other.text()


def test_it_names_the_connection_that_asks() -> None:
    assert Spec("a_mask", "t").asking is None
    with interrupts.planning_for("someone"):
        assert Spec("a_mask", "t").asking == "someone"


def test_messages_name_function_and_table() -> None:
    assert str(SPEC.refuse("conf is empty.")) == 'a_mask on "t": conf is empty.'
