"""How far predictions miss conf: by lines from moments, by the rows themselves, and over pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.measures._pieces import Piece, PiecesSpec
from ppduck.measures._prediction import Predicted, predicted
from ppduck.values import Array, Moments

pytestmark = pytest.mark.core
SPEC = PiecesSpec("f", "t", "r", ["id"], ["x"], [], ["s"], ["all"], [("s", False)], None)


def by_moments(rows: Array) -> Piece:
    return Piece(SPEC, None, len(rows), Moments.of(rows - rows.mean(axis=0)), rows.mean(axis=0), None)


def by_rows(rows: Array) -> Piece:
    return Piece(SPEC, None, len(rows), None, None, rows)


def left(x: Array, *by: Array) -> float:
    design = np.column_stack([np.ones(len(x)), *by])
    return float(((x - design @ np.linalg.lstsq(design, x, rcond=None)[0]) ** 2).mean())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), slope=st.floats(-3, 3), told=st.floats(0, 1))
def test_lines_miss_as_least_squares_does(seed: int, slope: float, told: float) -> None:
    rng = np.random.default_rng(seed)
    s, e, v = rng.normal(size=(3, 80))
    x = slope * s + e
    y = told * x + v
    [found] = predicted([by_moments(np.column_stack([s, x, y]))])
    expected = {"s": left(x, s), "sy": left(x, s, y), "y": left(x, y)}
    assert found.mse == pytest.approx(expected, rel=1e-6)
    assert found.variance == pytest.approx(x.var(), rel=1e-9)
    assert found.mse["sy"] <= found.mse["s"] * (1 + 1e-9)
    assert found.r2("s") == pytest.approx(1 - left(x, s) / x.var(), abs=1e-6)


def test_what_a_release_tells_is_told_from_chance() -> None:
    rng = np.random.default_rng(1)
    s, e, v = rng.normal(size=(3, 500))
    x = s + e
    [anew], [near] = (predicted([by_moments(np.column_stack([s, x, y]))]) for y in (s + v, x + v / 3))
    assert not anew.gains
    assert near.gains


def test_rows_are_predicted_by_others() -> None:
    rng = np.random.default_rng(2)
    s, e, v = rng.normal(size=(3, 300))
    x = s**2 + e / 3
    [found] = predicted([by_rows(np.column_stack([s, x, s**2 + v / 3]))])
    [line] = predicted([by_moments(np.column_stack([s, x, s**2 + v / 3]))])
    assert found.mse["s"] < 0.5 * line.mse["s"]  # a curve tells what no line does
    assert found.variance == pytest.approx(x.var())
    assert not found.gains
    assert line.gains


@pytest.mark.parametrize("piece", [by_moments, by_rows])
def test_pieces_are_weighted_by_their_rows_and_their_means_vary(piece: object) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(60, 3)), rng.normal(size=(120, 3)) + 5
    make = by_moments if piece is by_moments else by_rows
    [one], [two], [both] = (predicted(list(map(make, each))) for each in ([first], [second], [first, second]))
    assert both.n == 180
    assert both.mse["s"] == pytest.approx(one.mse["s"] / 3 + two.mse["s"] * 2 / 3)
    assert both.variance == pytest.approx(np.concatenate([first, second])[:, 1].var())


def test_a_column_without_variance_is_not_explained() -> None:
    assert Predicted("x", 10, 0.0, {"s": 0.0, "sy": 0.0, "y": 0.0}, 0.0).r2("s") == 0.0
