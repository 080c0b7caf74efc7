"""When a release is not advised."""

from __future__ import annotations

import pytest

from ppduck.runtime.nearness import NEAR
from ppduck.runtime.security import LEARNT, LOW_SECURITY, stays_close


def test_the_limit_is_that_of_nearness() -> None:
    assert pytest.approx(1 - NEAR) == LOW_SECURITY
    assert 0 < LEARNT < LOW_SECURITY


@pytest.mark.parametrize(("security", "extra", "close"), [(0.3, 0.0, True), (0.4, 0.0, False), (0.3, 0.5, False)])
def test_extra_noise_takes_a_column_away_from_its_originals(security: float, extra: float, close: bool) -> None:
    assert stays_close(security, extra) == close
