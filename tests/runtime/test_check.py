"""What the first look refuses, from what it is told, without a database."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ppduck.errors import PpduckError
from ppduck.runtime.check import Seen, check
from ppduck.runtime.spec import MaskSpec

Spec = Callable[..., MaskSpec]
FINE = Seen(
    rows=100, keyless=0, looked=100, distinct_keys=100, digest="12345", group=None, nulls=[0], peaks=[3.0, 5.0],
    constant=[False], truly_constant=[False], unread=[], unseen=[], row_type=None,
)  # fmt: skip


def test_what_is_fine_gets_a_tweak_of_its_own(spec: Spec) -> None:
    tweak = check(spec(), FINE)
    assert 0 <= tweak < 2**64
    assert check(spec(), FINE) == tweak
    assert check(spec(), replace(FINE, digest="12346")) != tweak
    assert check(spec(context="another release"), FINE) != tweak


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"nulls": [3]}, 'nonconf column "s" has NULL in 3 of 100 rows. Leave the column out of nonconf'),
        ({"peaks": [3.0, math.nan]}, 'column "x" holds NaN or infinity'),
        ({"peaks": [1e150, 5.0]}, 'column "s" peaks at a size beyond 1e±140'),
        ({"constant": [True], "truly_constant": [True]}, 'conf column "x" is constant; there is nothing to mask in it'),
        ({"constant": [True]}, 'the values of conf column "x" differ by less than a DOUBLE'),
        ({"unread": [2, 0]}, 'column "x" is not numeric: 2 of 100 values are no numbers'),
        ({"distinct_keys": 40}, "most of the 100 rows are copies of each other"),
        ({"keyless": 4}, 'key "" is NULL in 4 of 100 rows'),
    ],
)
def test_what_is_refused(spec: Spec, seen: dict[str, Any], message: str) -> None:
    with pytest.raises(PpduckError, match=r'^egadp_mask on "t": ') as refused:
        check(spec(), replace(FINE, **seen))
    assert message in str(refused.value)


def test_the_group_is_named_and_faults_arrive_together(spec: Spec) -> None:
    seen = replace(FINE, group="bank = 3", nulls=[1], constant=[True], truly_constant=[True])
    with pytest.raises(
        PpduckError, match=r"NULL in 1 of 100 rows in the group bank = 3.*\n  also: .* constant in the group"
    ):
        check(spec(), seen)


def test_null_is_told_of_by_what_could_be_done(spec: Spec) -> None:
    with pytest.raises(PpduckError, match="Say on_null := 'level'"):
        check(spec(nullable=["s"]), replace(FINE, nulls=[1]))
    with pytest.raises(PpduckError, match="They were not there when the call was planned"):
        check(spec(nullable=["s"], on_null="level"), replace(FINE, nulls=[1]))
    with pytest.raises(PpduckError, match="is for categories, and this is a number"):
        check(spec(on_null="level"), replace(FINE, nulls=[1]))
    assert check(spec(on_null="drop"), replace(FINE, nulls=[1])) == check(spec(), FINE)


def test_another_table_of_that_name_is_refused(spec: Spec) -> None:
    planned = spec(row="STRUCT(s DOUBLE, x DOUBLE)")
    same = "STRUCT(s DOUBLE, x DOUBLE, _pp_key UBIGINT)"
    assert check(planned, replace(FINE, row_type=same)) == check(planned, FINE)
    with pytest.raises(PpduckError, match="has other columns than the one that the call was planned for"):
        check(planned, replace(FINE, row_type="STRUCT(x DOUBLE, s DOUBLE, _pp_key UBIGINT)"))


def test_keys_of_a_group_are_refused_with_the_group(spec: Spec) -> None:
    seen = replace(FINE, group="bank = 3", distinct_keys=10)
    with pytest.raises(PpduckError, match='key "id" does not identify the 100 rows in the group bank = 3: most'):
        check(spec(key=["id"]), seen)
