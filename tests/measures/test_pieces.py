"""What SQL tells of pieces comes apart again, each with its own moments and rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.measures._pieces import PiecesSpec, PiecesTold, as_inputs, counted, pieces_of
from ppduck.values import Array

pytestmark = pytest.mark.core
SPEC = PiecesSpec("f", "t", "r", ["id"], ["x"], [], ["s"], ["s < 0", "otherwise"], [("s", False)], None)


def told(*pieces: Array) -> PiecesTold:
    """Of rows of [s, x, y] about 0, both as sums and as a sample."""
    lower = np.tril_indices(3)
    return PiecesTold(
        sum(map(len, pieces)),
        np.arange(len(pieces), dtype=float),
        np.array([float(len(rows)) for rows in pieces]),
        np.concatenate([rows.sum(axis=0) for rows in pieces]),
        np.concatenate([(rows.T @ rows)[lower] for rows in pieces]),
        np.zeros(3 * len(pieces)),
        np.concatenate([rows.reshape(-1) for rows in pieces]),
        np.array([float(rows.size) for rows in pieces]),
    )


def test_each_piece_has_its_own_moments_and_rows() -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 40, 3))
    found = pieces_of(SPEC, told(first, second))
    assert [piece.label for piece in found] == ["s < 0", "otherwise"]
    for piece, rows in zip(found, (first, second), strict=True):
        assert piece.moments is not None
        np.testing.assert_allclose(piece.moments.covariance, np.cov(rows.T))
        np.testing.assert_array_equal(piece.x, rows[:, [1]])
        np.testing.assert_array_equal(piece.y, rows[:, [2]])


def test_too_few_rows_of_a_piece_are_refused_with_its_condition() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 3))
    with pytest.raises(PpduckError, match=r"^f on \"t\": 3 pairs without NULL where s < 0 are too few"):
        pieces_of(SPEC, told(rows[:3], rows))


def test_infinity_is_refused_by_the_column() -> None:
    rows = np.random.default_rng(1).normal(size=(40, 3))
    rows[0, 2] = np.inf
    with pytest.raises(PpduckError, match='NaN, infinity or a number too large to square is in "masked x"'):
        pieces_of(SPEC, told(rows))


def test_no_pairs_are_refused() -> None:
    nothing = PiecesTold(0, None, None, None, None, None, None, None)
    with pytest.raises(PpduckError, match="there is no pair of rows without NULL to measure"):
        pieces_of(SPEC, nothing)
    with pytest.raises(PpduckError, match="1 pairs without NULL are too few to measure by; 2 are needed"):
        counted(SPEC, np.array([1.0]))
    assert counted(SPEC, np.array([2.0])) == 2


def test_a_specification_is_read_as_it_was_written() -> None:
    spec = replace(SPEC, tolerance=0.5)
    assert PiecesSpec.read(spec.text()) == spec


def test_the_first_level_of_a_category_is_an_input_too() -> None:
    features = np.array([[1.0, 0.0, 2.5], [0.0, 0.0, 3.5]])
    inputs, indicators = as_inputs(features, [("c", True), ("c", True), ("s", False)])
    np.testing.assert_array_equal(inputs[:, 3], [0.0, 1.0])
    assert indicators.tolist() == [True, True, False, True]
