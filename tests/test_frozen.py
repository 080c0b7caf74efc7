"""@frozen makes what @dataclass(frozen=True) makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

import pytest

from ppduck.frozen import frozen


@frozen
class Base:
    name: str
    size: int = 3
    parts: list[str] = field(default_factory=list, kw_only=True)


@frozen
class Wider(Base):
    more: float = 0.5

    @cached_property
    def twice(self) -> float:
        return 2 * self.more


@frozen(kw_only=True)
class Named(Base):
    must: bool


@frozen
class Checked:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")

    def __repr__(self) -> str:
        return f"{self.low}..{self.high}"


def standard(of: type[Any], *bases: type[Any], kw_only: bool = False) -> Any:
    """The class that dataclass would have made."""
    own = {"__annotations__": of.__annotations__} | {name: of.__dataclass_fields__[name] for name in of.__annotations__}
    return dataclasses.dataclass(frozen=True, kw_only=kw_only)(type(of.__name__, bases, own))


StandardBase = standard(Base)
BOTH = [
    pytest.param(ours, theirs, id=ours.__name__)
    for ours, theirs in [
        (Base, StandardBase),
        (Wider, standard(Wider, StandardBase)),
        (Named, standard(Named, StandardBase, kw_only=True)),
    ]
]
GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("a",), {}),
    (("a",), {"must": True}),
    (("a", 4), {"parts": ["x"]}),
    (("a", 4, 0.25), {}),
    (("a", 4, 0.25, 1), {}),
    (("a",), {"name": "b"}),
    (("a",), {"other": 1}),
    ((), {"size": 1, "name": "b"}),
]


@pytest.mark.parametrize(("ours", "theirs"), BOTH)
@pytest.mark.parametrize(("given", "named"), GIVEN)
def test_arguments_fill_the_fields_that_dataclass_would_fill(
    ours: Callable[..., Any], theirs: Callable[..., Any], given: Any, named: Any
) -> None:
    try:
        expected = theirs(*given, **named)
    except TypeError:
        with pytest.raises(TypeError, match=r"is missing|has no|is given twice|places, and"):
            ours(*given, **named)
    else:
        found = ours(*given, **named)
        assert dataclasses.asdict(found) == dataclasses.asdict(expected)
        assert repr(found).removeprefix("test_frozen.") == repr(expected)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Base(), "Base: name is missing"),
        (lambda: Base("a", 1, 2), "Base has 2 places, and 3 values are given"),
        (lambda: Base("a", other=1), "Base has no other"),
        (lambda: Base("a", name="b"), "Base: name is given twice"),
    ],
)
def test_what_does_not_fit_is_named(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        wrong()


def test_values_are_equal_by_their_fields() -> None:
    value = Wider("a", more=1.5)
    assert value.twice == 3.0
    assert value == Wider("a", 3, 1.5)  # what was computed beside the fields does not count
    assert value != Wider("b", 3, 1.5)
    assert Base("a") != Wider("a")
    assert hash(Checked(1, 2)) == hash(Checked(1, 2))
    assert len({Checked(1, 2), Checked(1, 2), Checked(1, 3)}) == 2


def test_a_value_does_not_change() -> None:
    value = Base("a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        value.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del value.name
    assert dataclasses.replace(value, size=4) == Base("a", 4)  # type: ignore[type-var]


def test_each_value_has_a_list_of_its_own() -> None:
    assert Base("a").parts is not Base("a").parts


def test_what_a_class_defines_stays() -> None:
    assert repr(Checked(1, 2)) == "1..2"
    with pytest.raises(ValueError, match="low is above high"):
        Checked(2, 1)


def test_a_value_can_be_copied_and_sent() -> None:
    value = Wider("a", parts=["x"])
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
