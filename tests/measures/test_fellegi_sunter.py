"""Probabilistic linkage: certain where nothing is masked, chance where nothing is left, and between in between."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.measures import fellegi_sunter
from ppduck.measures.fellegi_sunter import linked

N = 150


@pytest.fixture
def splink(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("splink")
    monkeypatch.setattr(fellegi_sunter, "SPLINK_ROUNDS", (8,))  # each takes a while, and others follow


def numbers(seed: int, n: int = N, columns: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(size=(n, columns)) @ (np.eye(columns) + 0.4))


def noisy(values: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    return values + np.random.default_rng(seed).normal(size=values.shape) * values.std(axis=0) * np.sqrt(share)


def flipped(codes: np.ndarray, share: float, levels: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(codes.shape) < share, rng.integers(0, levels, codes.shape), codes)


def none(n: int = N) -> np.ndarray:
    return np.zeros((n, 0), dtype=np.int64)


def empty(n: int = N) -> np.ndarray:
    return np.zeros((n, 0))


def of_numbers(original: np.ndarray, masked: np.ndarray) -> np.ndarray:
    return linked(original, masked, none(len(original)), none(len(original)))


def of_codes(original: np.ndarray, masked: np.ndarray) -> np.ndarray:
    return linked(empty(len(original)), empty(len(original)), original, masked)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.usefixtures("splink")
def test_a_copy_of_distinct_records_is_linked_throughout(columns: int) -> None:
    x = numbers(2, columns=columns)
    np.testing.assert_array_equal(of_numbers(x, x), 1.0)


@pytest.mark.usefixtures("splink")
def test_records_that_coincide_share_the_credit() -> None:
    x = np.repeat(numbers(3, 100), [1, 3] * 50, axis=0)
    np.testing.assert_allclose(of_numbers(x, x), np.repeat([1.0, 1 / 3] * 50, [1, 3] * 50), rtol=1e-12)


@pytest.mark.usefixtures("splink")
def test_a_permutation_is_linked_by_chance() -> None:
    x = numbers(4)
    found = np.mean([of_numbers(x, np.random.default_rng(seed).permutation(x)).sum() for seed in range(2)])
    # A permutation has one fixed point in the mean with variance 1, and the mean is over 2.
    assert found == pytest.approx(1, abs=3 / np.sqrt(2))


@pytest.mark.usefixtures("splink")
def test_more_noise_links_fewer() -> None:
    x = numbers(5)
    found = [of_numbers(x, noisy(x, share)).mean() for share in (1e-5, 0.01, 0.3)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert 2 * found[2] < found[1] < found[0] / 1.5
    assert found[2] > 1 / N


@pytest.mark.usefixtures("splink")
def test_a_monotone_scale_does_not_matter() -> None:
    x = numbers(6)
    y = noisy(x, 0.01)
    np.testing.assert_array_equal(of_numbers(x, y), of_numbers(2 * x**3 - 7, 2 * y**3 - 7))


@pytest.mark.usefixtures("splink")
def test_rounds_that_know_of_one_original_each_link_more_where_columns_correlate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pairs alike in three columns that are nearly one look like matches, and what the others say is lost."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(300, 5))
    x[:, 1:3] = x[:, :1] + 0.05 * x[:, 1:3]
    y = noisy(x, 0.02)
    found = of_numbers(x, y).mean()
    monkeypatch.setattr(fellegi_sunter, "ROUNDS", 0)
    assert found > 1.2 * of_numbers(x, y).mean()


@pytest.mark.usefixtures("splink")
def test_categories_alone_split_the_credit_among_a_cell() -> None:
    codes = np.random.default_rng(8).integers(0, 4, (N, 3))
    sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_allclose(of_codes(codes, codes), 1 / sizes[2][sizes[1].reshape(-1)], rtol=1e-12)
    assert of_codes(codes, flipped(codes, 0.5, 4)).mean() < 0.6 * of_codes(codes, codes).mean()


@pytest.mark.usefixtures("splink")
def test_splink_recovers_the_agreement_of_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code kept with probability 1 - s or drawn anew among 20 agrees with probability 1 - 19 s/20."""
    monkeypatch.setattr(fellegi_sunter, "SPLINK_ROUNDS", (25,))
    codes = np.random.default_rng(9).integers(0, 20, (400, 4))
    shares = np.array([0.05, 0.2, 0.4, 0.6])
    masked = flipped(codes, shares, 20)  # type: ignore[arg-type]
    columns = [fellegi_sunter._coded(x, y) for x, y in zip(codes.T, masked.T, strict=True)]
    m = fellegi_sunter._independent_pairs(columns, np.column_stack([column.masked for column in columns]))
    np.testing.assert_allclose([part[0] for part in m], 1 - 19 / 20 * shares, atol=0.1)
    np.testing.assert_allclose([column.u[0] for column in columns], 0.05, atol=0.01)


