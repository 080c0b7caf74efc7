"""Values of both releases are weighed together, beside what is open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.measures._averaging import attack
from ppduck.measures._number_sums import NumbersSpec, NumbersTold
from ppduck.values import Moments

pytestmark = pytest.mark.core
SPEC = NumbersSpec("release_intersection", "one", ["x"], ["s"], True)
ZERO = np.zeros(1)
TOLD = NumbersTold(1, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, same=ZERO, common=np.array([500.0]), alone=None, n=500,
                   sums=ZERO, products=ZERO)  # fmt: skip


def rows(share: float) -> Moments:
    """S, two masked values and the original, of which each masked one tells a share beside S."""
    rng = np.random.default_rng(8)
    s, r = rng.normal(size=(2, 500))
    masked = [s + share * r + rng.normal(size=500) for _ in range(2)]
    return Moments.of(np.column_stack([s, *masked, s + r]))


def test_both_tell_more_than_one_and_one_more_than_what_is_open() -> None:
    row = attack(SPEC, TOLD, rows(1.0), 0, [0])
    assert 0.5 < row["baseline"] < row["success"] < 1
    assert row["lower"] > 0
    assert "by nonconf alone" in row["says"]
    assert "nonconf alone" not in attack(SPEC, TOLD, rows(1.0), 0, [])["says"]


def test_without_the_original_a_common_signal_is_seen() -> None:
    blind = replace(SPEC, has_original=False)
    row = attack(blind, TOLD, rows(1.0), 0, [0])
    assert row["baseline"] == pytest.approx(0.5, abs=0.1)
    assert row["success"] == pytest.approx(2 * row["baseline"] / (1 + row["baseline"]))
    assert attack(blind, TOLD, rows(0.0), 0, [0])["success"] == 0


def test_equal_values_and_few_rows_tell_nothing() -> None:
    row = attack(SPEC, replace(TOLD, same=TOLD.common), rows(1.0), 0, [0])
    assert (row["success"], row["gain"], row["rows"]) == (None, 0, 500)
    few = attack(SPEC, TOLD, replace(rows(1.0), n=9), 0, [0])
    assert few["success"] is None
    assert "too few" in few["says"]
