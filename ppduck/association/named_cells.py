"""Cells whose levels Python is to name: in answers, or in messages."""

from __future__ import annotations

from dataclasses import dataclass

from ppduck.estimators.cells import CellCounts, Cells
from ppduck.query import tree as sql


@dataclass(frozen=True)
class NamedCells(CellCounts):
    """The cells, and the levels of each column as texts."""

    levels: list[list[str | None]]


def level_texts(counted: Cells) -> sql.Expr:
    """The levels of each column as texts, for a UDF."""
    texts = [sql.cast(counted.levels(i), "VARCHAR[]") for i in range(len(counted.release.columns))]
    return sql.call("any_value", sql.array(texts, "VARCHAR[]"))
