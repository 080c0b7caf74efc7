"""What masks of numbers share: columns under their own names, and promises asked of the registration."""

from __future__ import annotations

from ppduck.call.guarantees import Guarantee, Promise
from ppduck.call.numeric_mask import NumericCall, NumericMask, check_columns, own_arguments
from ppduck.call.parameters import parameters_of
from ppduck.masks.kim import MASK
from ppduck.query import tree as sql


def mask(*promises: Promise) -> NumericMask:
    keeps = tuple(Guarantee(promise, promise.value) for promise in promises)
    return NumericMask("m", NumericCall, lambda catalog, call: sql.null(), "", "", keeps=keeps)


CALL = NumericCall(tbl="t", conf=["x1"])


def test_the_order_of_a_call_by_place() -> None:
    assert [each.name for each in parameters_of(NumericCall)] == [
        *("tbl", "conf", "nonconf", "strata", "key", "seed", "on_null", "round", "drop"),
    ]


def test_what_is_asked_of_promises() -> None:
    assert mask(Promise.VALUES).permutes(CALL)
    assert mask(Promise.VALUES).keeps_range(CALL)
    assert mask(Promise.RANGE).keeps_range(CALL)
    assert not mask(Promise.RANGE).permutes(CALL)
    assert mask(Promise.MOMENTS).is_exact(CALL)
    assert not mask(Promise.MOMENTS).is_exact(NumericCall(tbl="t", conf=["x1"], round=True))
    assert not mask(Promise.RANGE).is_exact(CALL)


def test_own_arguments_are_those_that_others_do_not_share() -> None:
    call = MASK.takes(tbl="t", conf=["x1"], level=0.1)  # type: ignore[operator, call-arg]
    assert own_arguments(call) == {"level": 0.1, "corrected": False}  # type: ignore[arg-type]


def test_a_number_for_each_column_of_conf() -> None:
    assert check_columns("level", 0.1, ["x1"]) == []
    assert check_columns("level", {"x1": 0.1, "x2": 0.2}, ["x1", "x2"]) == []
    assert check_columns("level", {"x11": 0.1}, ["x1"]) == [
        'level names column "x11", which is not in conf. Did you mean "x1"?',
        'level says nothing of conf column "x1".',
    ]
