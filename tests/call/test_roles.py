"""Columns by their roles: found as DuckDB finds them, several faults in one message, categories as indicators."""

from __future__ import annotations

import pytest

from ppduck.call.roles import Feature, Roles, features_of, indicator, numeric, resolve_columns
from ppduck.catalogue.source import Column, Source
from ppduck.errors import Faults, PpduckError
from ppduck.query import tree as sql

SOURCE = Source("t", '"t"', (Column("Age", "INTEGER"), Column("region", "VARCHAR"), Column("member", "BOOLEAN")))


def test_names_are_found_whatever_their_case() -> None:
    faults = Faults("a_mask", "t")
    assert [column.name for column in resolve_columns(faults, SOURCE, "conf", ["AGE", "region"])] == ["Age", "region"]
    faults.raise_if_any()


def test_all_faults_come_in_one_message() -> None:
    faults = Faults("a_mask", "t")
    resolve_columns(faults, SOURCE, "conf", ["Agee", "region", "REGION"])
    with pytest.raises(
        PpduckError, match=r'conf names column "Agee", which does not exist\. Did you mean "Age"\?'
    ) as told:
        faults.raise_if_any()
    assert 'conf names column "region" twice.' in str(told.value)


def test_a_table_that_cannot_be_seen_is_taken_at_its_word() -> None:
    unseen = Source("t", '"t"', None)
    assert resolve_columns(Faults("a_mask", "t"), unseen, "conf", ["x"]) == [Column("x", "")]


def test_features_of_columns() -> None:
    levels = {"region": ["east", "north", "west"]}
    assert [each.label for each in features_of(SOURCE.column("region"), levels)] == ["region = north", "region = west"]
    [age] = features_of(SOURCE.column("Age"), {})
    assert sql.render(age.value) == 'TRY_CAST("Age" AS DOUBLE)'
    with_null = features_of(SOURCE.column("member"), {}, {"member"})
    assert [(each.label, each.level) for each in with_null] == [("member", None), ("member is NULL", "NULL")]


def test_an_indicator_is_null_where_the_value_is_unless_null_is_a_level() -> None:
    assert sql.render(indicator("region", "it's", False)) == ("CAST(CAST(\"region\" AS TEXT) = 'it''s' AS DOUBLE)")
    assert "IS NOT DISTINCT FROM" in sql.render(indicator("region", "east", True))


def test_a_double_is_read_as_it_is() -> None:
    assert sql.render(numeric(Column("x", "DOUBLE"))) == '"x"'


def test_nonconf_names_each_column_once() -> None:
    features = (Feature("a", "a", sql.null()), Feature("g = x", "g", sql.null()), Feature("g = y", "g", sql.null()))
    roles = Roles(source=SOURCE, conf=(), features=features, levels={}, strata=(), key=(), drop=())
    assert roles.nonconf == ["a", "g"]
    assert str(roles.faults("a_mask", ["One.", "Two."])) == 'a_mask on "t": One.\n  also: Two.'
