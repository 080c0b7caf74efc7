"""As many independent equations as unknowns tell all of them; fewer tell those whose axis they hold."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.differencing import agreeing, solved

pytestmark = pytest.mark.core
RNG = np.random.default_rng(3)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_up_to_as_many_unknowns_as_equations_come_out(k: int) -> None:
    weights, x = RNG.normal(size=(3, k)), RNG.normal(size=k)
    found = solved(weights, weights @ x)
    assert found.known.all()
    assert np.abs(found.values - x).max() < 1e-10
    assert (found.spare, found.agrees) == (3 - k, True)


def test_one_unknown_more_and_none_is_known() -> None:
    weights, x = RNG.normal(size=(3, 4)), RNG.normal(size=4)
    found = solved(weights, weights @ x)
    assert not found.known.any()
    assert found.spare == 0


def test_one_that_has_an_equation_of_its_own_is_known_all_the_same() -> None:
    weights, x = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]), np.array([3.0, -7.0, 5.0])
    found = solved(weights, weights @ x)
    assert found.known.tolist() == [False, True, False]
    assert found.values[1] == pytest.approx(-7)


def test_rows_that_one_release_lost_count_the_other_way() -> None:
    weights = np.array([[1.0, -1.0], [2.0, -5.0]])
    assert solved(weights, weights @ [4.0, 9.0]).values == pytest.approx([4.0, 9.0])


def test_equations_that_disagree_are_noticed() -> None:
    assert not solved(np.array([[1.0], [2.0]]), np.array([1.0, 3.0])).agrees
    assert not solved(np.zeros((1, 1)), np.array([1.0])).agrees


def test_no_unknown_leaves_all_equations_to_tell() -> None:
    found = solved(np.zeros((2, 0)), np.array([0.0, 0.5]))
    assert (found.spare, found.agrees, len(found.values)) == (2, False, 0)


def test_the_equations_that_agree_are_found_among_others() -> None:
    weights, x = RNG.normal(size=(6, 2)), RNG.normal(size=2)
    totals = weights @ x + [0, 3, 0, 0, -5, 0]
    assert agreeing(weights, totals).tolist() == [True, False, True, True, False, True]
    assert agreeing(weights, weights @ x).all()


def test_equations_that_only_seem_to_agree_do_not_count() -> None:
    """Two equations always agree on two unknowns: it takes a third."""
    weights = RNG.normal(size=(4, 2))
    assert not agreeing(weights, RNG.normal(size=4)).any()
    many = RNG.normal(size=(40, 5))
    assert not agreeing(many, RNG.normal(size=40)).any()  # too many choices
