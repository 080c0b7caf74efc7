"""Relations as dbt writes them are tables as ppduck takes them; what is asked of ppduck has its whole name."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.dbt.requests import MaskedSource
from ppduck.dbt.statements import as_table, failed_rules, in_from, refuse_source, written
from ppduck.errors import Faults, PpduckError


@pytest.mark.parametrize(
    ("relation", "table"),
    [
        ('"db"."main"."people"', "db.main.people"),
        ('"db"."main"."People"', '"db"."main"."People"'),
        ("(select 1) as x", "(select * from (select 1) as x)"),
        (" (from t) ", "(from t)"),
    ],
)
def test_relations(relation: str, table: str) -> None:
    assert as_table(relation) == table


def test_files_need_quotes_in_a_from_clause() -> None:
    assert in_from("data/people.parquet") == '"data/people.parquet"'
    assert in_from("db.main.people") == "db.main.people"


def test_functions_have_their_whole_names() -> None:
    told = written(failed_rules(("o", "(from f(1))"), {"conf": ["x"], "key": "id"}))
    assert "FROM temp.main.release_check('o', '(from f(1))', conf := ['x'], key := 'id')" in told


@pytest.mark.parametrize(
    ("node", "is_cte", "message"),
    [({"resource_type": "unit_test"}, False, "masks cannot be unit-tested"), ({}, True, '"t" is ephemeral')],
)
def test_what_cannot_be_masked(node: dict[str, Any], is_cte: bool, message: str) -> None:
    with pytest.raises(PpduckError, match=message):
        refuse_source(Faults("f"), node, MaskedSource(name="t", table="t", is_cte=is_cte, columns=[]))
