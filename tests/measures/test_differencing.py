"""Rows that only one release has are solved for, signs and all; what is claimed without the original is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.measures._differencing import attack
from ppduck.measures._number_sums import NumbersSpec, NumbersTold

pytestmark = pytest.mark.core
SPEC = NumbersSpec("release_intersection", "one", ["x"], ["s"], True)
S, X = np.array([1.5, -0.5]), np.array([3.0, -4.0])
NOTHING = np.zeros(1)
# one row came, one went; what they are is in the sums
TOLD = NumbersTold(
    checked=50, centres=np.array([0.0, 10.0]), spreads=np.array([1.0, 2.0]), changed=NOTHING, first=np.array([7.0, 8.0]),
    second=np.array([7.0 + X[0] - X[1], 8.0 + S[0] * X[0] - S[1] * X[1]]), only_first=np.ones(1), only_second=np.ones(1),
    same=NOTHING, common=np.array([48.0]), n=48, sums=NOTHING, products=NOTHING,
    alone=np.array([[S[0], np.nan, 9.0, X[0]], [S[1], 5.0, np.nan, X[1]]]).ravel(),
)  # fmt: skip


def test_what_came_and_what_went_is_solved() -> None:
    row = attack(SPEC, TOLD, 0, [0])
    assert (row["success"], row["baseline"], row["rows"]) == (1, 0, 2)
    assert row["says"] == "2 of 2 rows that only one release has come out, solved by 2 sums with s"


def test_without_enough_sums_nothing_is() -> None:
    row = attack(SPEC, TOLD, 0, [])
    assert row["success"] == 0
    assert row["says"].endswith("solved by 1 sum; one equation is missing, and a sum of squares leaves two candidates")


def test_what_was_published_as_it_is_counts_for_one_release() -> None:
    open_ = np.array([[S[0], np.nan, X[0], X[0]], [S[1], 5.0, np.nan, X[1]]]).ravel()
    assert attack(SPEC, replace(TOLD, alone=open_), 0, [0])["baseline"] == 0.5


def test_rows_that_the_original_lacks_do_not_count() -> None:
    lacking = TOLD.alone.copy()  # type: ignore[union-attr]
    lacking[3] = np.nan
    assert attack(SPEC, replace(TOLD, alone=lacking), 0, [0])["rows"] == 1
    lacking[7] = np.nan
    assert attack(SPEC, replace(TOLD, alone=lacking), 0, [0])["success"] is None


def test_a_claim_needs_a_sum_to_spare() -> None:
    blind = replace(SPEC, has_original=False)
    row = attack(blind, TOLD, 0, [0])
    assert row["success"] is None
    assert "if exact" in row["says"]
    assert attack(blind, TOLD, 0, [])["success"] == 0


def test_the_same_rows_have_no_difference() -> None:
    row = attack(SPEC, replace(TOLD, only_first=NOTHING, only_second=NOTHING), 0, [0])
    assert (row["success"], row["rows"]) == (None, 0)
