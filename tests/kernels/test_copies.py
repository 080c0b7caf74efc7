"""A column that is conf is found whatever it is called; one that agrees by chance is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ppduck.kernels.copies import copied
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.values import Array

pytestmark = pytest.mark.core
N = 400
RNG = np.random.default_rng(5)
X = np.round(RNG.lognormal(10, 0.5, N), 2)
LEVELS = [str(level) for level in RNG.choice(["flu", "gout", "asthma"], N)]
SAMPLE = Sample(np.empty((N, 0)), ["x"], X[:, None], np.empty((N, 0)), ["d"], [LEVELS], np.empty((N, 0)))


def share(values: Array | Sequence[str], type_: Type = Type.NUMBER) -> float:
    texts = [value if isinstance(value, str) else repr(float(value)) for value in values]
    return copied(SAMPLE, Candidate("c", Role.OTHER, type_, texts))


def test_a_copy_is_one_as_number_text_and_in_single_precision() -> None:
    assert share(X) == 1
    assert share([str(value) for value in X], Type.TEXT) == 1
    assert share(X.astype(np.float32).astype(float)) == 1
    assert share(LEVELS, Type.TEXT) == 1


def test_what_has_nothing_to_do_with_conf_is_none() -> None:
    assert share(RNG.permutation(X)) < 0.02
    assert share(RNG.permutation(LEVELS).tolist(), Type.TEXT) < 0.2
    assert share(np.full(N, 7.0)) == 0


def test_half_a_copy_is_a_half() -> None:
    assert share(np.where(np.arange(N) < N // 2, X, -1.0)) == pytest.approx(0.5, abs=0.02)
