"""SQL as dbt writes it, and as ppduck writes it for dbt: sources of masks, and what the gate finds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.dbt.project import Node
from ppduck.dbt.requests import MaskedSource
from ppduck.dbt.rules import literal
from ppduck.errors import Faults, quoted
from ppduck.gate import release_check
from ppduck.measures import moments_check
from ppduck.policy import release_manifest, release_table
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified, systems, theirs

_TAUGHT = (release_check.NAME, moments_check.NAME, release_table.NAME, release_manifest.NAME)
_FILE = re.compile(r"[^\s;()\"]+(/[^\s;()\"]+|\.(csv|json|parquet)(\.gz|\.zst)?)", re.IGNORECASE)
_PLAIN_NAMES = re.compile(r'"[a-z_][a-z0-9_]*"(\."[a-z_][a-z0-9_]*")*')


def refuse_source(faults: Faults, node: Node, source: MaskedSource) -> None:
    """Refuses what no mask can be carried out over."""
    if node.get("resource_type") == "unit_test":
        raise faults.refuse(
            "masks cannot be unit-tested: what they give depends on the whole table and on the secret. Test the masked "
            "model by data tests such as ppduck_release, and other models with it as their given input."
        )
    if source.is_cte:
        raise faults.refuse(
            f"its source {quoted(source.name)} is ephemeral and cannot be masked; materialize it as a view or table."
        )


def as_table(relation: str) -> str:
    """What dbt writes into a FROM clause, as ppduck takes it, and as a user would write it."""
    text = relation.strip()
    if text.startswith("("):  # a subquery of dbt's, which may have an alias behind it
        return text if text.endswith(")") else f"(select * from {text})"
    return text.replace('"', "") if _PLAIN_NAMES.fullmatch(text) and _reads_the_same(text) else text


def _reads_the_same(name: str) -> bool:
    """Whether a name may be written without its quotes: a keyword may not."""
    try:
        plain = sqlglot.parse_one(name.replace('"', ""), into=exp.Table, dialect="duckdb")
    except SqlglotError:
        return False
    return [part.name for part in plain.parts] == name.replace('"', "").split(".")


def in_from(table: str) -> str:
    """What ppduck takes for a table, as it stands in a FROM clause: the name of a file needs quotes."""
    return sql.render(sql.name(table)) if _FILE.fullmatch(table) else table


def rows_given(function: str, tables: tuple[str, str], given: Mapping[str, Any]) -> sql.Rows:
    """What a function of ppduck gives. Its arguments are as a user writes them: it reads their text."""
    named = (sql.argument(name, theirs(literal(value))) for name, value in given.items())
    return sql.rows_of(function, *map(sql.text, tables), *named)


def failed_rules(tables: tuple[str, str], given: Mapping[str, Any]) -> sql.Expr:
    columns = map(sql.column, ("rule", "column_name", "at_most", "value", "why"))
    rows = rows_given(release_check.NAME, tables, given)
    return sql.query([*columns], rows, where=sql.column("passed").not_())


def written(statement: sql.Expr) -> str:
    """As text in which every function has its whole name: a project may have macros of the same ones."""

    def home(name: str) -> str:
        return f"temp.main.{name}" if name in _TAUGHT else systems(name)

    return qualified(sql.render(statement), home)
