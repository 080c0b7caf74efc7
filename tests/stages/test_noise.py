"""Rows with noise: a function of key, column and release."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.noise import noise_names, noisy

Make = Callable[..., Masking]


def test_noise_belongs_to_a_column_whatever_its_place(masking: Make) -> None:
    one, other = (
        sql.render(noisy(masking(conf=names), "_pp_source", kept=True).tree) for names in (("x", "n"), ("n", "x"))
    )
    # n stands before x, whichever is named first: its normal is the first of a word, by a cosine.
    assert one.index("sin(") < one.index('AS "_pp_v0"') < one.index("cos(") < one.index('AS "_pp_v1"')
    assert other.index("cos(") < other.index('AS "_pp_v0"') < other.index("sin(") < other.index('AS "_pp_v1"')
    assert noise_names(masking(conf=("x", "n"))) == ["_pp_v0", "_pp_v1"]


def test_the_tweak_of_the_group_ties_it_to_the_release(masking: Make) -> None:
    written = sql.render(noisy(masking(strata=("g",)), "_pp_source", kept=False).tree)
    assert 'ppduck_keyed_words_1("_pp_key", "_pp_tweak")' in written
    assert 'JOIN "_pp_look" ON "_pp_source"."g" IS NOT DISTINCT FROM "_pp_look"."_pp_by0"' in written
    assert "ppduck_seeded_words_1" in sql.render(noisy(masking(seed=1), "_pp_source", kept=False).tree)