@pytest.mark.usefixtures("splink")
def test_categories_add_to_numbers() -> None:
    x, codes = numbers(10), np.random.default_rng(10).integers(0, 6, (N, 1))
    y, masked = noisy(x, 0.02), flipped(codes, 0.1, 6)
    together = linked(x, y, codes, masked).mean()
    assert together > 1.2 * of_numbers(x, y).mean()
    assert together > 1.2 * of_codes(codes, masked).mean()


@pytest.mark.usefixtures("splink")
def test_the_order_of_records_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fellegi_sunter, "SPLINK_PAIRS", N * 50)
    monkeypatch.setattr(fellegi_sunter, "PAIRS", N * 100)
    x, codes = numbers(11), np.random.default_rng(11).integers(0, 3, (N, 1))
    y, masked = noisy(x, 0.02), flipped(codes, 0.2, 3)
    order = np.random.default_rng(12).permutation(N)
    found = linked(x, y, codes, masked)
    np.testing.assert_array_equal(linked(x, y, codes, masked), found)
    np.testing.assert_array_equal(linked(x[order], y[order], codes[order], masked[order]), found[order])


@pytest.mark.usefixtures("splink")
def test_constant_columns_say_nothing() -> None:
    x = numbers(13)
    y, constant = noisy(x, 0.02), np.ones((N, 1))
    found = of_numbers(x, y)
    np.testing.assert_array_equal(of_numbers(np.hstack([x, constant]), np.hstack([y, numbers(14)[:, :1]])), found)
    np.testing.assert_array_equal(of_numbers(np.hstack([x, x[:, :1]]), np.hstack([y, constant])), found)


def test_without_columns_that_vary_every_credit_is_chance() -> None:
    constant = np.ones((5, 2))
    np.testing.assert_array_equal(of_numbers(constant, numbers(15, 5, 2)), 1 / 5)
    np.testing.assert_array_equal(of_numbers(empty(4), empty(4)), 1 / 4)
    np.testing.assert_array_equal(of_codes(np.arange(3)[:, None], np.arange(3, 6)[:, None]), 1 / 3)
    assert len(of_numbers(empty(0), empty(0))) == 0
    assert of_numbers(numbers(16, 1), numbers(17, 1)) == 1


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.usefixtures("splink")
def test_few_records(n: int) -> None:
    x = numbers(18, n)
    np.testing.assert_array_equal(of_numbers(x, x), 1.0)


@pytest.mark.usefixtures("splink")
def test_levels_that_a_sample_lacks_are_not_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fellegi_sunter, "SPLINK_PAIRS", N)
    monkeypatch.setattr(fellegi_sunter, "PAIRS", N)
    x = numbers(19)
    np.testing.assert_array_equal(of_numbers(x, x) > 0, True)


@pytest.mark.usefixtures("splink")
def test_splink_says_nothing_and_leaves_nothing(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    log = logging.getLogger("splink")
    before = log.handlers, log.propagate, log.level
    x = numbers(20)
    with caplog.at_level(logging.DEBUG), warnings.catch_warnings():
        warnings.simplefilter("error")
        of_numbers(x, noisy(x, 0.1))
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert not os.listdir(tmp_path)
    assert (log.handlers, log.propagate, log.level) == before


def test_without_splink_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splink", None)
    x = numbers(21)
    with pytest.raises(PpduckError, match=r"needs Splink: pip install 'ppduck\[linkage\]'"):
        of_numbers(x, x)


def test_where_splink_gives_up_the_later_rounds_find_m(splink: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its EM ends with an error once an m is too small for a double."""
    from splink.internals.linker_components.training import LinkerTraining

    values = numbers(1)
    masked = noisy(values, 0.01)
    nothing = np.zeros((N, 0), dtype=np.int64)
    expected = linked(values, masked, nothing, nothing).mean()
    tried = []

    def gives_up(*_: object, **__: object) -> None:
        tried.append(1)
        raise ValueError("m_probability value 0.0 is below the minimum allowed value")

    monkeypatch.setattr(fellegi_sunter, "SPLINK_ROUNDS", (8, 2))
    monkeypatch.setattr(LinkerTraining, "estimate_parameters_using_expectation_maximisation", gives_up)
    assert linked(values, masked, nothing, nothing).mean() == pytest.approx(expected, abs=0.1)
    assert len(tried) == 2
