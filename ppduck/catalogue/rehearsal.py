"""What may fail on a value is tried while planning, where a failure can be told without the value.

While a statement runs DuckDB's own messages go straight to the user, and quote the value, or the whole line of a file,
that could not be read. A file of text that is changed between planning and running, and expressions that a user's own
SELECT or view computes, are beyond this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from ppduck.catalogue.reader import Reader
from ppduck.errors import Faults, UnreadError, quoted
from ppduck.query import tree as sql

# Files whose values are text until they are read; any other format has its types written down.
_MAY_NAME_TEXT = re.compile(r"csv|tsv|json|txt|jsonl", re.IGNORECASE)
_READS_TEXT = re.compile(r"READ_(CSV|JSON|NDJSON)", re.IGNORECASE)
# What cannot fail on a value.
_SAFE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Not, exp.And, exp.Or, exp.EQ,
    exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Between, exp.TryCast, exp.DataType, exp.Coalesce,
    exp.Case, exp.If, exp.Tuple, exp.Star, exp.Count,
)  # fmt: skip


def may_fail(expressions: Iterable[sql.Expr]) -> bool:
    """Whether an expression does more than compare."""
    return any(
        not isinstance(node, _SAFE) for expression in expressions for node in expression.walk()
    )


def rehearse(reader: Reader, faults: Faults, parameter: str, statement: str) -> None:
    """Runs a statement; raises without the value on which it fails."""
    try:
        reader.execute(statement).fetchall()
    except UnreadError as error:
        if error.unseen:
            raise faults.refuse(f"{parameter}: {error}") from None
        raise faults.refuse(
            f"{parameter} cannot be computed for every row, because a value does not fit; TRY_CAST in place of CAST, "
            "and a condition before what it protects, make such values NULL."
        ) from None


def read_through(
    reader: Reader, faults: Faults, label: str, source: str, views: Iterable[str]
) -> None:
    """Reads a source to its end if it rests on a file of text, where the type of any cell may be a surprise.

    It may do so by one of the ``views``, of which these are the statements that made them.
    """
    if not any(_MAY_NAME_TEXT.search(text) for text in (source, *views)):
        return
    [(_, explained)] = reader.execute(f"EXPLAIN (FORMAT json) SELECT * FROM {source}").fetchall()
    if not any(_READS_TEXT.match(name) for name in _operators(json.loads(explained))):
        return
    try:
        reader.execute(f"SELECT count(COLUMNS(*)) FROM {source}").fetchall()
    except UnreadError:
        raise faults.refuse(
            f"{quoted(label)} reads a file of which a line or a cell does not fit the columns; what DuckDB says of it "
            "quotes the line and is not repeated. Read the file by itself: read_csv(…, store_rejects=true) tells lines "
            "and columns in reject_errors; with types := {…}, or all_varchar=true and TRY_CAST, it can be masked."
        ) from None


def _operators(plan: Any) -> list[str]:
    """The names of all operators of a plan."""
    if isinstance(plan, list):
        return [name for part in plan for name in _operators(part)]
    return [str(plan.get("name", "")).strip(), *_operators(plan.get("children", []))]
