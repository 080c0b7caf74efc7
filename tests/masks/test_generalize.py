"""Generalisation: k rows share what is released of the quasi-identifiers, and are as diverse as was asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kernels.test_mondrian import Rule, keeps, naive

pytestmark = pytest.mark.core

CALL = "generalize_mask('t', qi=['age', 'zip', 'sex'], sensitive='disease', k=5, l=3{})"


def patients(con: duckdb.DuckDBPyConnection, n: int = 1000) -> None:
    con.execute(
        f"""
        CREATE OR REPLACE TABLE t AS SELECT i AS id, (20 + hash(i) % 50)::TINYINT AS age,
               ['1' || hash(i, 5) % 9, '2' || hash(i, 6) % 3][(1 + hash(i, 4) % 2)::INTEGER] AS zip,
               ['m', 'f'][(1 + hash(i, 1) % 2)::INTEGER]::ENUM('m', 'f') AS sex,
               ['flu', 'flu', 'cold', 'cold', 'asthma', 'gout', 'measles', 'mumps'][(1 + hash(i, 2) % 8)::INTEGER] AS disease
        FROM range({n}) r(i)
        """
    )


def covers(text: str, value: Any, levels: list[str] | None) -> bool:
    """Whether the text of a group speaks of a value; ``levels`` are those of a category in their order."""
    if levels is None:
        low, _, high = text.partition("..")
        return type(value)(low) <= value <= type(value)(high or low)
    return text == "*" or str(value) in text.split("|")


@given(
    rows=st.lists(st.tuples(st.integers(-5, 20), st.sampled_from("abcde"), st.integers(0, 4)), min_size=4, max_size=60),
    rule=st.builds(
        Rule, st.integers(2, 5), st.sampled_from([None, 2, 3]), st.sampled_from(["frequency", "distinct", "entropy"])
    ),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_law(con: duckdb.DuckDBPyConnection, rows: list[tuple[int, str, int]], rule: Rule) -> None:
    con.execute("CREATE OR REPLACE TABLE t (id INTEGER, age INTEGER, zip VARCHAR, disease INTEGER)")
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [[i, *row] for i, row in enumerate(rows)])
    diverse = "" if rule.l is None else f", sensitive='disease', l={rule.l}, diversity='{rule.diversity}'"
    call = f"generalize_mask('t', qi=['age', 'zip'], k={rule.k}{diverse}, group_id=true)"
    if not keeps(rule, [row[2] for row in rows]):
        with pytest.raises(
            duckdb.InvalidInputException, match=r"the largest l possible is|no l of 2 or more|k = \d needs"
        ):
            con.execute(f"FROM {call}").fetchall()
        return
    released = con.execute(f"SELECT id, age, zip, disease, group_id FROM {call} ORDER BY id").fetchall()
    assert [row[0] for row in released] == list(range(len(rows))), "rows one for one"
    assert [row[3] for row in released] == [row[2] for row in rows], "other columns as they are"
    zips = sorted({row[1] for row in rows})
    boxes = defaultdict(list)
    for (age, zip_, _), (_, age_text, zip_text, disease, group) in zip(rows, released, strict=True):
        assert covers(age_text, age, None)
        assert covers(zip_text, zip_, zips)
        boxes[age_text, zip_text].append((disease, group))
    for members in boxes.values():
        assert keeps(rule, [disease for disease, _ in members])
        assert len({group for _, group in members}) == 1, "a group is known by its texts"
    groups = defaultdict(list)
    for i, *_, group in released:
        groups[group].append(i)
    assert set(groups) == set(range(1, len(groups) + 1))
    table = [(age, zips.index(zip_)) for age, zip_, _ in rows]
    expected = naive(table, [row[2] for row in rows], rule, place=lambda value: value)
    assert sorted(groups.values()) == sorted(sorted(each) for each in expected)


def test_by_plain_group_by(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    con.execute(f"CREATE TABLE r AS FROM {CALL.format('')}")
    assert con.sql("FROM r").columns == ["id", "age", "zip", "sex", "disease"]
    assert [str(kind) for kind in con.sql("FROM r").types] == ["BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"]
    [(k, share, groups)] = con.execute(
        """
        SELECT min(n), max(most / n), count(*) FROM (
            SELECT age, zip, sex, sum(c) AS n, max(c) AS most
            FROM (SELECT age, zip, sex, disease, count(*) AS c FROM r GROUP BY ALL) GROUP BY ALL)
        """
    ).fetchall()
    assert k >= 5
    assert share <= 1 / 3
    assert groups > 30
    joined = "SELECT count(*) FROM t JOIN r USING (id) WHERE t.disease = r.disease"
    assert con.execute(joined).fetchall() == [(1000,)]


def test_texts(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT * REPLACE (rank::ENUM('low', 'mid', 'high') AS rank) FROM (VALUES
            (1, 1.50::DECIMAL(5, 2), DATE '2020-01-31', 'low', true, 'a', TIMESTAMP '2020-01-01 10:00:00'),
            (2, -2.25, DATE '2020-02-01', 'low', true, 'b', TIMESTAMP '2020-01-01 10:00:00'),
            (3, 7.00, DATE '2021-01-01', 'high', false, 'a', TIMESTAMP '2020-01-02 10:00:00'),
            (4, 8.00, DATE '2021-01-01', 'mid', false, 'c', TIMESTAMP '2020-01-03 10:30:00'))
            v(id, amount, day, rank, flag, letter, moment)
        """
    )

    def texts(column: str, *others: str) -> list[str]:
        qi = [column, *others]
        found = con.execute(f"SELECT {column} FROM generalize_mask('t', qi={qi}, k=2) ORDER BY id").fetchall()
        return [row[0] for row in found]

    assert texts("amount") == ["-2.25..1.50", "-2.25..1.50", "7.00..8.00", "7.00..8.00"]
    assert texts("day") == ["2020-01-31..2020-02-01"] * 2 + ["2021-01-01"] * 2
    assert texts("rank") == ["low", "low", "mid|high", "mid|high"], "in the order of the enum"
    assert texts("flag") == ["true", "true", "false", "false"]
    assert texts("letter") == ["a", "b|c", "a", "b|c"]
    assert texts("moment") == ["2020-01-01 10:00:00"] * 2 + ["2020-01-02 10:00:00..2020-01-03 10:30:00"] * 2
    whole = con.execute(
        "SELECT DISTINCT rank, flag, letter, amount FROM generalize_mask('t', qi=['rank', 'flag', 'letter', 'amount'], k=4)"
    )
    assert whole.fetchall() == [("*", "*", "*", "-2.25..8.00")]


