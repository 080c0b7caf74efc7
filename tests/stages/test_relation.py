"""The terms of a mask that has learnt E(X|S)."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.relation import Relation

Make = Callable[..., Masking]


def test_terms_are_s_fitted_values_and_products(masking: Make) -> None:
    terms = Relation(masking("nm_egadp_mask", nonconf=("s", "g"), conf=("x", "n"))).terms
    assert terms.labels == [
        "s", "g = b", "E(x | nonconf)", "E(n | nonconf)", *["square or product of x"] * 3, *["square or product of n"] * 3,
    ]  # fmt: skip
    assert (terms.places.own, terms.places.fitted, terms.places.explaining) == (2, (2, 3), 4)
    assert terms.places.products == ((4, 5, 6), (7, 8, 9))
    assert terms.p == 10


def test_a_model_reads_numbers_and_every_level(masking: Make) -> None:
    terms = Relation(masking("nm_egadp_mask", nonconf=("s", "g", "flag"))).terms
    assert terms.inputs == ["s", "g", "g", "flag"]
    assert terms.indicators == [False, True, True, True]


def test_centres_are_rounded_and_learnt_terms_have_none(masking: Make) -> None:
    terms = Relation(masking("nm_egadp_mask")).terms
    centre = terms.centre(0, "_pp_m0")
    assert centre is not None
    assert "log2(" in sql.render(centre.whole)
    assert centre.merge([(10.0, 10, 0.0, 2.0)]) == 1.0
    assert terms.centre(1, "_pp_m1") is None


def test_stages(masking: Make) -> None:
    relation = Relation(masking("nm_egadp_mask"))
    assert "ppduck_learn(" in sql.render(relation.models().tree)
    assert "ppduck_evaluate(" in sql.render(relation.narrow().tree)
    assert relation.narrow().kept  # evaluating is dear
    assert '"_pp_tweak"' in sql.render(relation.training().tree)  # or DuckDB would leave the checks out
