"""The row that stands farthest apart: axes as columns, or as lists where these would be many."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.leverage import MOST_PLAIN, farthest
from ppduck.stages.look import specification
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def stages(made: Masking, weighing: str = "all") -> list[str]:
    terms = own_terms(made)
    measured = Measured(made, terms, "_pp_source", True, weighing)  # type: ignore[arg-type]
    return [sql.render(each.tree) for each in farthest(measured, specification(made, terms))]


def test_one_term_needs_no_look_at_rows(masking: Make) -> None:
    assert stages(masking(), "each") == []
    assert stages(masking(nonconf=())) == []


def test_few_axes_are_columns(masking: Make) -> None:
    weights, axes, row = stages(masking())
    assert "ppduck_levers(" in weights
    assert 'list_extract("_pp_w", 2) AS "_pp_axis0_0"' in axes
    assert '"_pp_axis1_0" * "_pp_d0" + "_pp_axis1_1" * "_pp_d1" - "_pp_axis1_2" AS "_pp_along1"' in row
    assert 'arg_max(CASE WHEN "_pp_leverage" > "_pp_limit" THEN' in row


def test_many_axes_are_lists(masking: Make) -> None:
    made = masking(nonconf=("s",) * MOST_PLAIN)
    _, axes, row = stages(made)
    assert 'list_slice("_pp_w", 2, ' in axes
    assert 'list_inner_product("_pp_axis0", "_pp_terms")' in row
