"""What the tests of alike rows share: tables, calls with one row as answer, and ways to call that all must stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from hypothesis import strategies as st

from ppduck.call.registry import PlainMacro
from tests.test_plain_sql import close, run_shell

# Guo (2010), Table 2.2.
PATIENTS = (
    "(SELECT unnest([0, 0, 0, 0, 1, 1, 1, 1]) AS age,"
    " unnest(['pneumonia', 'flu', 'flu', 'flu', 'pneumonia', 'pneumonia', 'flu', 'flu']) AS disease)"
)
TWO = "(SELECT unnest([0, 1, 1]) AS a, unnest([0, 0, 1]) AS b, unnest([1, 2, 3]) AS s)"
NONE = "(SELECT 1 AS a, 2 AS s WHERE false)"
SETTINGS = ["ieee_floating_point_ops = false", "integer_division = true", "default_null_order = 'nulls_first'"]
# Rows of two quasi-identifiers and a sensitive column.
SMALL = st.lists(
    st.tuples(*[st.none() | st.integers(0, 2)] * 2, st.none() | st.integers(0, 5)), min_size=1, max_size=40
)
# Names of two quasi-identifiers and a sensitive column that the macros, or SQL, give a meaning of their own.
ODD_NAMES = [
    ("x2", "x3", "x1"),
    ("cell", "n", "level"),
    ("a b", 'say "x"', "it's"),
    ("select", "a;b", "groups"),
    ("#", "?", "rows"),
    ("k", "l", "c"),
    ("q", "i", "p"),
    ("sensitive", "qi", "tbl"),
    ("_pp_seen", "total", "m"),
    ("?s", "\\", "ordered"),
]


def text(body: str) -> str:
    return "'" + body.replace("'", "''") + "'"


def alike(expected: dict[str, Any]) -> dict[str, Any]:
    """Numbers up to rounding, and all else as it is."""
    return {name: close(value) if isinstance(value, float) else value for name, value in expected.items()}


def line(con: duckdb.DuckDBPyConnection, call: str) -> dict[str, Any]:
    """The one row of a call."""
    found = con.execute(f"FROM {call}")
    names = [column[0] for column in found.description]
    [row] = found.fetchall()
    return dict(zip(names, row, strict=True))


def rows_of(frame: pd.DataFrame) -> str:
    """A SELECT in parentheses of a frame whose columns hold whole numbers and None."""

    def written(value: Any) -> str:
        return "NULL" if pd.isna(value) else str(int(value))

    rows = ", ".join(f"({', '.join(map(written, row))})" for row in frame.itertuples(index=False))
    return f"(SELECT * FROM (VALUES {rows}) AS v({', '.join(frame.columns)}))"


def groups_of(frame: pd.DataFrame, qi: list[str]) -> list[pd.DataFrame]:
    return [group for _, group in frame.groupby(qi, dropna=False)]


def counts_of(column: pd.Series) -> np.ndarray:
    """How often each value occurs, the most frequent first."""
    return np.sort(column.value_counts(dropna=False).to_numpy())[::-1]


def uneven(rows: int = 300, seed: int = 5) -> pd.DataFrame:
    """Groups of very unlike sizes, with NULLs in every column."""
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {"a": rng.geometric(0.4, rows), "b": rng.integers(0, 3, rows), "s": rng.binomial(12, 0.4, rows)}, dtype="Int64"
    )
    for name in found:
        found.loc[rng.random(rows) < 0.08, name] = pd.NA
    return found


def renamed(frame: pd.DataFrame, names: tuple[str, str, str]) -> str:
    """The columns a, b and s of a frame under other names, as the text of a call."""
    pairs = zip("abs", names, strict=True)
    columns = ", ".join(f'{old} AS "{new.replace(chr(34), chr(34) * 2)}"' for old, new in pairs)
    return text(f"(SELECT {columns} FROM {rows_of(frame)})")


def sources(con: duckdb.DuckDBPyConnection, folder: Path, frame: pd.DataFrame) -> list[str]:
    """Every way to name the rows of a frame, which becomes a table and files."""
    con.execute(f"CREATE OR REPLACE TABLE survey AS FROM {rows_of(frame)}")
    con.execute('CREATE OR REPLACE TABLE "odd; ""name""" AS FROM survey')
    ways = ["survey", "main.survey", '"odd; ""name"""', "survey -- a remark", "(FROM survey -- a remark\n) AS s"]
    for ending in ("csv", "parquet", "json"):
        con.execute(f"COPY survey TO '{folder}/it''s here.{ending}'")
        ways.append(f"{folder}/it's here.{ending}")
    return ways


def described(con: duckdb.DuckDBPyConnection, call: str) -> list[tuple[str, str]]:
    """Names and types of what a call gives."""
    return [(row[0], row[1]) for row in con.execute(f"DESCRIBE FROM {call}").fetchall()]


def has_registered_columns(con: duckdb.DuckDBPyConnection, call: str, macro: PlainMacro) -> None:
    """Names and types are those that are registered, and none needs quotes."""
    assert described(con, call) == [(each.name, each.type) for each in macro.results]
    chosen = ", ".join(each.name for each in macro.results)
    assert con.execute(f"SELECT {chosen} FROM {call}").fetchone() is not None


def quasi_refused(name: str, rest: str = "") -> list[tuple[str, str]]:
    """Calls that say nothing useful of the table or of the quasi-identifiers, and their messages."""
    return [
        (f"{name}(NULL, ['a']{rest})", rf"{name}: tbl is missing\. Give a table name"),
        (f"{name}('  ', ['a']{rest})", rf"{name}: tbl is missing\. Give a table name"),
        (f"{name}('{NONE}', ['a']{rest})", rf"{name}: tbl has no rows\. Check tbl and its filter"),
        *(
            (f"{name}('{TWO}', {qi}{rest})", rf"{name}: qi {message}")
            for qi, message in (
                ("'a'", r"must be a list of column names\. Write it as \['first'"),
                ("NULL", r"must be a list of column names\. Write it"),
                ("7", r"must be a list of column names\. Write it"),
                ("[]", r"names no column\. Name the columns"),
                ("['a', 'A']", r"names a column twice\. Name each column once"),
                ("['a', NULL]", r"holds a NULL or an empty name\. Name every"),
                ("['']", r"holds a NULL or an empty name\. Name every"),
            )
        ),
    ]


def sensitive_refused(name: str) -> list[tuple[str, str]]:
    """Calls that name no sensitive column."""
    return [
        (f"{name}('{TWO}', ['a', 'b'], {sensitive})", rf"{name}: sensitive {message}")
        for sensitive, message in (
            ("NULL", r"must be the name of one column\. Name the column"),
            ("''", r"must be the name of one column\. Name the column"),
            ("['s']", r"must be the name of one column\. Name the column"),
            ("3", r"must be the name of one column\. Name the column"),
            ("'B'", r"is also in qi, .* Leave it out of qi"),
        )
    ]


def unsaid_by_the_shell(refused: list[tuple[str, str]], folder: Path) -> list[str]:
    """What DuckDB's own shell says of these calls where it is not the message."""
    done = run_shell("\n".join(f"SELECT count(*) FROM {call};" for call, _ in refused), folder, "-csv")
    assert done.stdout.strip() == ""
    said = [found for found in done.stderr.splitlines() if found.startswith("Invalid Input Error: ")]
    assert len(said) == len(refused)
    return [found for found, (_, message) in zip(said, refused, strict=True) if not re.search(message, found)]
