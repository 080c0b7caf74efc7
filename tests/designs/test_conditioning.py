"""Designs that tell nothing are refused, those that tell hardly anything warn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ppduck import PpduckWarning
from ppduck.designs.conditioning import is_invertible
from ppduck.errors import Faults, PpduckError
from ppduck.kernels.distortion import uniform

pytestmark = pytest.mark.core


@pytest.mark.parametrize(
    ("matrix", "p", "reason"),
    [(uniform(1 / 3, 3), 1 / 3, "p = 1/3 makes"), (np.full((2, 2), 0.5), None, "its matrix makes")],
)
def test_what_tells_nothing_is_refused(matrix: np.ndarray, p: float | None, reason: str) -> None:
    faults = Faults("rr_reconstruct", "t")
    assert not is_invertible("x", matrix, p, faults)
    with pytest.raises(PpduckError, match=f'^rr_reconstruct on "t": column "x" cannot be reconstructed: {reason} what'):
        faults.raise_if_any()


def test_what_tells_little_warns() -> None:
    faults = Faults("rr_reconstruct", "t")
    with pytest.warns(PpduckWarning, match=r'"x" is nearly singular \(condition number 500\)'):
        assert is_invertible("x", uniform(0.501, 2), 0.501, faults)
    faults.raise_if_any()


def test_what_tells_enough_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_invertible("x", uniform(0.6, 2), 0.6, Faults("rr_reconstruct"))
