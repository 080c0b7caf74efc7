"""What a column told before it was changed is known: bands of ages tell no more than ages, and copies are not hidden."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.known_before import knowing
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.telling import Search

RNG = np.random.default_rng(7)
N = 2000
AGES = RNG.integers(18, 90, N)
INCOME = 900 + 20.0 * AGES + RNG.normal(0, 250, N)
NOTHING = np.empty((N, 0))
SAMPLE = Sample(NOTHING, ["income"], INCOME[:, None], NOTHING, [], [], NOTHING)


def passes(sample: Sample, texts: list[str]) -> bool:
    found = Search(sample).found_in(Candidate("c", Role.OTHER, Type.TEXT, texts))
    return found is None or found.passed


ages = [str(age) for age in AGES]
bands = [f"{age // 5 * 5}-{age // 5 * 5 + 4}" for age in AGES]


def test_bands_tell_no_more_than_the_ages_that_they_are_made_of() -> None:
    assert not passes(SAMPLE, bands)
    assert passes(knowing(SAMPLE, ages, bands), bands)


def test_what_is_added_to_a_changed_column_is_found() -> None:
    told = [f"{band} {int(income > np.median(INCOME))}" for band, income in zip(bands, INCOME, strict=True)]
    assert not passes(knowing(SAMPLE, ages, told), told)
    noisy = [f"{income + noise:.0f}" for income, noise in zip(INCOME, RNG.normal(0, 50, N), strict=True)]
    assert not passes(knowing(SAMPLE, ages, noisy), noisy)


def test_codes_that_were_cut_tell_what_the_codes_told() -> None:
    zips = [f"{10000 + 37 * (int(income) // 60) % 200 * 400}" for income in INCOME]
    cut = [code[:3] for code in zips]
    assert not passes(SAMPLE, cut)
    assert passes(knowing(SAMPLE, zips, cut), cut)


def test_names_that_nobody_shares_make_nothing_public() -> None:
    names = [f"person {i}" for i in RNG.permutation(N)]
    initials = [chr(97 + int(income) % 7) for income in INCOME]
    letters = [chr(ord("a") + number % 26) * 3 for number in RNG.integers(0, 26, N)]
    assert knowing(SAMPLE, ["x" * (1 + i % 2) + chr(0x4E00 + i) for i in range(N)], initials) is SAMPLE
    assert passes(knowing(SAMPLE, names, letters), letters)


@pytest.mark.parametrize("was", [["7", None] * (N // 2), ["2026-01-31", "2026-02-01"] * (N // 2)])
def test_nulls_and_days_are_known_too(was: list[str | None]) -> None:
    known = knowing(SAMPLE, was, ["z"] * N)
    assert known.open.shape[0] == N
    assert np.isfinite(known.open).all()
    assert known.released[0] == was
