"""Parameters are declared once: order, defaults, and what a call may not do with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from ppduck.call import arguments
from ppduck.call.parameters import (
    Call,
    MisreadError,
    NotTakenError,
    fixed,
    own_parameters,
    parameter,
    parameters,
    parameters_of,
    written,
)


@parameters
class BaseCall(Call):
    tbl: str = parameter(arguments.words, "a table")
    key: Sequence[str] = parameter(arguments.columns, "a key", (), last=True)


@parameters
class OwnCall(BaseCall):
    level: float | None = parameter(arguments.integer, "a level", None)
    corrected: bool = parameter(arguments.flag, "a flag", False)


@parameters
class FixedCall(OwnCall):
    corrected: bool = fixed(True)


def test_the_order_is_base_own_last() -> None:
    assert [each.signature for each in parameters_of(OwnCall)] == [
        *("tbl", "level := NULL", "corrected := false", "key := NULL"),
    ]
    assert own_parameters(OwnCall, BaseCall) == ("level", "corrected")


def test_defaults_are_filled_in() -> None:
    call = OwnCall(tbl="t")
    assert (call.tbl, call.level, call.corrected, call.key) == ("t", None, False, ())
    assert call == OwnCall(tbl="t", level=None)
    assert call != OwnCall(tbl="u")
    assert hash(call) == hash(OwnCall(tbl="t"))
    assert repr(call) == "OwnCall(tbl='t', key=(), level=None, corrected=False)"
    assert dataclasses.replace(call, level=2.0).level == 2.0


def test_a_call_is_no_variable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'tbl'"):
        OwnCall(tbl="t").tbl = "u"  # type: ignore[misc]
    with pytest.raises(TypeError, match="tbl is missing"):
        OwnCall()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="OwnCall has no other"):
        OwnCall(tbl="t", other=1)  # type: ignore[call-arg]


def test_what_a_function_fixes_cannot_be_given() -> None:
    assert [each.name for each in parameters_of(FixedCall)] == ["tbl", "level", "key"]
    assert FixedCall(tbl="t").corrected


def test_every_field_must_be_declared() -> None:
    with pytest.raises(TypeError, match=r"BareCall\.x needs parameter"):

        @parameters
        class BareCall(Call):
            x: int = 1


def test_defaults_as_sql() -> None:
    values = [None, (), {}, True, 0.95, 3.0, "drop"]
    assert list(map(written, values)) == ["NULL", "NULL", "NULL", "true", "0.95", "3", "'drop'"]


def test_the_outermost_reader_says_what_is_taken() -> None:
    reader = arguments.per_column(arguments.number(arguments.Range(0, 1)))
    with pytest.raises(NotTakenError, match=r"takes a number from 0 to 1, or \{'column': number\} of them"):
        reader("x")
    with pytest.raises(MisreadError, match="must be from 0 to 1"):
        reader(2)
