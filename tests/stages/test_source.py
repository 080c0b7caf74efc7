"""The user's rows with what their noise is keyed by."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.masking import Masking
from ppduck.stages.source import identity, source

Make = Callable[..., Masking]


def test_the_key_is_a_hash_of_what_identifies_a_row_and_of_what_is_used(masking: Make) -> None:
    stage = source(masking())
    assert (stage.name, stage.kept) == ("_pp_source", False)
    assert sql.render(stage.tree) == (
        'SELECT "_pp_row".*, hash(CAST("id" AS BIGINT), "s", "x") AS "_pp_key" FROM "t" AS "_pp_row"'
    )


def test_the_order_in_which_columns_are_named_does_not_show(masking: Make) -> None:
    one, other = (source(masking(nonconf=names, key=("id", "n"))) for names in (("s", "g"), ("g", "s")))
    assert sql.render(one.tree) == sql.render(other.tree)
    assert sql.render(source(masking(key=("n", "id"))).tree) == sql.render(source(masking(key=("id", "n"))).tree)


def test_whole_numbers_of_conf_are_hidden_from_the_optimizer(masking: Make) -> None:
    assert 'REPLACE (greatest("n", NULL) AS "n")' in sql.render(source(masking(conf=("n",))).tree)


def test_without_a_key_a_row_is_its_number_or_its_content(masking: Make) -> None:
    assert [sql.render(each) for each in identity(masking(key=()))] == ['"rowid"']
    assert identity(masking(key=(), has_rowid=False)) == []


def test_rows_that_lack_nonconf_may_be_dropped(masking: Make) -> None:
    assert sql.render(source(masking(on_null="drop")).tree).endswith('WHERE NOT "s" IS NULL')


def test_numbers_of_rows_must_stay_what_they_are(masking: Make) -> None:
    assert '"rowid" AS "_pp_row_number"' in sql.render(source(masking(), numbered=True).tree)
    without = source(masking(has_rowid=False), numbered=True)
    assert without.kept
    assert 'row_number() OVER () AS "_pp_row_number"' in sql.render(without.tree)
