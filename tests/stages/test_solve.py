"""The solve inside a statement, and its coefficients as columns."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.look import specification
from ppduck.stages.masking import Masking
from ppduck.stages.moments import Measured
from ppduck.stages.solve import coefficients, column_figures, outputs, solving
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def measured(made: Masking) -> Measured:
    return Measured(made, own_terms(made), "_pp_source", True, "all")


def test_stages_up_to_the_form(masking: Make) -> None:
    made = masking()
    names = [each.name for each in solving(measured(made), specification(made, own_terms(made)), made.q)]
    assert names == ["_pp_moments", "_pp_weights", "_pp_axes", "_pp_farthest", "_pp_solved", "_pp_form"]


def test_a_column_has_a_coefficient_for_each_term_of_its_mask(masking: Make) -> None:
    for mask, size in (("egadp_mask", 1 + 1 + 2 + 2), ("ipso_mask", 1 + 1 + 0 + 2)):
        made = masking(mask, conf=("x", "n"))
        assert len(coefficients(made.mask, own_terms(made), made.q)) == 2 * size
    made = masking("noise_mask", conf=("x", "n"), nonconf=(), level=0.1)
    assert len(coefficients(made.mask, own_terms(made), made.q)) == 2 * (1 + 0 + 1 + 1)


def test_the_form_is_written_column_by_column_its_centre_last(masking: Make) -> None:
    [output] = outputs(measured(masking()), 1)
    assert sql.render(output) == (
        '"_pp_c0" + "_pp_d0" * "_pp_c1" + coalesce("_pp_d1", 0.0) * "_pp_c2" + "_pp_v0" * "_pp_c3" + "_pp_m1"'
    )


def test_whole_numbers_are_known_by_type_or_by_value(masking: Make) -> None:
    figures = {each.name: sql.render(each.whole) for each in column_figures(masking(conf=("x", "n")))}
    assert set(figures) == {"_pp_least", "_pp_most", "_pp_mean", "_pp_whole"}
    assert 'bool_and("x" = trunc("x"))' in figures["_pp_whole"]
    assert "bool_and(TRUE)" in figures["_pp_whole"]
