"""Columns of a release that repeat confidential ones: what is found, and what is let through."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from ppduck.dbt.copies import copies
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified

ROWS = 500


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE o AS SELECT i AS id, i % 3 AS part, hash(i) % 100000 / 7 AS income, "
            "['a', 'b', 'c'][1 + (hash(i + 9999) % 3)::INT] AS plan, hash(i + 5000) % 80 AS age, "
            f"DATE '2020-01-01' + (hash(i + 777) % 900)::INT AS since FROM range({ROWS}) r(i)"
        )
        con.execute(
            "CREATE TABLE m AS SELECT * REPLACE (hash(id + 77) % 100000 / 7 AS income, "
            "CASE WHEN hash(id + 4) % 10 < 7 THEN plan ELSE 'b' END AS plan, "
            "since + (hash(id + 3) % 900)::INT AS since) FROM o"
        )
        yield con


def types(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    return {row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()}


def found(
    con: duckdb.DuckDBPyConnection, masked: str, conf: list[str], key: list[str] | None = None
) -> dict[str, float]:
    statement = copies(("o", masked), (types(con, "o"), types(con, masked)), conf, key or ["id"])
    if statement is None:
        return {}
    written = qualified(sql.render(statement))
    rows = con.execute(f'SELECT rule, at_most, "value", meaning FROM {written}').fetchall()
    assert all(value > limit for _, limit, value, _ in rows)
    return {rule: value for rule, _, value, _ in rows}


@pytest.mark.parametrize(
    ("column", "conf"),
    [
        ("o.income", "income"),
        ("o.income::VARCHAR", "income"),
        ("printf('%.3f', o.income)", "income"),
        ("round(o.income, -2)", "income"),
        ("-o.income / 12 + 5", "income"),
        ("ln(o.income + 1)", "income"),
        ("CASE WHEN o.id % 10 = 0 THEN o.income ELSE m.income END", "income"),
        ("CASE WHEN o.id = 3 THEN o.income END", "income"),
        ("o.plan", "plan"),
        ("ascii(o.plan)", "plan"),
        ("o.since + INTERVAL 1 MONTH", "since"),
    ],
)
def test_copies_are_found(con: duckdb.DuckDBPyConnection, column: str, conf: str) -> None:
    masked = f'(SELECT m.*, {column} AS "be\'fore" FROM m JOIN o USING (id))'
    [(rule, value)] = found(con, masked, [conf]).items()
    assert rule == f"copy: be'fore repeats {conf}"
    assert 0.05 < value < 1 + 1e-9


@pytest.mark.parametrize(
    "column",
    [
        "m.income / 12",
        "m.plan",
        "upper(m.plan)",
        "m.income > 5000",
        "hash(m.id) % 1000",
        "o.income > 5000",
        "7",
        "NULL",
        "CASE WHEN m.id < 3 THEN hash(m.id) % 100 END",
        "[m.age]",
        "map {'age': m.age}",
    ],
)
def test_what_is_no_copy(con: duckdb.DuckDBPyConnection, column: str) -> None:
    assert found(con, f"(SELECT m.*, {column} AS more FROM m JOIN o USING (id))", ["income", "plan"]) == {}


def test_a_copy_under_the_name_of_another_column(con: duckdb.DuckDBPyConnection) -> None:
    masked = "(SELECT m.* REPLACE (CASE WHEN id % 2 = 0 THEN o.income ELSE m.age END AS age) FROM m JOIN o USING (id))"
    assert found(con, masked, ["Income"], ["ID", "part"]) == {"copy: age repeats Income": pytest.approx(1)}
    assert found(con, "m", ["income"]) == {}


def test_a_weak_mask_is_no_excuse(con: duckdb.DuckDBPyConnection) -> None:
    """The masked column tells nearly as much, which is for release_check to say; the copy tells more all the same."""
    weak = "(SELECT m.* REPLACE (o.income + id % 7 AS income), {} AS more FROM m JOIN o USING (id))"
    assert list(found(con, weak.format("o.income"), ["income"])) == ["copy: more repeats income"]
    assert found(con, weak.format("(o.income + id % 7) * 2"), ["income"]) == {}


def test_what_cannot_be_matched_is_left_to_release_check(con: duckdb.DuckDBPyConnection) -> None:
    assert copies(("o", "m"), (types(con, "o"), types(con, "m")), ["income"], ["no"]) is None
    assert copies(("o", "m"), (types(con, "o"), types(con, "m")), ["no"], ["id"]) is None
    assert copies(("o", "m"), ({"id": "INT", "x": "INT"}, {"id": "INT", "X": "INT"}), ["x"], ["id"]) is None


def test_macros_of_the_project_change_nothing(con: duckdb.DuckDBPyConnection) -> None:
    with con.cursor() as own:
        for name, parameters in (("hash", "a"), ("corr", "a, b"), ("greatest", "a, b"), ("abs", "a")):
            own.execute(f"CREATE TEMP MACRO {name}({parameters}) AS 0")
        masked = "(SELECT m.*, o.income AS before FROM m JOIN o USING (id))"
        assert list(found(own, masked, ["income"])) == ["copy: before repeats income"]
