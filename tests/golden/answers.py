"""What a statement gives, in a few numbers: the first rows, and sums of every column."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import duckdb

import ppduck
from tests.golden.statements import TABLES, Statement

SECRET = "pinned for good: golden releases"
SHOWN = 5  # rows
ANSWERS = Path(__file__).with_name("answers.json")


def opened(**config: Any) -> duckdb.DuckDBPyConnection:
    con = ppduck.connect(secret=SECRET, config={"threads": 2, **config})
    con.execute(TABLES)
    return con


def answer(con: duckdb.DuckDBPyConnection, statement: Statement) -> dict[str, Any]:
    described = con.execute(f"DESCRIBE {statement.text}").fetchall()
    names = [row[0] for row in described]
    in_order = ""
    if statement.of_mask:
        in_order = " ORDER BY id" if "id" in names else " ORDER BY ALL"
    rows = con.execute(f"SELECT * FROM ({statement.text}){in_order}").fetchall()
    return {
        "columns": [f"{name} {kind}" for name, kind, *_ in described],
        "rows": len(rows),
        "first": [[_shown(value) for value in row] for row in rows[:SHOWN]],
        "all": [_summed(column) for column in zip(*rows, strict=True)],
    }


def _shown(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, (int, str, bool)) or value is None else str(value)


def _summed(column: tuple[Any, ...]) -> Any:
    """Weights make the order count."""
    if any(isinstance(value, float) for value in column):
        own = [value if value is not None and math.isfinite(value) else 0.0 for value in column]
        return [
            math.fsum(own),
            math.fsum(value * value for value in own),
            math.fsum(value * (1 + i % 97) for i, value in enumerate(own)),
            sum(value is None for value in column),
        ]
    return hashlib.sha256(repr([_shown(value) for value in column]).encode()).hexdigest()[:16]
