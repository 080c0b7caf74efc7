"""How far chance moves what is left of X and Y where rows differ in spread."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.prediction import partial_correlation, root_by_chance
from ppduck.kernels.uneven_spread import wider_by_chance
from ppduck.values import Array, Moments

N = 400


def skewed(rng: np.random.Generator, s: Array, q: int) -> Array:
    """Columns with a line of s, and a spread that grows with it."""
    noise = np.exp(0.7 * rng.normal(size=(len(s), q)))
    return np.asarray(s[:, None] + np.exp(s)[:, None] * (noise - noise.mean(axis=0)))


def beyond_chance(rows: Array, q: int) -> tuple[bool, bool]:
    """Whether ρ² exceeds what chance makes of rows of one spread, and of these."""
    x, y = range(1, 1 + q), range(1 + q, 1 + 2 * q)
    root = partial_correlation(Moments.of(rows), x, y, [0]) ** 2
    allowed = root_by_chance(len(rows), 1, q, q)
    return root > allowed, root > allowed * wider_by_chance(rows, 1, q, range(q))


@pytest.mark.parametrize("q", [1, 2])
def test_what_adds_nothing_is_not_beyond_chance(q: int) -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(300):
        s = rng.normal(size=N)
        found.append(beyond_chance(np.column_stack([s, skewed(rng, s, q), skewed(rng, s, q)]), q))
    normal, uneven = np.sum(found, axis=0)
    assert normal > 30  # a tenth, and not one of a thousand
    assert uneven <= 2  # one of a thousand: three are less likely than 0.4 %


@pytest.mark.parametrize("leak", ["copy", "noise of 1 %", "half"])
@pytest.mark.parametrize("q", [1, 2])
def test_a_leak_is_not_excused_by_large_values(leak: str, q: int) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        s = rng.normal(size=N)
        x = skewed(rng, s, q)
        noise = x.std(axis=0) * rng.normal(size=x.shape)
        y = {"copy": x, "noise of 1 %": x + 0.1 * noise}.get(leak)
        if y is None:  # every other row is as it was
            y = np.where(np.arange(N)[:, None] % 2 == 0, x, skewed(rng, s, q))
        assert wider_by_chance(np.column_stack([s, x, y]), 1, q, range(q)) == 1


def test_rows_of_one_spread_are_as_wide_as_theory_says() -> None:
    rng = np.random.default_rng(5)
    assert wider_by_chance(rng.normal(size=(5000, 5)), 1, 2, [0]) == pytest.approx(1, abs=0.15)


def test_constants_and_columns_that_others_determine_are_no_obstacle() -> None:
    rng = np.random.default_rng(6)
    s, x, y = rng.normal(size=(3, N))
    zero = np.zeros(N)
    assert wider_by_chance(np.column_stack([s, 2 * s, zero, x, y]), 3, 1, [0]) == pytest.approx(1, abs=0.5)
    assert wider_by_chance(np.column_stack([x, zero, y, zero]), 0, 2, [1]) == 1
    assert wider_by_chance(np.column_stack([s, s, y]), 1, 1, [0]) >= 1
