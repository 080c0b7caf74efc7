"""Record linkage: both engines against the definition, and what linkage must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from ppduck.kernels import linkage

pytestmark = pytest.mark.core
SEEDS = st.integers(0, 2**31)
ENGINES = {"tree": 1_000, "blocks": -1}  # the most dimensions that a tree searches
KINDS = ["small noise", "noise", "permutation", "swapped columns", "grid", "duplicates", "mixed", "far off", "outliers"]


def by_definition(original: np.ndarray, masked: np.ndarray) -> np.ndarray:
    distances = cdist(masked, original)
    own = np.diag(distances).copy()
    slack = 1e-9 * own + 1e-13
    tied = (distances <= (own + slack)[:, None]).sum(axis=1)
    return np.where(distances.min(axis=1) >= own - slack, 1 / tied, 0.0)


def sides(kind: str, n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    original = rng.normal(size=(n, d)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(d)).T
    if kind == "permutation":
        return original, original[rng.permutation(n)]
    if kind == "swapped columns":
        return original, np.column_stack([rng.permutation(column) for column in original.T])
    if kind == "grid":
        original = np.round(original * 2)
        return original, original + rng.integers(-1, 2, size=(n, d))
    if kind == "duplicates":
        original = original[rng.integers(0, max(n // 50, 1), n)]
        return original, np.where(rng.random((n, 1)) < 0.5, original, original[rng.permutation(n)])
    if kind == "mixed":  # some columns are categories
        original[:, ::2] = np.round(original[:, ::2])
        masked = original + 0.1 * rng.normal(size=(n, d))
        masked[:, ::2] = np.where(rng.random(masked[:, ::2].shape) < 0.8, original[:, ::2], 0.0)
        return original, masked
    if kind == "far off":
        return original + 1e5, original * 3 + 1e5 + 1e3
    if kind == "outliers":
        original[: max(n // 100, 1)] *= 1e4
        return original, original * (1 + 0.01 * rng.normal(size=(n, d)))
    return original, original + {"small noise": 0.001, "noise": 0.4}[kind] * rng.normal(size=(n, d))


def by_engines(original: np.ndarray, masked: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    found = []
    for dimensions in ENGINES.values():
        monkeypatch.setattr(linkage, "TREE_DIMENSIONS", dimensions)
        found.append(linkage.linked(original, masked))
    return found


@pytest.mark.parametrize("d", [1, 2, 3, 6, 13])
@pytest.mark.parametrize("kind", KINDS)
def test_both_engines_find_what_the_definition_says(kind: str, d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original, masked = linkage.standardised(*sides(kind, 2_000, d))
    expected = by_definition(original, masked)
    for found in by_engines(original, masked, monkeypatch):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("levels", [2, 5, 300])
def test_categories_are_linked_by_how_many_agree(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(levels)
    codes = rng.integers(0, levels, size=(1_000, 4))
    masked = np.where(rng.random(codes.shape) < 0.7, codes, rng.integers(0, levels + 1, size=codes.shape))
    one, other = linkage.agreement(codes, masked)
    differing = (masked[:, None] != codes).sum(axis=2)
    np.testing.assert_allclose(cdist(other[:50], one) ** 2, differing[:50], atol=1e-12)
    own = np.diag(differing)
    expected = np.where(differing.min(axis=1) == own, 1 / (differing <= own[:, None]).sum(axis=1), 0.0)
    for found in by_engines(one, other, monkeypatch):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_engines_agree_where_many_blocks_of_points_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("noise", "grid"):
        tree, blocks = by_engines(*linkage.standardised(*sides(kind, 20_000, 4)), monkeypatch)
        np.testing.assert_array_equal(tree, blocks)
        assert 0 < tree.sum() < 20_000


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 60), d=st.integers(1, 11), kind=st.sampled_from(KINDS))
def test_small_tables_are_linked_as_the_definition_says(seed: int, n: int, d: int, kind: str) -> None:
    original, masked = linkage.standardised(*sides(kind, n, d, seed))
    credits = linkage.linked(original, masked)
    np.testing.assert_allclose(credits, by_definition(original, masked), rtol=1e-12)
    assert ((credits >= 0) & (credits <= 1)).all()
    assert credits.sum() <= len(np.unique(original, axis=0)) + 1e-9, "equal records share what one would get"


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 60), d=st.integers(1, 11), kind=st.sampled_from(KINDS))
def test_the_order_of_records_does_not_matter_nor_which_rows_are_asked_with_it(
    seed: int, n: int, d: int, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    original, masked = linkage.standardised(*sides(kind, n, d, seed))
    credits, order = linkage.linked(original, masked), rng.permutation(n)
    np.testing.assert_allclose(linkage.linked(original[order], masked[order]), credits[order], rtol=1e-12)
    rows = rng.integers(0, n, size=n // 2)
    np.testing.assert_allclose(linkage.linked(original, masked, rows=rows), credits[rows], rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(2, 60), d=st.integers(1, 5), kind=st.sampled_from(["noise", "grid", "duplicates"]))
def test_units_and_origins_do_not_matter_once_standardised_or_whitened(seed: int, n: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    original, masked = sides(kind, n, d, seed)
    scale, shift = 2.0 ** rng.integers(-30, 30, size=d), rng.integers(-9, 9, size=d)
    moved = [(side + shift) * scale for side in (original, masked)]
    credits = linkage.linked(*linkage.standardised(original, masked))
    np.testing.assert_allclose(linkage.linked(*linkage.standardised(*moved)), credits)
    whitened = linkage.linked(*linkage.whitened(original, masked))
    np.testing.assert_allclose(linkage.linked(*linkage.whitened(*moved)), whitened)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, n=st.integers(20, 60), d=st.integers(1, 5))
def test_linear_maps_of_both_sides_do_not_matter_to_mahalanobis(seed: int, n: int, d: int) -> None:
    original, masked = sides("noise", n, d, seed)
    turn = np.random.default_rng(seed).normal(size=(d, d)) + 3 * np.eye(d)
    plain, turned = linkage.whitened(original, masked), linkage.whitened(original @ turn, masked @ turn)
    np.testing.assert_array_equal(linkage.linked(*turned), linkage.linked(*plain))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 80), d=st.integers(1, 10), kind=st.sampled_from(["noise", "grid", "duplicates"]))
def test_a_copy_links_every_record_to_as_many_as_are_equal_to_it(seed: int, n: int, d: int, kind: str) -> None:
    original, _ = sides(kind, n, d, seed)
    _, member, count = np.unique(original, axis=0, return_inverse=True, return_counts=True)
    for prepared in (linkage.standardised, linkage.whitened):
        credits = linkage.linked(*prepared(original, original.copy()))
        np.testing.assert_array_equal(credits, 1 / count[member.reshape(-1)])
    assert credits.sum() == pytest.approx(len(count))


@pytest.mark.parametrize("d", [0, 1, 3, 12])
@pytest.mark.parametrize("n", [1, 2, 500])
def test_records_that_cannot_be_told_apart_share_the_credit(n: int, d: int) -> None:
    original, masked = np.full((n, d), 7.1), np.full((n, d), 9.3)
    for prepared in (linkage.standardised, linkage.whitened):
        np.testing.assert_allclose(linkage.linked(*prepared(original, masked)), 1 / n)
    np.testing.assert_allclose(linkage.linked(original, masked), 1 / n)
    np.testing.assert_allclose(linkage.linked(*linkage.agreement(original.astype(int), masked.astype(int))), 1 / n)


def test_nothing_is_asked_and_nothing_told() -> None:
    original, masked = sides("noise", 10, 2)
    assert linkage.linked(original, masked, rows=np.zeros(0, dtype=np.intp)).shape == (0,)


def test_standardised_columns_are_in_units_of_the_original_sd() -> None:
    original = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.full(5, 0.1)])
    masked = np.column_stack([np.arange(5.0) + 1, np.arange(5.0), np.full(5, 0.3)])
    one, other = linkage.standardised(original, masked)
    np.testing.assert_allclose((other - one)[:, 0], 1 / np.sqrt(2))
    np.testing.assert_allclose(other.std(axis=0), [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose((other - one)[:, 2], 0.2)


def test_ties_of_large_integers_survive_standardising() -> None:
    """Seconds since 1970, one to either side of every masked value: a mean as the origin would break the ties."""
    original = 1_700_000_000.0 + 2 * np.arange(1_000.0)[:, None]
    credits = linkage.linked(*linkage.standardised(original, original + 1))
    np.testing.assert_allclose(credits[:-1], 0.5)
    assert credits[-1] == 1


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, n=st.integers(8, 60), d=st.integers(1, 5))
def test_distances_of_whitened_rows_are_mahalanobis(seed: int, n: int, d: int) -> None:
    original, masked = sides("noise", n, d, seed)
    original, masked = original * 100.0 ** np.arange(d), masked * 100.0 ** np.arange(d)
    covariance = (np.cov(original.T, bias=True) + np.cov(masked.T, bias=True)).reshape(d, d)
    expected = cdist(masked, original, "mahalanobis", VI=np.linalg.inv(covariance))
    one, other = linkage.whitened(original, masked)
    np.testing.assert_allclose(cdist(other, one), expected, rtol=1e-6)


def test_columns_that_follow_from_others_add_nothing_to_mahalanobis() -> None:
    original, masked = sides("noise", 400, 3)
    more = [np.column_stack([side, side @ [1.0, -2.0, 3.0], np.full(400, 5.0)]) for side in (original, masked)]
    plain, extended = linkage.whitened(original, masked), linkage.whitened(more[0], more[1])
    assert extended[0].shape == (400, 3)
    np.testing.assert_allclose(cdist(extended[1], extended[0]), cdist(plain[1], plain[0]), rtol=1e-8)


def test_only_what_no_tree_searches_is_work() -> None:
    assert linkage.work(10**6, 10**6, linkage.TREE_DIMENSIONS) < 1e9
    assert linkage.work(10**6, 10**6, linkage.TREE_DIMENSIONS + 1) > 1e13
    assert linkage.work(10**6, 10**3, 20) == pytest.approx(linkage.work(10**6, 10**6, 20) / 1_000)


def test_rows_are_told_apart_even_if_their_hashes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).integers(-1, 2, size=(300, 3)) * 0.1
    plain = linkage._distinct(rows)
    monkeypatch.setattr(linkage, "_hashed", lambda bits: bits[0])
    for first, member in (plain, linkage._distinct(rows)):
        np.testing.assert_array_equal(rows[first][member], rows)
        assert len(first) == len(np.unique(rows, axis=0))
