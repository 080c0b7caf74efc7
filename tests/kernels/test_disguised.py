"""A column that moved as a whole is found; one that is as it was, coarse, or moved row by row, is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.kernels.disguised import disguised
from ppduck.kernels.finding import Finding, worst
from ppduck.values import Array

pytestmark = pytest.mark.core
N = 1000
RNG = np.random.default_rng(11)
DAYS = 715_000.0 + RNG.integers(0, 18_000, N)
AGES = RNG.integers(18, 90, N).astype(float)
INCOMES = np.round(RNG.lognormal(10, 0.5, N), 2)
COLUMNS = {"days": DAYS, "ages": AGES, "incomes": INCOMES}


def found(before: Array, after: Array) -> Finding | None:
    return worst([*disguised("c", before, np.asarray(after, dtype=float))])


def passed(before: Array, after: Array) -> bool:
    finding = found(before, after)
    return finding is None or finding.passed


MOVED: dict[str, Callable[[Array], Array]] = {
    "one day on": lambda x: x + 1,
    "a hundred back": lambda x: x - 100,
    "in another unit": lambda x: x * 1.08,
    "scaled and moved": lambda x: 3.5 * x - 40,
    "turned round": lambda x: 1000 - x,
    "most of it": lambda x: np.where(np.arange(len(x)) % 5 == 0, x + RNG.integers(-50, 50, len(x)), x + 7),
    "most of it and turned round": lambda x: np.where(np.arange(len(x)) % 5 == 0, x, -x),
    "some of it missing": lambda x: np.where(np.arange(len(x)) % 5 == 0, np.nan, x + 7),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("way", MOVED)
def test_what_moved_alike_is_found(way: str, column: str) -> None:
    finding = found(COLUMNS[column], MOVED[way](COLUMNS[column]))
    assert finding is not None
    assert (finding.passed, finding.how) == (False, "as it was, moved or scaled alike in all rows")


@pytest.mark.parametrize("change", [np.log, np.square, lambda x: np.argsort(np.argsort(x, kind="stable"))])
def test_another_value_for_each_in_the_same_order_is_found(change: Callable[[Array], Array]) -> None:
    finding = found(INCOMES, change(INCOMES))
    assert finding is not None
    assert (finding.passed, finding.how) == (False, "as another value for each, in the same order")


HARMLESS: dict[str, Callable[[Array], Array]] = {
    "as it was": lambda x: x,
    "as it was but for rounding": lambda x: x * (1 + 1e-12),
    "tens": lambda x: np.floor(x / 10) * 10,
    "whole years": lambda x: np.floor(x / 365.25),
    "few corrected alike": lambda x: np.where(np.arange(len(x)) < 30, x + 1, x),
    "capped": lambda x: np.minimum(x, np.quantile(x, 0.9)),
    "means of threes": lambda x: np.sort(x)[np.argsort(np.argsort(x, kind="stable")) // 3 * 3],
    "dealt out anew": lambda x: RNG.permutation(x),
    "moved one by one": lambda x: x + RNG.integers(-30, 31, len(x)),
    "scaled one by one": lambda x: x * RNG.uniform(0.9, 1.1, len(x)),
    "a constant": lambda x: np.zeros(len(x)),
    "nothing": lambda x: np.full(len(x), np.nan),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("way", HARMLESS)
def test_what_is_as_it_was_or_coarse_or_moved_one_by_one_is_none(way: str, column: str) -> None:
    assert passed(COLUMNS[column], HARMLESS[way](COLUMNS[column]))


def test_codes_of_few_values_and_few_rows_are_not_judged() -> None:
    codes = RNG.integers(0, 5, N).astype(float)
    assert found(codes, codes + 10) is None
    assert found(DAYS[:15], DAYS[:15] + 1) is None
    assert found(np.empty(0), np.empty(0)) is None


@given(st.floats(-1e3, 1e3).filter(lambda b: abs(b) > 1), st.floats(0.01, 100), st.booleans())
def test_any_line_is_found(moved: float, scale: float, turned: bool) -> None:
    assert not passed(DAYS, (-scale if turned else scale) * DAYS + moved * 1000)


@given(st.integers(0, 2**32 - 1), st.integers(10, 400))
def test_days_that_are_moved_one_by_one_are_never_found(seed: int, days: int) -> None:
    own = np.random.default_rng(seed)
    people = own.integers(0, 300, N)
    shift = own.integers(-days, days + 1, 300)
    assert passed(DAYS, DAYS + shift[people])