def test_numbers_too_large_for_a_double_are_told_apart(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT 9007199254740992 + i // 2 AS x FROM range(6) r(i)")
    found = con.execute(
        "SELECT x, count(*) FROM generalize_mask('t', qi='x', k=2) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert found == [("9007199254740992", 2), ("9007199254740993", 2), ("9007199254740994", 2)]


def test_the_same_rows_whatever_the_threads_and_the_order(con: duckdb.DuckDBPyConnection) -> None:
    patients(con, 20_000)
    query = f"FROM {CALL.format(', group_id=true')}"
    first = con.execute(query).fetchall()
    con.execute("SET threads = 2; CREATE OR REPLACE TABLE t AS FROM t ORDER BY hash(id, 7)")
    assert con.execute(query).fetchall() == first
    con.execute("SET default_order = 'DESC'; SET default_null_order = 'NULLS FIRST'")
    last = con.execute(query).fetchall()
    con.execute("RESET default_order; RESET default_null_order")
    assert last == first


def test_the_order_of_rows_tells_nothing_of_what_was_generalised(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(1000) r(i)")
    con.execute("CREATE TABLE u AS SELECT 999 - i AS age FROM range(1000) r(i)")
    released = [con.execute(f"FROM generalize_mask('{name}', qi='age', k=5)").fetchall() for name in ("t", "u")]
    assert released[0] == released[1]


def test_groups_and_dropped_columns(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    released = con.sql("FROM " + CALL.format(", group_id=true, drop=['id', 'DISEASE']"))
    assert released.columns == ["age", "zip", "sex", "group_id"]
    assert str(released.types[-1]) == "BIGINT"
    rows = released.fetchall()
    assert len({row[3] for row in rows}) == len({row[:3] for row in rows}) == len(set(rows))
    assert min(Counter(row[3] for row in rows).values()) >= 5


def test_names_that_need_quotes_and_a_view_over_the_call(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""CREATE TABLE t AS SELECT i % 50 AS "Äge ""in"" years", i % 4 AS "select" FROM range(400) r(i)""")
    con.execute("""CREATE VIEW v AS FROM generalize_mask('t', qi='Äge "in" years', sensitive='select', k=20, l=2)""")
    assert con.sql("FROM v").columns == ['Äge "in" years', "select"]
    assert con.execute("SELECT count(*) FROM v").fetchall() == [(400,)]


def test_a_sensitive_column_without_l_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    alone = "FROM generalize_mask('t', qi=['age', 'zip', 'sex'], k=5{})"
    with pytest.raises(duckdb.InvalidInputException, match="sensitive is given without l"):
        con.execute(alone.format(", sensitive='disease'"))


@pytest.mark.parametrize("source", ["view", "file", "select", "temporary"])
def test_sources(con: duckdb.DuckDBPyConnection, tmp_path: Path, source: str) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, (i * 7 % 50)::INTEGER AS age, DATE '2020-01-01' + (i * 13 % 70)::INTEGER AS day, "
        "'z' || i % 5 AS zip, i * 1.5 AS x, i % 3 = 0 AS flag, i % 7 AS disease FROM range(500) r(i)"
    )
    con.execute(f"CREATE VIEW v AS FROM t; COPY t TO '{tmp_path}/t.parquet'; CREATE TEMP TABLE scratch AS FROM t")
    name = {
        "view": "v",
        "file": f"{tmp_path}/t.parquet",
        "select": "(SELECT * FROM t WHERE id >= 0)",
        "temporary": "scratch",
    }[source]
    call = "FROM generalize_mask('{}', qi=['age', 'day', 'zip', 'x', 'flag'], sensitive='disease', k=5, l=3, group_id=true)"
    assert con.execute(call.format(name)).fetchall() == con.execute(call.format("t")).fetchall()


def test_a_view_that_changes_with_every_read_is_read_once(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW v AS SELECT i AS id, (random() * 100)::INTEGER AS age FROM range(1000) r(i)")
    assert con.execute("SELECT count(*) FROM generalize_mask('v', qi='age', k=5)").fetchall() == [(1000,)]


def test_a_temporary_table_of_the_same_name_is_noticed(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(100) r(i)")
    con.execute("CREATE TEMP TABLE t AS SELECT 'x' || i % 5 AS age FROM range(100) r(i)")
    with pytest.raises(
        duckdb.InvalidInputException, match='qi column "age" is of another type than the call was planned'
    ):
        con.execute("FROM generalize_mask('t', qi='age', k=5)").fetchall()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("qi=['age'], k=1", "k must be at least 2: with less nothing is protected, got 1"),
        ("qi=['age']", "parameter 'k' is missing: the least number of rows"),
        ("qi=['age'], k=5, sensitive='disease', l=1", "l must be at least 2"),
        ("qi=['age'], k=5, l=3", "l needs the column that is to be diverse: sensitive := "),
        ("qi=['age'], k=5, diversity='entropy'", "diversity says what l means, and l is not given"),
        ("qi=['age'], k=5, sensitive='disease', l=3, diversity='recursive'", "diversity takes one of 'frequency', 'distinct', 'entropy'"),
        ("qi=[]::VARCHAR[], k=5", "qi is empty"),
        ("qi=['agee'], k=5", 'qi names column "agee", which does not exist. Did you mean "age"'),
        ("qi=['age', 'Age'], k=5", 'qi names column "age" twice'),
        ("qi=['age', 'disease'], k=5, sensitive='disease', l=3", 'column "disease" is in both qi and sensitive'),
        ("qi=['age'], k=5, drop='age'", 'column "age" is in both qi and drop'),
        ("qi=['list'], k=5", r'qi names column "list" of type INTEGER\[\]; only numbers, dates, texts, enums and booleans'),
        ("qi=['gap', 'age'], k=5", 'qi column "gap" has NULL in 5 of 1000 rows; leave such rows out with a SELECT in tbl, or fill'),
        ("qi=['age'], k=5, sensitive='gap', l=3", 'sensitive column "gap" has NULL in 5 of 1000 rows'),
        ("qi=['bad'], k=5", 'qi column "bad" holds NaN or infinity'),
        ("qi=['name'], k=5", 'qi column "name" has 1,001 levels, and 1,000 at most make a category; group them in tbl'),
        ("qi=['age'], k=1001", "k = 1001 needs at least 1001 rows, and there are 1000"),
        ("qi=['age'], k=5, sensitive='disease', l=5",
         'l = 5 by frequency needs that no value has more than 1/5 of the rows, and column "disease" does not have that in all 1000 rows '
         "together; the largest l possible is 3"),
        ("qi=['age'], k=5, sensitive='disease', l=7, diversity='distinct'",
         "l = 7 by distinct needs 7 distinct values, .*; the largest l possible is 6"),
        ("qi=['age'], k=5, sensitive='disease', l=6, diversity='entropy'",
         "l = 6 by entropy needs an entropy of at least ln 6, .*; the largest l possible is 5"),
        ("qi=['age'], k=5, sensitive='same', l=2", "no l of 2 or more is possible"),
    ],
)  # fmt: skip
def test_bad_input_is_told(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    patients(con)
    con.execute(
        "CREATE OR REPLACE TABLE t AS SELECT *, if(id > 4, id, NULL) AS gap, if(id = 7, 'nan'::DOUBLE, id) AS bad, "
        "'name ' || id AS name, [1] AS list, 5 AS same FROM t"
    )
    if "'name'" in call:
        con.execute("INSERT INTO t SELECT * REPLACE (id + 1000 AS id, 'another' AS name) FROM t LIMIT 1")
    with pytest.raises(duckdb.InvalidInputException, match=f"generalize_mask.*{message}") as refused:
        con.execute(f"FROM generalize_mask('t', {call})").fetchall()
    assert not any(value in str(refused.value) for value in ("flu", "mumps", "asthma"))


def test_names_that_are_taken(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS group_id, i AS age FROM range(20) r(i)")
    assert con.execute("SELECT count(*) FROM generalize_mask('t', qi='age', k=5)").fetchall() == [(20,)]
    kept = con.sql("FROM generalize_mask('t', qi='age', k=5, group_id=true, drop='group_id')")
    assert kept.columns == ["age", "group_id"]
    with pytest.raises(duckdb.InvalidInputException, match='column "group_id" is called like a column of the result'):
        con.execute("FROM generalize_mask('t', qi='age', k=5, group_id=true)")
    con.execute("ALTER TABLE t RENAME group_id TO _pp_x")
    with pytest.raises(duckdb.InvalidInputException, match="names that begin with '_pp_' are ppduck's own"):
        con.execute("FROM generalize_mask('t', qi='age', k=5)")


def test_an_empty_table_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (age INTEGER)")
    with pytest.raises(duckdb.InvalidInputException, match='generalize_mask on "t": there are no rows'):
        con.execute("FROM generalize_mask('t', qi='age', k=5)").fetchall()


def test_too_many_combinations(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppduck.masks._cell_groups.MOST_CELLS", 99)
    con.execute("CREATE TABLE t AS SELECT i AS age FROM range(100) r(i)")
    with pytest.raises(duckdb.InvalidInputException, match="more than 99 combinations of values, which is too many"):
        con.execute("FROM generalize_mask('t', qi='age', k=5)").fetchall()
    assert con.execute("SELECT count(*) FROM generalize_mask('(FROM t LIMIT 99)', qi='age', k=5)").fetchall() == [(99,)]


def test_adult(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data}/adult.parquet'")
    qi = ["education", "salary", "sex", "race"]
    con.execute(f"CREATE TABLE r AS FROM generalize_mask('adult', qi={qi}, sensitive='occupation', k=5, l=3)")
    [(rows, groups, k, share)] = con.execute(
        f"SELECT sum(n), count(*), min(n), max(most / n) FROM (SELECT sum(c) AS n, max(c) AS most FROM "
        f"(SELECT {', '.join(qi)}, count(*) AS c FROM r GROUP BY {', '.join(qi)}, occupation) GROUP BY {', '.join(qi)})"
    ).fetchall()
    assert rows == 45222
    assert k >= 5
    assert share <= 1 / 3
    assert groups > 50


def test_levels_that_look_like_lists_are_quoted(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE OR REPLACE TABLE odd AS SELECT ['*', 'a', 'a|b', 'b', 'c', 'd'][1 + i % 6] AS x FROM range(60) AS r(i)"
    )
    texts = {text for (text,) in con.execute("SELECT DISTINCT x FROM generalize_mask('odd', qi='x', k=2)").fetchall()}
    assert texts == {'"*"', "a", '"a|b"', "b", "c", "d"}
    texts = {text for (text,) in con.execute("SELECT DISTINCT x FROM generalize_mask('odd', qi='x', k=20)").fetchall()}
    assert texts == {'"*"|a|"a|b"', "b|c|d"}
