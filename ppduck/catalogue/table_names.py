"""Names of tables, which may be qualified, and their parts."""

from __future__ import annotations

from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.query import tree as sql


@lru_cache(maxsize=256)
def written(text: str) -> str | None:
    """The text as a (qualified) name with every part quoted, or None where it is no name."""
    try:
        parsed = sqlglot.parse_one(text, into=exp.Table, dialect="duckdb")
    except SqlglotError:
        return None
    if not isinstance(parsed, exp.Table) or not all(
        isinstance(part, exp.Identifier) for part in parsed.parts
    ):
        return None
    plain = {"this", "db", "catalog"}
    if any(value for key, value in parsed.args.items() if key not in plain):
        return None
    return ".".join(sql.render(exp.to_identifier(part.name, quoted=True)) for part in parsed.parts)


@lru_cache(maxsize=256)
def parts(name: str) -> tuple[str, ...]:
    return tuple(
        part.name for part in sqlglot.parse_one(name, into=exp.Table, dialect="duckdb").parts
    )


def parts_of_name(text: str) -> tuple[str, ...]:
    """The parts of a table's name, which may be qualified; none of what is no name."""
    name = written(text.strip())
    return () if name is None else parts(name)
