"""Which places are swapped: a permutation within reach, as one place after the other would draw it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.kernels.noise import KeyedNoise
from ppduck.kernels.rank_swapping import SHORTEST_REACH, swapped
from tests.census import rank_swapped


def noise(seed: int) -> KeyedNoise:
    return KeyedNoise(f"secret {seed}".encode())


@given(n=st.integers(1, 500), reach=st.integers(2, 600), seed=st.integers(0, 1000))
def test_it_is_a_permutation_within_reach(n: int, reach: int, seed: int) -> None:
    source = swapped(n, reach, noise(seed))
    assert (np.sort(source) == np.arange(n)).all()
    moved = np.abs(source - np.arange(n))
    assert moved.max() <= reach
    if reach >= 4 and n >= 4:
        assert (moved > 0).all()
    # Pairs, and rings of three for those that were left over.
    assert (source[source[source[source]]] == source)[source[source] != np.arange(n)].all()


def test_chance_comes_from_the_noise_alone() -> None:
    assert (swapped(500, 50, noise(1)) == swapped(500, 50, noise(1))).all()
    assert (swapped(500, 50, noise(1)) != swapped(500, 50, noise(2))).mean() > 0.9


def test_distances_are_those_of_one_draw_after_the_other() -> None:
    n, p = 1000, 14
    together = np.concatenate([np.abs(swapped(n, 140, noise(s)) - np.arange(n)) for s in range(20)])
    values = np.arange(float(n))[:, None]
    in_turn = np.concatenate([np.abs(rank_swapped(values, p, s) - values)[:, 0] for s in range(20)])
    for share in (0.1, 0.25, 0.5, 0.75, 0.9):
        assert np.quantile(together, share) == pytest.approx(np.quantile(in_turn, share), abs=7)


def test_no_place_is_left_over_from_the_shortest_reach_on() -> None:
    """Some had a place whose neighbours were all paired away from it."""
    for seed in range(1000):
        n = 4 + seed % 60
        source = swapped(n, SHORTEST_REACH, noise(seed))
        assert (source != np.arange(n)).all()
        assert np.abs(source - np.arange(n)).max() <= SHORTEST_REACH
