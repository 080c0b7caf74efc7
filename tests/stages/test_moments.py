"""What is summed, and over which rows."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured, told
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def measured(made: Masking, **more: object) -> Measured:
    return Measured(made, own_terms(made), "_pp_source", True, "all", **more)  # type: ignore[arg-type]


def test_rows_that_lack_a_conf_column_are_left_out(masking: Make) -> None:
    written = sql.render(measured(masking(conf=("x", "n"))).complete_rows())
    assert written.endswith('WHERE NOT "x" IS NULL AND NOT "n" IS NULL')
    assert '("s" - "_pp_look"."_pp_m0") AS "_pp_d0"' in written
    by_mean = sql.render(measured(masking(on_null="mean")).complete_rows())
    assert 'coalesce(("s" - "_pp_look"."_pp_m0"), 0.0) AS "_pp_d0"' in by_mean


def test_moments_are_of_s_x_and_v(masking: Make) -> None:
    stage = measured(masking()).moments()
    assert {each.name: each.merged_by for each in stage.aggregates} == {
        "_pp_n": "sum", "_pp_sums": "sum", "_pp_products": "sum", "_pp_lows": "min", "_pp_highs": "max",
        "_pp_base_rows": "sum", "_pp_centres": "any",
    }  # fmt: skip
    assert 'sum("_pp_d0"), sum("_pp_d1"), sum("_pp_v0")' in sql.render(stage.tree)


def test_first_levels_are_counted(masking: Make) -> None:
    made = masking(nonconf=("g",))
    assert 'CAST("g" AS TEXT) = \'a\' AS "_pp_base0"' in sql.render(measured(made).complete_rows())
    assert 'count_if("_pp_base0")' in sql.render(measured(made).moments().tree)


def test_which_terms_may_set_a_row_apart(masking: Make) -> None:
    made = masking()
    for weighing, alone, together in (("all", 2, 2), ("each", 2, 1), ("warned", 2, 1), ("none", 1, 1)):
        found = Measured(made, own_terms(made), "_pp_source", True, weighing)  # type: ignore[arg-type]
        assert (len(found.judged()), len(found.judged(together=True))) == (alone, together)


def test_python_is_told_every_figure(masking: Make) -> None:
    assert set(told(masking())) == {"group", "n", "sums", "products", "lows", "highs", "base_rows", "centres"}
