"""Narrow tables, and samples that are the same at every reading."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured
from ppduck.stages.narrow_table import LARGEST_KEY, masked, own_columns, sample_of_terms, sampled_upto
from ppduck.stages.solve import outputs
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def test_only_what_is_worked_on_is_kept(masking: Make) -> None:
    assert own_columns(masking(strata=("g",), nonconf=("s", "flag"))) == ["g", "s", "flag", "x"]


def test_a_sample_has_the_rows_with_the_smallest_keys() -> None:
    found = sampled_upto(100)
    assert found.merge([(30,), (20,)]) == int(LARGEST_KEY)  # all of them
    assert found.merge([(150,), (50,)]) == int(LARGEST_KEY / 2)
    assert "greatest(100, count(*))" in sql.render(found.whole)


def test_a_sample_is_in_an_order_that_tells_nothing(masking: Make) -> None:
    made = masking()
    stage = sample_of_terms(Measured(made, own_terms(made), "_pp_narrow", True, "all"))
    written = sql.render(stage.tree)
    assert 'CAST("_pp_d0" AS DOUBLE), CAST("_pp_d1" AS DOUBLE), CAST("_pp_v0" AS DOUBLE)' in written  # [S, X, V]
    assert 'ORDER BY "_pp_key" ASC NULLS LAST' in written
    assert '"_pp_key" <= "_pp_look"."_pp_sampled_upto"' in written


def test_masked_values_stand_beside_their_originals(masking: Make) -> None:
    made = masking()
    measured = Measured(made, own_terms(made), "_pp_narrow", True, "all")
    written = sql.render(masked(measured, outputs(measured, 1), 1).tree)
    assert written.startswith('SELECT "_pp_row_number", "_pp_key", CASE WHEN NOT "x" IS NULL THEN')
    assert 'AS "_pp_y0", "x" AS "_pp_x0"' in written
