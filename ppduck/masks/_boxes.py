"""The texts of boxes: what stands for the values of a group of rows, as one value, a range, or a set of levels."""

from __future__ import annotations

from sqlglot import exp

from ppduck.catalogue.source import Column
from ppduck.errors import quoted
from ppduck.query import tree as sql

ALL, BETWEEN, UPTO = "*", "|", ".."


def unambiguous(text: sql.Expr) -> sql.Expr:
    """A level in quotes where it could be taken for a list of levels, or for all of them."""
    strange = exp.or_(
        sql.call("contains", text.copy(), sql.text(BETWEEN)), sql.equal(text.copy(), sql.text(ALL))
    )
    quotes = sql.call("concat", sql.text('"'), text.copy(), sql.text('"'))
    return sql.cases((strange, quotes), otherwise=text.copy())


def box_text(j: int) -> sql.Expr:
    """A value that all rows of a group have, a range of numbers, all levels, or some of them."""
    low, high, levels = (sql.column(f"_pp_{name}{j}") for name in ("low", "high", "levels"))
    first, last = sql.column(f"_pp_from{j}"), sql.column(f"_pp_to{j}")
    is_range = levels.copy().is_(exp.null())
    one = sql.cases((is_range.copy(), first.copy()), otherwise=unambiguous(first))
    size = exp.Add(this=exp.Sub(this=high.copy(), expression=low.copy()), expression=sql.number(1))
    some = sql.cast(sql.call("list_slice", levels.copy(), low.copy(), high.copy()), "VARCHAR[]")
    return sql.cases(
        (sql.equal(low.copy(), high.copy()), one),
        (is_range, sql.call("concat", first.copy(), sql.text(UPTO), last)),
        (sql.equal(size, sql.call("len", levels.copy())), sql.text(ALL)),
        otherwise=sql.call("list_aggregate", some, sql.text("string_agg"), sql.text(BETWEEN)),
    )


def is_range(type_: str) -> bool:
    return Column("", type_).is_numeric or type_ == "DATE" or type_.startswith("TIMESTAMP")


def is_category(type_: str) -> bool:
    return Column("", type_).is_category or type_ == "BOOLEAN"


def unfit(name: str, type_: str) -> str:
    return (
        f"qi names column {quoted(name)} of type {type_}; only numbers, dates, texts, enums and booleans can be "
        "generalised. Turn it into one of them in tbl."
    )
