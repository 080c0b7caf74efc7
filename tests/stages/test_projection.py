"""Masked values in the place of the originals."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured
from ppduck.stages.projection import joined_back, projection
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def written(made: Masking) -> str:
    return sql.render(projection(Measured(made, own_terms(made), "_pp_source", True, "all")).tree)


def test_only_conf_is_replaced_and_nothing_is_added(masking: Make) -> None:
    found = written(masking())
    assert found.startswith(
        'SELECT "_pp_masked".* EXCLUDE ("_pp_key", "_pp_v0", "_pp_d0", "_pp_d1", "_pp_m1", "_pp_c0"'
    )
    assert 'REPLACE (CASE WHEN NOT "x" IS NULL THEN ' in found
    assert found.count(' AS "x"') == 1


def test_integers_are_rounded_where_that_is_asked_for(masking: Make) -> None:
    assert "AS INT)" in written(masking(conf=("n",), round=True))
    assert "round(" not in written(masking(conf=("n",)))


def test_results_come_back_by_row_in_the_order_of_the_table(masking: Make) -> None:
    made = masking(conf=("x", "n"), round=True)
    shuffled = sql.query([sql.column("_pp_row_number"), sql.column("_pp_value")], sql.table("_pp_elsewhere"))
    found = sql.render(joined_back(made, [("_pp_masked", "_pp_y0"), (shuffled, "_pp_value")]).tree)
    assert (
        'JOIN "_pp_masked" AS "_pp_result0" ON "_pp_result0"."_pp_row_number" = "_pp_source"."_pp_row_number"' in found
    )
    assert 'round("_pp_result1"."_pp_value")' in found
    assert found.endswith('ORDER BY "_pp_source"."_pp_row_number" ASC NULLS LAST')
    kept = joined_back(masking("shuffle_mask", conf=("n",)), [("_pp_masked", "_pp_y0")])
    assert "round(" not in sql.render(kept.tree)  # a value of the column has its type already
