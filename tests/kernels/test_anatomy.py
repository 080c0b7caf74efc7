"""Groups of Anatomy: the largest buckets give, no value comes twice, and no number tells anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.anatomy import anatomized, largest_l
from ppduck.kernels.noise import KeyedNoise

pytestmark = pytest.mark.core


def pairs(counts: list[int], l: int, secret: bytes = b"a") -> list[tuple[int, int]]:  # noqa: E741
    """Value and group of every row."""
    groups = anatomized(np.array(counts), l, KeyedNoise(secret))
    return list(zip(np.repeat(np.arange(len(counts)), counts).tolist(), groups.tolist(), strict=True))


@given(st.lists(st.integers(0, 60), min_size=2, max_size=12), st.data())
@settings(max_examples=300, deadline=None)
def test_groups_have_l_rows_or_some_more_all_of_different_values(counts: list[int], data: st.DataObject) -> None:
    largest = largest_l(np.array(counts))
    if largest < 2:
        return
    l = data.draw(st.integers(2, largest))  # noqa: E741
    found = pairs(counts, l)
    assert len(found) == sum(counts)
    assert len(set(found)) == len(found), "no value is in a group twice"
    sizes = np.bincount([group for _, group in found])
    assert sizes[0] == 0
    assert len(sizes) - 1 == sum(counts) // l, "rows that are left over make no group of their own"
    assert sizes[1:].min() >= l
    assert sizes[1:].sum() - l * (len(sizes) - 1) < l


@pytest.mark.parametrize(("counts", "l"), [([5, 5, 5, 5], 2), ([9, 6, 2, 1], 2), ([7, 7, 3, 3, 1], 3), ([4, 3, 3], 2)])
def test_each_group_takes_the_largest_buckets(counts: list[int], l: int) -> None:  # noqa: E741
    """The order in which groups were made is lost; but some order of them must be one of taking the l largest."""
    found = pairs(counts, l)
    sets: dict[int, frozenset[int]] = {}
    for value, group in found:
        sets[group] = sets.get(group, frozenset()) | {value}
    assert {len(each) for each in sets.values()} == {l}, "no row is left over here"
    assert _in_order(sorted(sets.values(), key=sorted), list(counts), l)


def _in_order(sets: list[frozenset[int]], left: list[int], l: int) -> bool:  # noqa: E741
    if not sets:
        return True
    threshold = sorted(left)[-l]
    for taken in dict.fromkeys(sets):
        others = [left[value] for value in range(len(left)) if value not in taken]
        if min(left[value] for value in taken) >= max(threshold, max(others, default=0)):
            rest = sets.copy()
            rest.remove(taken)
            after = [count - (value in taken) for value, count in enumerate(left)]
            if _in_order(rest, after, l):
                return True
    return False


@pytest.mark.parametrize(
    ("counts", "largest"), [([3, 3, 3], 3), ([4, 3, 3], 2), ([10, 1], 1), ([1], 1), ([0, 0], 0), ([], 0)]
)
def test_largest_l(counts: list[int], largest: int) -> None:
    assert largest_l(np.array(counts, dtype=np.int64)) == largest


def test_the_same_noise_gives_the_same_groups_and_another_others() -> None:
    first = pairs([300, 200, 200, 100], 2, b"a")
    assert first == pairs([300, 200, 200, 100], 2, b"a")
    other = pairs([300, 200, 200, 100], 2, b"b")
    assert np.mean([x == y for x, y in zip(first, other, strict=True)]) < 0.05


def test_numbers_are_given_by_chance() -> None:
    """Groups of the rare values are not made first or last, as far as their numbers tell."""
    groups = anatomized(np.array([4000, 3000, 2000, 1000]), 2, KeyedNoise(b"a"))
    for place in (slice(0, 4000), slice(4000, 7000), slice(7000, 9000), slice(9000, 10000)):
        assert groups[place].mean() == pytest.approx(2500, abs=4 * 1443 / np.sqrt(1000))
    turns = np.arange(4000)
    assert abs(np.corrcoef(turns, groups[:4000])[0, 1]) < 0.06


def test_every_pair_of_equal_values_meets() -> None:
    found = pairs([500] * 6, 2)
    members: dict[int, list[int]] = {}
    for value, group in found:
        members.setdefault(group, []).append(value)
    seen = {tuple(sorted(each)) for each in members.values()}
    assert len(seen) == 15


def test_many_values() -> None:
    counts = np.random.default_rng(0).multinomial(100_000, np.random.default_rng(1).dirichlet(np.ones(5000)))
    groups = anatomized(counts, 5, KeyedNoise(b"a"))
    values = np.repeat(np.arange(5000), counts)
    assert len(np.unique(values * 100_000 + groups)) == 100_000
    assert np.bincount(groups)[1:].min() == 5
