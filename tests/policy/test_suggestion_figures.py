"""What was counted of some rows, in the words of the rules: against numpy, and scaled up to the whole table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.policy._suggestion_figures import RARE, Figures, figures
from ppduck.policy._suggestion_look import TAKEN, Asked, Look, Looked, SuggestionSpec
from ppduck.values import Array


def counted(columns: dict[str, list[float]], whole: int | None = None) -> list[Figures]:
    """Figures of columns of numbers; NaN for NULL."""
    table: Array = np.array(list(columns.values())).T
    size, rows = len(columns), len(table)
    present = [int((~np.isnan(own)).sum()) for own in table.T]
    distinct = [len(np.unique(own[~np.isnan(own)])) for own in table.T]
    none = [0] * size
    looked = Looked(
        rows=rows, present=present, distinct=distinct, looks=none * len(Look), within=none, digits=none,
        taken=none * len(TAKEN), longest=[None] * size, words=[None] * size, values=table.ravel(),
    )  # fmt: skip
    asked = [Asked(name, "DOUBLE") for name in columns]
    return figures(SuggestionSpec("f", "t", asked, [], whole, False), looked)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.integers(1, 40))
def test_levels_are_rare_in_the_whole_table(values: list[int], scale: int) -> None:
    [of] = counted({"x": [float(each) for each in values]}, len(values) * scale)
    counts = np.unique(values, return_counts=True)[1]
    assert of.rare_levels == sum(count * scale < RARE for count in counts)
    assert of.most_common == pytest.approx(counts.max() / len(values))
    assert of.own_share == pytest.approx(len(counts) / len(values))


def test_rows_stay_together_and_null_is_none() -> None:
    x, y = counted({"x": [3.0, np.nan, 1.0], "y": [30.0, 20.0, 10.0]})
    assert sorted(x.values) == [1.0, 3.0]
    assert (x.has_nulls, y.has_nulls, y.is_unique) == (True, False, True)
    assert {tuple(pair) for pair in np.column_stack([x.of_rows, y.of_rows]) if pair[0] == pair[0]} == {(3, 30), (1, 10)}


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 2))
    one, other = (counted({"x": list(each[:, 0]), "y": list(each[:, 1])}) for each in (rows, rows[::-1]))
    assert all((a.of_rows == b.of_rows).all() for a, b in zip(one, other, strict=True))


def test_skewness_is_the_third_moment() -> None:
    values = [1.0, 2.0, 3.0, 10.0]
    [of] = counted({"x": values})
    deviation = np.array(values) - 4
    assert of.skewness == pytest.approx((deviation**3).mean() / (deviation**2).mean() ** 1.5)
    assert counted({"x": [1.0, 1.0]})[0].skewness == 0
