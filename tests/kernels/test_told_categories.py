"""A category is found in the digits of a number, in another one's levels, and as a hash; what is by nature is not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest

from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.told_categories import told

pytestmark = pytest.mark.core
RNG = np.random.default_rng(3)
N = 2000
LEVELS = RNG.choice(3, N, p=[0.5, 0.3, 0.2])
DISEASE = [["flu", "gout", "asthma"][level] for level in LEVELS]
NOTHING = np.empty((N, 0))
DRAWN = RNG.normal(1000, 100, N)


def fails(values: Sequence[object], role: Role = Role.OTHER, kind: Type = Type.NUMBER, x: object = DRAWN) -> bool:
    own = np.asarray(x, dtype=float)
    sample = Sample(NOTHING, ["x"], own[:, None], NOTHING, ["disease"], [DISEASE], NOTHING)
    found = told(sample, Candidate("x", role, kind, [str(value) for value in values]))
    return any(not each.passed for each in found)


@pytest.mark.parametrize("role", [Role.MASKED, Role.OTHER])
def test_a_digit_that_is_a_level_is_found(role: Role) -> None:
    assert fails(np.floor(DRAWN) + LEVELS / 10, role)
    assert fails(np.floor(DRAWN) * 10 + LEVELS, role)
    assert fails(np.round(DRAWN, 2) + LEVELS / 1e4, role)
    assert not fails(DRAWN, role)
    assert not fails(np.round(DRAWN), role)


def test_what_the_original_told_in_the_same_reading_is_by_nature() -> None:
    was = 10 * RNG.integers(1, 100, N) + LEVELS
    masked = 10 * RNG.integers(1, 100, N) + LEVELS
    assert fails(masked, Role.MASKED)
    assert not fails(masked, Role.MASKED, x=was)


def test_levels_and_hashes_tell_and_names_do_not() -> None:
    assert fails([level.upper() for level in DISEASE], kind=Type.TEXT)
    assert fails([hashlib.md5(level.encode()).hexdigest() for level in DISEASE], kind=Type.TEXT)
    assert not fails([f"person {i}" for i in range(N)], kind=Type.TEXT)
    assert not fails(RNG.permutation(DISEASE), kind=Type.TEXT)
    assert not fails(DISEASE, Role.ORDER, kind=Type.TEXT)
