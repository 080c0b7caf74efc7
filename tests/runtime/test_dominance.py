"""A row that outweighs all others: from where on it is warned of or refused, without a database."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from ppduck.call.linear_mask import Request, TermPlaces
from ppduck.errors import PpduckError, PpduckWarning
from ppduck.kernels.linear import Blocks
from ppduck.runtime import dominance
from ppduck.runtime.dominance import Judged, Reach
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array, Moments

Spec = Callable[..., MaskSpec]


def judged(spec: MaskSpec, rows: Array) -> Judged:
    """Of rows of [s, x]."""
    request = Request(spec.function, "t", None, ["x"], ["s"], spec.call, TermPlaces(1))
    blocks = Blocks.from_moments(Moments.of(rows), 1, 1)
    return Judged.of(spec, request, blocks, Reach(rows.min(axis=0), rows.max(axis=0), []))


def with_share(share: float) -> Array:
    """500 rows of which one has about this share of the variance of x."""
    rows = np.random.default_rng(5).normal(size=(500, 2))
    rows[0, 1] = math.sqrt(499 * share / (1 - share))
    return rows


def test_the_share_of_a_row_is_read_from_its_ends(spec: Spec) -> None:
    assert judged(spec(), with_share(0.7)).shares[1] == pytest.approx(0.7, abs=0.03)


def test_shares_are_let_pass_warned_of_or_refused(spec: Spec) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = judged(spec(), with_share(0.5))
        dominance.refuse(fine, None)
        dominance.warn(fine, None)
    warned = judged(spec(), with_share(0.7))
    dominance.refuse(warned, None)
    with pytest.warns(PpduckWarning, match='more than 60 % of the variance of conf column "x"'):
        dominance.warn(warned, None)
    with pytest.raises(PpduckError, match='more than 80 % of the variance of conf column "x"'):
        dominance.refuse(judged(spec(), with_share(0.9)), None)


def test_the_only_row_of_a_first_level_is_refused(spec: Spec) -> None:
    told = spec(bases=["g = a"])
    rows = with_share(0.1)
    request = Request("egadp_mask", "t", None, ["x"], ["s"], told.call, TermPlaces(1))
    reach = Reach(rows.min(axis=0), rows.max(axis=0), [1])
    found = Judged.of(told, request, Blocks.from_moments(Moments.of(rows), 1, 1), reach)
    with pytest.raises(PpduckError, match='stands apart in nonconf column "g = a"'):
        dominance.refuse(found, None)


def test_a_row_apart_in_both_together_is_found_by_its_leverage(spec: Spec) -> None:
    rows = with_share(0.001)
    rows[:, 1] = rows[:, 0] + 0.01 * rows[:, 1]
    rows[0] = (2.0, -2.0)  # no extreme of either, but far off the line
    found = judged(spec(), rows)
    assert dominance.levers(found) is not None
    with pytest.raises(PpduckError, match=r"a single row stands apart by .* taken together"):
        dominance.refuse(found, np.array([2.0, -2.0, -1.0]))
