"""Other people have what only one person has as often as Good says; the same people have it far more often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.kernels.strangers import PLACES, Others, by_keys, by_values, expected, variance

pytestmark = pytest.mark.core


def counted(own: np.ndarray, others: np.ndarray, keys: np.ndarray | None = None) -> Others:
    """The counts of two lists of values, and of keys that are places in the first."""
    values, times = np.unique(own, return_counts=True)
    alone = values[times == 1]
    named, m = np.unique(others, return_counts=True)
    same, unseen = np.isin(named, alone), ~np.isin(named, values)
    kept, beside = 0, 0
    if keys is not None:
        shared = own[keys]
        kept = int((shared == others).sum())
        beside = max(int((shared[k:] == others[:-k]).sum()) for k in range(1, PLACES + 1))
    once, twice, thrice = ((times == r).sum() for r in (1, 2, 3))
    return Others(
        len(own), len(others), int(once), int(twice), int(thrice), int(m[same].sum()), int(m[unseen].sum()),
        int((m[same | unseen] ** 2).sum()), kept, beside,
    )  # fmt: skip


def people(rng: np.random.Generator, n: int, values: float) -> np.ndarray:
    """Of a law with long tails: some values are common, and most are rare."""
    return np.floor(np.exp(rng.normal(size=n)) * values)


LAWS = (3, 30, 300, 3_000, 1e6, 1e12)


@pytest.mark.parametrize("values", LAWS)
def test_other_people_are_as_expected(values: float) -> None:
    """(same - expected) / √variance has mean 0 and a variance of about 1; less where one more pair is much."""
    rng, scores = np.random.default_rng(int(values) % 1000), []
    for _ in range(300):
        counts = counted(people(rng, 800, values), people(rng, 500, values))
        scores.append((counts.same - expected(counts)) / np.sqrt(variance(counts)))
        assert not by_values(counts)
    assert abs(np.mean(scores)) < 0.2
    assert np.std(scores) < 1.15
    assert np.std(scores) > 0.8 or values > 1e5


@pytest.mark.parametrize("values", LAWS)
@pytest.mark.parametrize("sizes", [(20, 2_000), (2_000, 20), (50, 50), (1, 1), (3, 300), (5_000, 5_000)])
def test_neither_few_nor_many_people_are_refused_wrongly(values: float, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        assert not by_values(counted(people(rng, sizes[0], values), people(rng, sizes[1], values)))


@pytest.mark.parametrize("values", LAWS)
def test_a_bootstrap_of_other_people_is_other_people(values: float) -> None:
    """Who is drawn many times comes many times at once."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        few = people(rng, 60, values)
        assert not by_values(counted(people(rng, 2_000, values), rng.choice(few, 3_000)))


def test_half_of_them_alike_hides_nobody() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        own, others = (np.where(rng.random(3_000) < 0.5, 0, people(rng, 3_000, 1e12)) for _ in range(2))
        assert not by_values(counted(own, others))
        others[:200] = own[:200]
        assert by_values(counted(own, others))


@pytest.mark.parametrize(
    ("values", "share"), [(300, 1.0), (1_000, 1.0), (3_000, 0.3), (10_000, 0.2), (1e5, 0.06), (1e12, 0.03)]
)
def test_the_same_people_are_noticed(values: float, share: float) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        own, others = people(rng, 3_000, values), people(rng, 1_500, values)
        others[: int(share * 1_500)] = rng.permutation(own)[: int(share * 1_500)]
        assert by_values(counted(own, others))


def test_twenty_people_are_enough_and_ten_prove_nothing() -> None:
    own = np.arange(20.0)
    assert by_values(counted(own, own))
    assert not by_values(counted(own[:10], own[:10]))


def test_so_few_that_no_figure_moves_are_let_pass() -> None:
    counts = Others(100_000, 100_000, 100_000, 0, 0, 900, 99_100, 100_000, 0, 0)
    assert not by_values(counts)
    assert by_values(replace(counts, same=1_100, unseen=98_900))


@pytest.mark.parametrize("order", ["random", "sorted", "in turns"])
def test_keys_that_were_numbered_anew_prove_nothing(order: str) -> None:
    """Places tell of values where tables are sorted, or where people come in turns."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        own, others = (people(rng, 1_000, 2) for _ in range(2))
        if order == "sorted":
            own.sort()
            others.sort()
        if order == "in turns":
            own, others = (np.arange(1_000) % 6 + (each > 20) for each in (own, others))
        counts = counted(own, others, np.arange(1_000))
        assert not by_keys(counts)
        assert not by_values(counts)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_of_few_values_keys_tell_who_is_the_same(share: float) -> None:
    rng = np.random.default_rng(6)
    own, others = people(rng, 3_000, 3), people(rng, 3_000, 3)
    same = int(share * 3_000)
    others[:same] = own[:same]
    counts = counted(own, others, np.arange(3_000))
    assert by_keys(counts)
    assert not by_values(counts)


def test_one_value_tells_nobody_from_others() -> None:
    alike = np.zeros(500)
    counts = counted(alike, alike, np.arange(500))
    assert not by_keys(counts)
    assert not by_values(counts)
