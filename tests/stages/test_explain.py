"""What is said of each column of a call, and of the key of its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ppduck.call.guarantees import Promise
from ppduck.query import tree as sql
from ppduck.stages.explain import columns, noise_key, promised
from ppduck.stages.masking import Masking

Make = Callable[..., Masking]


def told(made: Masking) -> dict[str | None, tuple[str, str]]:
    return {name: (role, note) for name, role, note in columns(made.mask, made.roles, made.call)}


def test_every_column_has_a_role(masking: Make) -> None:
    found = told(masking(nonconf=("s", "g"), strata=("flag",)))
    assert {name: role for name, (role, _) in found.items()} == {
        "id": "not used", "s": "nonconfidential", "g": "nonconfidential", "flag": "group", "x": "confidential",
        "n": "not used",
    }  # fmt: skip
    assert found["g"][1] == "used as 1 indicators against its level 'a'"
    assert found["x"][1] == "replaced by its masked value, as DOUBLE; NULL stays NULL"
    assert found["id"][1].startswith("named as key; released as it is")


def test_a_mask_that_refuses_null_does_not_say_that_it_stays(masking: Make) -> None:
    made = masking()
    found = {name: note for name, _, note in columns(made.mask, made.roles, made.call, refuses_null=True)}
    assert found["x"] == "replaced by its masked value, as DOUBLE"


def test_values_that_are_swapped_or_rounded_are_told_so(masking: Make) -> None:
    assert "a value of the column, by chance its own" in told(masking("shuffle_mask"))["x"][1]
    assert "rounded to its type" in told(masking(conf=("n",), round=True))["n"][1]
    assert "kim_mask looks at conf only" in told(masking("kim_mask", nonconf=(), level=0.1))["s"][1]


def test_promises_are_those_of_the_registration(masking: Make) -> None:
    made = masking()
    assert promised(made.mask, made.call) == [
        *((None, "guaranteed", each.sentence) for each in made.mask.keeps),
        *((None, "not guaranteed", each.sentence) for each in made.mask.loses),
    ]


def test_what_holds_of_other_calls_only_is_not_promised(masking: Make) -> None:
    made = masking("kim_mask", nonconf=(), level=0.1)
    exact = next(each for each in made.mask.keeps if each.promise is Promise.SPREAD)
    row = (None, "guaranteed", exact.sentence)
    assert row not in promised(made.mask, made.call)
    assert row in promised(made.mask, replace(made.call, corrected=True))  # type: ignore[call-arg]


def test_the_key_is_counted_when_the_explanation_is_read(masking: Make) -> None:
    source = masking().roles.source
    written = sql.render(noise_key(source, ["id"], "", [], "NOT unique"))
    assert "named as key" in written
    assert 'count(DISTINCT hash("id"))' in written
    assert "the table's row number" in sql.render(noise_key(source, [], "", [], "NOT unique")).replace("''", "'")
