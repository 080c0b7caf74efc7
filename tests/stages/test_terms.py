"""The terms of a form: labels, values and centres."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def test_features_come_first_and_conf_last(masking: Make) -> None:
    terms = own_terms(masking(nonconf=("s", "g"), conf=("x", "n")))
    assert terms.labels == ["s", "g = b"]
    assert (terms.p, terms.q) == (2, 2)
    assert [sql.render(value) for value in terms.values] == [
        '"s"', "CAST(CAST(\"g\" AS TEXT) = 'b' AS DOUBLE)", '"x"', 'TRY_CAST("n" AS DOUBLE)',
    ]  # fmt: skip
    assert terms.centres == ["_pp_m0", "_pp_m1", "_pp_m2", "_pp_m3"]
    assert terms.places.own == terms.places.explaining == 2
    assert terms.places.products == ()


def test_a_centre_is_the_mean(masking: Make) -> None:
    centre = own_terms(masking()).centre(1, "_pp_m1")
    assert centre is not None
    assert sql.render(centre.whole) == 'coalesce(avg("x"), 0.0)'
    assert centre.merge([(6.0, 3), (2.0, 1), (None, 0)]) == 2.0
