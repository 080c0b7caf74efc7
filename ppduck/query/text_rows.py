"""Rows of text that are known while planning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from ppduck.query import tree as sql


def text_rows(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> sql.Expr:
    """A SELECT of rows of text that are known already."""
    tuples = [
        exp.Tuple(expressions=[exp.null() if v is None else sql.text(v) for v in row])
        for row in rows
    ]
    own = exp.TableAlias(this=sql.name("_pp_known"), columns=[sql.name(each) for each in columns])
    # one that is all NULL too
    texts = [sql.named(sql.cast(sql.column(each), "VARCHAR"), each) for each in columns]
    return sql.query(texts, sql.Rows(exp.Values(expressions=tuples, alias=own)))
