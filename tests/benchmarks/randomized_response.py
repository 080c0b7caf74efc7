"""Randomized response beside a copy of the table, and reconstruction beside the GROUP BY that it cannot do without."""

from __future__ import annotations

import duckdb

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import database
from tests.benchmarks.timing import COPY, beside_copy, interleaved, once

TIMES_THE_ROWS = 5  # of the other benchmarks: 10 million by default
CELLS = {"a": 2, "b": 3, "c": 5, "d": 7}
GROUP_BY = "plain GROUP BY"


def masks(report: Report, rows: int) -> None:
    rows *= TIMES_THE_ROWS
    for where in ("file", "memory"):
        for kind in ("text", "enum"):
            report.section(f"{rows:,} answers, 2 of 5 columns randomized, {kind} columns, {where} database")
            with database(where) as con:
                _survey(con, rows, kind)
                selects = {
                    "rr_mask": "FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8})",
                    "rr_mask by key": "FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')",
                    "pram_mask, invariant": "FROM pram_mask('survey', conf=['gender', 'disease'], p=0.8, invariant=true)",
                }
                found = beside_copy(con, "survey", selects, repeats=3)
            report.add(Line("copy", found[COPY], 1.0))
            for name in selects:
                most, aim = (6.0, 4.0) if name.startswith("rr_mask") else (None, None)
                report.add(Line.against(name, found[name], found[COPY], most, aim))


def reconstruction(report: Report, rows: int) -> None:
    rows *= TIMES_THE_ROWS
    names = ", ".join(CELLS)
    call = f"rr_reconstruct('published', {list(CELLS)}, p=0.9)"
    for kind in ("text", "integer"):
        report.section(
            f"{rows:,} published answers, 4 attributes of {' × '.join(map(str, CELLS.values()))} {kind} levels"
        )
        with database("memory") as con:
            _published(con, rows, kind)
            works = {
                GROUP_BY: lambda: _read(con, f"SELECT {names}, count(*) FROM published GROUP BY ALL"),
                "rr_reconstruct": lambda: _read(con, f"FROM {call}"),
            }
            found = interleaved(works, repeats=5)
        report.add(Line(GROUP_BY, found[GROUP_BY], 1.0))
        report.add(Line.against("rr_reconstruct (times the GROUP BY)", found["rr_reconstruct"], found[GROUP_BY], 2.0))


def _read(con: duckdb.DuckDBPyConnection, query: str) -> float:
    return once(lambda: con.execute(query).fetchall())


def _survey(con: duckdb.DuckDBPyConnection, rows: int, kind: str) -> None:
    gender, disease = ("", "") if kind == "text" else ("::ENUM('female', 'male')", "::ENUM('anemia', 'cancer', 'flu')")
    con.execute(
        f"""
        CREATE TABLE survey AS
        SELECT i AS id, ['female', 'male'][1 + (hash(i * 10) % 2)::INTEGER]{gender} AS gender,
               ['anemia', 'cancer', 'flu'][1 + (hash(i * 10 + 1) % 3)::INTEGER]{disease} AS disease,
               20 + (hash(i * 10 + 2) % 60)::INTEGER AS age, hash(i * 10 + 3) / 1e15 AS income
        FROM range({rows}) AS r(i)
        """
    )


def _published(con: duckdb.DuckDBPyConnection, rows: int, kind: str) -> None:
    level = "(hash(i * 10 + {k}) % {size})::INTEGER" if kind == "integer" else "'level ' || hash(i * 10 + {k}) % {size}"
    columns = ", ".join(f"{level.format(k=k, size=size)} AS {name}" for k, (name, size) in enumerate(CELLS.items()))
    con.execute(f"CREATE TABLE published AS SELECT {columns} FROM range({rows}) AS r(i)")
