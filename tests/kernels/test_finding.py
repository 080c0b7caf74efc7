"""A finding passes up to its limit; of several the plain one is told, else the one that tells most."""

from __future__ import annotations

import pytest

from ppduck.kernels.finding import AS_IT_IS, MOST_GAIN, Finding, most_gain, worst

pytestmark = pytest.mark.core


def test_a_finding_passes_at_its_limit_and_stands_out_beyond() -> None:
    at, beyond = Finding(0.05, 0.05, "x", ""), Finding(0.1, 0.05, "x", "")
    assert (at.passed, at.excess) == (True, 1)
    assert (beyond.passed, beyond.excess) == (False, 2)
    assert Finding(0.0, 0.0, "x", "").excess == 0 or Finding(0.0, 0.0, "x", "").passed


def test_the_plain_reading_is_told_before_those_that_tell_more() -> None:
    passed, plain, more = Finding(0.01, 0.05, "x", "m"), Finding(0.5, 0.05, "x", AS_IT_IS), Finding(1, 0.05, "x", "q")
    assert worst([passed, more, plain]) is plain
    assert worst([passed, more]) is more
    assert worst([passed]) is passed
    assert worst([]) is None


def test_chance_adds_less_where_there_are_more_rows() -> None:
    assert most_gain(1, 100) > most_gain(1, 10_000) > MOST_GAIN
    assert most_gain(5, 1000) > most_gain(1, 1000)
