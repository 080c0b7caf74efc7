"""What is left of conf when something is public has nothing to do with it."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.looked_rows import Targets
from ppduck.kernels.public import bent, ranks

pytestmark = pytest.mark.core


@pytest.fixture
def targets() -> Targets:
    rng = np.random.default_rng(3)
    s, x, y = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    return Targets(
        rows=np.ones(500, dtype=bool),
        names=["x1", "x2"],
        x=x,
        ranks=np.column_stack([ranks(column) for column in x.T]),
        open=bent(s),
        y=y,
        keys=np.arange(500.0)[:, None],
    )


def test_what_is_left_is_orthogonal_to_open_and_masked_columns(targets: Targets) -> None:
    left = targets.left_by_release
    for column in (*targets.open, *(ranks(y) for y in targets.y.T)):
        assert np.abs(column @ left).max() < 1e-9


def test_more_is_public_by_the_release_and_by_the_key_than_by_open_columns(targets: Targets) -> None:
    sizes = [public.basis.shape[1] for public in (targets.by_open, targets.by_release, targets.by_key)]
    assert sizes[0] < min(sizes[1:])
    assert targets.n == 500
