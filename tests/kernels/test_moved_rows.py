"""Values that were moved by the key are found where they were, whatever the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.moved_rows import PLACES, moved

pytestmark = pytest.mark.core


@pytest.mark.parametrize("step", [*PLACES, *(-far for far in PLACES)])
def test_a_shift_is_undone_by_one_of_the_ways(step: int) -> None:
    rng = np.random.default_rng(1)
    keys, x = rng.permutation(50) * 3.0, rng.normal(size=50)
    order = np.argsort(keys)
    y = np.empty(50)
    y[order] = np.roll(x[order], step)
    found = [how for how, d in moved(y, keys) if np.sum(d == x) == 50 - abs(step)]
    assert found == [f"from the row {abs(step)} {'after' if step > 0 else 'before'} it by the key"]


@pytest.mark.parametrize("first", [0, 1])
def test_pairs_that_changed_places_are_put_back(first: int) -> None:
    x = np.arange(20.0)
    y = x.copy()
    for i in range(first, 19, 2):
        y[[i, i + 1]] = x[[i + 1, i]]
    assert max(int(np.sum(d == x)) for how, d in moved(y, x) if "two rows" in how) == 20 - 2 * first


def test_of_no_rows_there_is_nothing() -> None:
    assert all(not len(d) for _, d in moved(np.empty(0), np.empty(0)))
