"""A row of an answer: gain is over the larger of baseline and control, and its range is that of both."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.attacks._figures import judged, row, rows_of, share, verdict
from ppduck.kernels.score_ranges import of_same_people, of_two_groups

pytestmark = pytest.mark.core
MINE = np.repeat([1.0, 0.0], [60, 40])
LESS = np.repeat([1.0, 0.0], [20, 80])


def test_gain_is_over_the_larger_of_both() -> None:
    by_baseline = judged("a", "m", "words", MINE, LESS, control=np.zeros(50))
    assert by_baseline["gain"] == pytest.approx(0.4)
    assert (by_baseline["lower"], by_baseline["upper"]) == pytest.approx(of_same_people(MINE, LESS), rel=1e-3)
    by_control = judged("a", "m", "words", MINE, LESS, control=np.repeat([1.0, 0.0], [25, 25]))
    assert by_control["gain"] == pytest.approx(0.1)
    assert (by_control["lower"], by_control["upper"]) == pytest.approx(of_two_groups(0.6, 100, 0.5, 50), rel=1e-3)
    assert by_control["rows"] == 100


def test_a_known_baseline_has_no_range() -> None:
    found = judged("a", "m", "words", MINE, 0.1)
    assert found["lower"] == pytest.approx(0.502 - 0.1, abs=2e-3)
    assert found["says"] == "words; the release gives this away"


def test_a_row_without_figures_says_why() -> None:
    found = row("a", "m", "not asked")
    assert {name for name, value in found.items() if value is not None} == {"attack", "method", "says"}


def test_words_for_figures() -> None:
    assert share(0.1234) == "12.3 %"
    assert verdict(0.0).startswith("no more than")
    assert rows_of(None, 3).shape == (0, 3)
    assert rows_of(np.arange(6.0), 3).tolist() == [[0, 1, 2], [3, 4, 5]]
