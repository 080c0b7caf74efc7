"""Models of both tables from moments are those that least squares finds in the rows."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.measures._model_pair import ModelSpec, ModelTold, sides_of
from ppduck.values import Array

pytestmark = pytest.mark.core
SPEC = ModelSpec("f", "t", "r", ["id"], ["x"], [], [], [None], ["s"], [("s", False)], kernel=False, sampled=False)


def told(rows: Array, changed: Array) -> ModelTold:
    """Of rows of [x, s] before and after, as sums about 0."""
    products = (rows.T @ rows)[np.tril_indices(4)]
    counts = np.array([float(len(rows))])
    return ModelTold(len(rows), counts, rows.sum(axis=0), products, np.zeros(4), changed, np.zeros(4), None)


def rows() -> Array:
    rng = np.random.default_rng(2)
    s = rng.normal(size=50)
    return np.column_stack([2 * s + rng.normal(size=50), s, 3 * s + rng.normal(size=50), s])


def test_lines_of_either_side() -> None:
    found = rows()
    whole, drawn = sides_of(SPEC, told(found, np.array([50.0, 0.0])))
    assert whole is not None
    assert drawn is None
    for line, y in zip(whole.lines(0, [1]), found.T[[0, 2]], strict=True):
        slope = np.polyfit(found[:, 1], y, 1)[0]
        assert line.slopes[0] == pytest.approx(slope)
        assert line.r2 == pytest.approx(np.corrcoef(found[:, 1], y)[0, 1] ** 2)


def test_where_nothing_changed_both_sides_are_the_same_to_the_last_bit() -> None:
    whole, _ = sides_of(SPEC, told(rows(), np.array([0.0, 0.0])))
    assert whole is not None
    np.testing.assert_array_equal(whole.original.cov, whole.masked.cov)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(
        PpduckError, match=r"^f on \"t\": 3 pairs without NULL are too few for a linear model with 1 in"
    ):
        sides_of(SPEC, told(rows()[:3], np.array([3.0, 0.0])))
    nothing = ModelTold(0, None, None, None, None, None, None, None)
    with pytest.raises(PpduckError, match="there is no pair of rows without NULL to measure"):
        sides_of(SPEC, nothing)
