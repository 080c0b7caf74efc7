"""Tables of categories: anonymity and queries beside their GROUP BY, disclosure, optimal parameters and models alone."""

from __future__ import annotations

import duckdb

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import database
from tests.benchmarks.timing import COPY, beside_copy, interleaved, once

TIMES_THE_ROWS = 5  # of the other benchmarks: 10 million by default
ADULT = {"education": 16, "marital_status": 7, "sex": 2, "race": 5, "workclass": 7}  # 7,840 cells
GROUP_BY = "plain GROUP BY"
MOST_GENERALIZED = 1_000_000


def anonymity(report: Report, rows: int) -> None:
    """k_anonymity at most 1.5 times the GROUP BY that it rests on, for few groups and for very many."""
    rows *= TIMES_THE_ROWS
    for groups in (5_000, 1_000_000):
        report.section(f"{rows:,} rows, about {groups:,} groups of two columns, in memory")
        with database("memory") as con:
            con.execute(
                f"CREATE TABLE t AS SELECT (hash(i) % {groups // 50})::INTEGER AS zip, (hash(i + 1) % 50)::INTEGER AS age, "
                f"(hash(i + 2) % 10)::INTEGER AS disease FROM range({rows}) AS r(i)"
            )
            works = {
                # As a subquery, so that the groups are made and not fetched.
                GROUP_BY: lambda: _read(
                    con, "SELECT count(*) FROM (SELECT zip, age, count(*) AS n FROM t GROUP BY ALL) WHERE n > 0"
                ),
                "k_anonymity": lambda: _read(con, "FROM k_anonymity('t', ['zip', 'age'])"),
                "l_diversity": lambda: _read(con, "FROM l_diversity('t', ['zip', 'age'], 'disease')"),
                "t_closeness": lambda: _read(con, "FROM t_closeness('t', ['zip', 'age'], 'disease')"),
            }
            found = interleaved(works, repeats=3)
        report.add(Line(GROUP_BY, found[GROUP_BY], 1.0))
        for name in list(works)[1:]:
            most = 1.5 if name == "k_anonymity" else None
            report.add(Line.against(f"{name} (times the GROUP BY)", found[name], found[GROUP_BY], most))


def generalize(report: Report, rows: int) -> None:
    """generalize_mask of a number and a category, by time and beside a copy."""
    rows = min(rows, MOST_GENERALIZED)
    report.section(f"{rows:,} rows, a number and a category in qi, k = 5, in memory")
    with database("memory") as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS id, (hash(i) % 90)::INTEGER AS age, 'z' || hash(i + 1) % 40 AS zip, "
            f"'d' || hash(i + 2) % 10 AS disease FROM range({rows}) AS r(i)"
        )
        selects = {
            "generalize_mask": "FROM generalize_mask('t', qi=['age','zip'], k=5)",
            "generalize_mask, l = 3": "FROM generalize_mask('t', qi=['age','zip'], k=5, sensitive='disease', l=3)",
        }
        found = beside_copy(con, "t", selects, repeats=3)
    report.add(Line(COPY, found[COPY], 1.0))
    for name in selects:
        report.add(Line.against(name, found[name], found[COPY]))


def queries(report: Report, rows: int) -> None:
    rows *= TIMES_THE_ROWS
    report.section(f"{rows:,} published answers, rr_query beside the same query, in memory")
    with database("memory") as con:
        con.execute(
            f"CREATE TABLE published AS SELECT (hash(i) % 2)::INTEGER AS a, (hash(i + 1) % 5)::INTEGER AS b, "
            f"(hash(i + 2) % 60)::INTEGER AS age FROM range({rows}) AS r(i)"
        )
        query = "SELECT a, b, count(*) FROM published WHERE age > 30 GROUP BY CUBE (a, b)"
        works = {
            "plain query": lambda: _read(con, query),
            "rr_query": lambda: _read(con, f"FROM rr_query('{query}', p={{'a': 0.9, 'b': 0.8}})"),
        }
        found = interleaved(works, repeats=3)
    report.add(Line("plain query", found["plain query"], 1.0))
    report.add(Line.against("rr_query", found["rr_query"], found["plain query"]))


def disclosure(report: Report, rows: int) -> None:
    """On a table of Adult's shape: 45,222 rows, 1,120 groups, 7,840 cells, and ten binary columns."""
    report.section("45,222 rows of Adult's shape (7,840 cells), seconds")
    qi = "['education', 'marital_status', 'sex', 'race']"
    with database("memory") as con:
        columns = ", ".join(
            f"(sqrt(hash(i + {k}) % {size * size}))::INTEGER AS {name}" for k, (name, size) in enumerate(ADULT.items())
        )
        con.execute(f"CREATE TABLE adult AS SELECT {columns} FROM range(45222) AS r(i)")
        bits = ", ".join(f"((hash(i) >> {k}) % 3 % 2)::INTEGER AS x{k}" for k in range(10))
        con.execute(f"CREATE TABLE bits AS SELECT {bits} FROM range(45222) AS r(i)")
        pairs = ", ".join(f"x{i}*x{j}" for i in range(10) for j in range(i))
        works = {
            "attribute_disclosure": f"FROM attribute_disclosure('adult', qi={qi}, sensitive='workclass', p=0.9)",
            "rr_optimize, l = 3": f"FROM rr_optimize('adult', qi={qi}, sensitive='workclass', l=3)",
            "loglinear_fit, all pairs of ten": f"FROM loglinear_fit('bits', {[f'x{k}' for k in range(10)]}, '{pairs}')",
        }
        for name, query in works.items():
            report.add(Line(name, _read(con, query), None))


def _read(con: duckdb.DuckDBPyConnection, query: str) -> float:
    return once(lambda: con.execute(query).fetchall())
