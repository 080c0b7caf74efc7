"""Anatomy: two tables, groups of l different values, and chance that hangs on the secret, the data and the call."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ppduck
from tests.conftest import SECRET

pytestmark = pytest.mark.core


def mask(more: str = ", key='id'") -> str:
    return f"anatomy_mask('t', qi=['age', 'sex'], sensitive='disease', l=3{more})"


QIT, ST = mask(), mask(", key='id', part='st'")
WITH_ID = mask(", key='id', keep='id'")


def patients(con: duckdb.DuckDBPyConnection, n: int = 600, order: str = "i") -> None:
    con.execute(
        f"""
        CREATE OR REPLACE TABLE t AS SELECT i AS id, (20 + hash(i) % 50)::TINYINT AS age, ['f', 'm'][(1 + hash(i, 1) % 2)::INTEGER] AS sex,
               'name ' || i AS name,
               ['flu', 'flu', 'cold', 'cold', 'asthma', 'gout', 'measles', 'mumps'][(1 + hash(i, 2) % 8)::INTEGER]
                   ::ENUM('mumps', 'measles', 'gout', 'asthma', 'cold', 'flu') AS disease
        FROM range({n}) r(i) ORDER BY {order}
        """
    )


def test_the_law(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    qit, st_ = con.sql(f"FROM {QIT}"), con.sql(f"FROM {ST}")
    assert qit.columns == ["age", "sex", "group_id"]
    assert [str(kind) for kind in qit.types] == ["TINYINT", "VARCHAR", "BIGINT"]
    assert st_.columns == ["group_id", "disease", "count"]
    assert str(st_.types[1]) == "ENUM('mumps', 'measles', 'gout', 'asthma', 'cold', 'flu')"
    assert (str(st_.types[0]), str(st_.types[2])) == ("BIGINT", "BIGINT")
    rows, values = qit.fetchall(), st_.fetchall()
    original = con.execute("SELECT age, sex, disease FROM t").fetchall()
    assert Counter(row[:2] for row in rows) == Counter(row[:2] for row in original), "nobody is lost or changed"
    counts: Counter[str] = Counter()
    for _, value, count in values:
        counts[value] += count
    assert counts == Counter(row[2] for row in original)
    sizes = Counter(row[2] for row in rows)
    assert sizes == Counter({group: sum(c for g, _, c in values if g == group) for group in sizes})
    assert set(sizes) == set(range(1, 201))
    assert all(count == 1 and count / sizes[group] <= 1 / 3 for group, _, count in values)


@given(
    diseases=st.lists(st.integers(0, 6), min_size=4, max_size=60),
    wanted=st.integers(2, 5),
    seed=st.integers(0, 100),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_table_is_grouped_or_refused(
    con: duckdb.DuckDBPyConnection, diseases: list[int], wanted: int, seed: int
) -> None:
    con.execute("CREATE OR REPLACE TABLE few (id INTEGER, q INTEGER, d INTEGER)")
    con.executemany("INSERT INTO few VALUES (?, ?, ?)", [[i, i % 3, d] for i, d in enumerate(diseases)])
    call = f"anatomy_mask('few', qi='q', sensitive='d', l={wanted}, keep='id', seed={seed}"
    n, most = len(diseases), max(Counter(diseases).values())
    if most * wanted > n:
        largest = f"the largest l possible is {n // most}" if n // most > 1 else "no l of 2 or more is possible"
        with pytest.raises(
            duckdb.InvalidInputException, match=f"the most frequent one has {most} of {n}, so that {largest}"
        ):
            con.execute(f"FROM {call})").fetchall()
        return
    group = {row[1]: row[2] for row in con.execute(f"FROM {call})").fetchall()}
    assert sorted(group) == list(range(n))
    released = con.execute(f"SELECT group_id, d FROM {call}, part='st')").fetchall()
    assert sorted((group[i], d) for i, d in enumerate(diseases)) == released, "both tables have the same groups"
    assert len(set(released)) == n
    assert min(Counter(group.values()).values()) >= wanted


def test_what_is_kept_beside_and_the_part_do_not_change_the_groups(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    calls = [
        WITH_ID,
        mask(", key='ID', keep=['name', 'id']"),
        "anatomy_mask('t', qi=['sex', 'AGE'], sensitive='Disease', l=3, key='id', keep='id', part='qit')",
    ]
    kept, *others = (con.execute(f"SELECT id, group_id FROM {call} ORDER BY id").fetchall() for call in calls)
    assert [kept, kept] == others
    diseases = dict(con.execute("SELECT id, disease FROM t").fetchall())
    true = sorted((group, diseases[i]) for i, group in kept)
    assert true == sorted(con.execute(f"SELECT group_id, disease FROM {ST}").fetchall())


def test_threads_and_the_order_of_rows_do_not_matter(con: duckdb.DuckDBPyConnection) -> None:
    found = []
    for threads, order in ((1, "i"), (2, "hash(i)"), (2, "disease")):
        con.execute(f"SET threads = {threads}")
        patients(con, 20_000, order)
        found.append([con.execute(f"FROM {call}").fetchall() for call in (QIT, ST)])
    con.execute("SET default_order = 'DESC'; SET default_null_order = 'NULLS FIRST'")
    found.append([con.execute(f"FROM {call}").fetchall() for call in (QIT, ST)])
    con.execute("RESET default_order; RESET default_null_order")
    assert found[0] == found[1] == found[2] == found[3]


def test_groups_of_another_secret_call_or_table_are_others(con: duckdb.DuckDBPyConnection) -> None:
    def groups(where: duckdb.DuckDBPyConnection, more: str = ", key='id'", qi: str = "['age', 'sex']") -> np.ndarray:
        query = (
            f"SELECT group_id FROM anatomy_mask('t', qi={qi}, sensitive='disease', l=3, keep='id'{more}) ORDER BY id"
        )
        return np.array(where.execute(query).fetchall())[:, 0]

    patients(con)
    first = groups(con)
    assert (first == groups(con)).all()
    others = [groups(con, ", key='id', seed=1"), groups(con, ", key='id', seed=2"), groups(con, qi="['age']")]
    with ppduck.connect(secret=SECRET + " 2") as other:
        patients(other)
        others.append(groups(other))
    with ppduck.connect(secret=SECRET) as same:
        patients(same)
        assert (first == groups(same)).all()
        assert (groups(same, ", key='id', seed=1") == others[0]).all()
    con.execute("UPDATE t SET age = age + 1 WHERE id = 3")
    others.append(groups(con))
    for other in others:
        assert (first == other).mean() < 0.05


def test_neither_the_order_of_rows_nor_their_group_tells_the_value(con: duckdb.DuckDBPyConnection) -> None:
    """The worst of tables: sorted by disease. Within groups the place of a row must not go with its disease."""
    patients(con, 6000, "disease, i")
    rows = con.execute(f"SELECT id, group_id FROM {WITH_ID}").fetchall()
    diseases = dict(con.execute("SELECT id, disease::VARCHAR FROM t").fetchall())
    assert [group for _, group in rows] == sorted(group for _, group in rows)
    first: dict[int, str] = {}
    for i, group in rows:
        first.setdefault(group, diseases[i])
    flu = np.mean([disease == "flu" for disease in first.values()])
    assert flu == pytest.approx(1 / 4, abs=4 * np.sqrt(3 / 16 / 2000)), "as often as in the table"
    groups = np.array([group for _, group in rows])
    for disease in set(diseases.values()):
        mine = groups[[diseases[i] == disease for i, _ in rows]]
        assert mine.mean() == pytest.approx(1000, abs=4 * 577 / np.sqrt(len(mine)))


def test_the_two_tables_joined_tell_no_more_than_one_in_l(con: duckdb.DuckDBPyConnection) -> None:
    """Sex determines the disease here; joined by group, men have the diseases of women as often as their own."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 60 AS age, ['f', 'm'][1 + i % 2] AS sex, "
        "if(i % 2 = 0, 'f', 'm') || (i // 2 % 3) AS disease FROM range(6000) r(i)"
    )
    con.execute(f"CREATE TABLE qit AS FROM {QIT}; CREATE TABLE st AS FROM {ST}")
    [(share,)] = con.execute(
        "SELECT count(*) FILTER (sex = disease[1]) / count(*) FROM qit JOIN st USING (group_id)"
    ).fetchall()
    guessed = con.execute(
        "SELECT sex, disease, n / sum(n) OVER (PARTITION BY sex) FROM "
        "(SELECT sex, disease, count(*) AS n FROM qit JOIN st USING (group_id) GROUP BY ALL)"
    ).fetchall()
    assert share < 0.65, "three draws of six diseases: the own one, and two of five"
    assert max(part for *_, part in guessed) < 1 / 3


@pytest.mark.parametrize("source", ["table", "view", "file", "select", "temporary"])
def test_sources(con: duckdb.DuckDBPyConnection, tmp_path: Path, source: str) -> None:
    patients(con)
    con.execute("ALTER TABLE t ALTER disease TYPE VARCHAR")  # a file knows no enum
    con.execute(f"CREATE VIEW v AS FROM t; COPY t TO '{tmp_path}/t.parquet'; CREATE TEMP TABLE scratch AS FROM t")
    name = {
        "table": "t",
        "view": "v",
        "file": f"{tmp_path}/t.parquet",
        "select": "(SELECT * FROM t WHERE id >= 0)",
        "temporary": "scratch",
    }[source]
    call = f"anatomy_mask('{name}', qi=['age', 'sex'], sensitive='disease', l=3, key='id'"
    assert con.execute(f"FROM {call})").fetchall() == con.execute(f"FROM {QIT}").fetchall(), "the key alone counts"
    assert con.execute(f"FROM {call}, part='st')").fetchall() == con.execute(f"FROM {ST}").fetchall()


def test_without_a_key_a_view_of_equal_rows_is_always_the_same_and_equal_rows_are_spread(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS sex, ['a', 'b', 'c', 'd'][(1 + hash(i) % 4)::INTEGER] AS d FROM range(40000) r(i)"
    )
    con.execute("CREATE VIEW v AS FROM t; CREATE VIEW w AS FROM t ORDER BY hash(id); SET threads = 2")
    query = "SELECT group_id, list(sex ORDER BY sex) FROM anatomy_mask('{}', qi='sex', sensitive='d', l=2) GROUP BY ALL ORDER BY ALL"
    found = con.execute(query.format("v")).fetchall()
    assert found == con.execute(query.format("v")).fetchall() == con.execute(query.format("w")).fetchall()
    shares = Counter(sum(sexes) for _, sexes in found)
    assert shares[1] / len(found) == pytest.approx(0.5, abs=0.02), "as two rows of any sex meet"


def test_columns_that_are_not_named_are_left_out(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    assert con.sql("FROM " + mask(", keep=[]::VARCHAR[]")).columns == ["age", "sex", "group_id"]
    assert con.sql("FROM " + mask(", keep=['name']")).columns == ["age", "sex", "name", "group_id"]


def test_names_that_need_quotes_and_a_view_over_the_call(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """CREATE TABLE t AS SELECT i AS "row no", i % 5 AS "Äge ""in"" years", i % 4 AS "select" FROM range(40) r(i)"""
    )
    call = """anatomy_mask('t', qi='Äge "in" years', sensitive='select', l=4, key='row no', part='{}')"""
    con.execute(f"CREATE VIEW qit AS FROM {call.format('qit')}; CREATE VIEW st AS FROM {call.format('st')}")
    assert con.sql("FROM qit").columns == ['Äge "in" years', "group_id"]
    assert con.sql("FROM st").columns == ["group_id", "select", "count"]
    assert con.execute("SELECT count(*) FROM qit JOIN st USING (group_id)").fetchall() == [(160,)]


def test_nulls_among_the_quasi_identifiers_stay(con: duckdb.DuckDBPyConnection) -> None:
    patients(con)
    con.execute("UPDATE t SET age = NULL WHERE id < 9")
    assert con.execute(f"SELECT count(*) - count(age) FROM {QIT}").fetchall() == [(9,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("qi=['age'], sensitive='disease', l=1", "l must be at least 2: with less nothing is protected, got 1"),
        ("qi=['age'], sensitive='disease', l=2.5", "l takes a whole number of at least 2, got 2.5"),
        ("qi=['age'], sensitive='disease'", "parameter 'l' is missing"),
        ("qi=['age'], l=3", "parameter 'sensitive' is missing: the column whose values nobody may connect with a person"),
        ("sensitive='disease', l=3", "parameter 'qi' is missing"),
        ("qi=[]::VARCHAR[], sensitive='disease', l=3", "qi is empty; name at least one column"),
        ("qi=['agee'], sensitive='disease', l=3", 'qi names column "agee", which does not exist. Did you mean "age"?'),
        ("qi=['age'], sensitive='diseases', l=3", 'sensitive names column "diseases", which .* Did you mean "disease"?'),
        ("qi=['age', 'disease'], sensitive='disease', l=3", 'column "disease" is in both sensitive and qi'),
        ("qi=['age'], sensitive='disease', keep='Disease', l=3", 'column "disease" is in both sensitive and keep'),
        ("qi=['age'], sensitive='disease', key='disease', l=3", 'column "disease" is in both sensitive and key'),
        ("qi=['age'], sensitive='disease', keep='age', l=3", 'column "age" is in both qi and keep'),
        ("qi=['age'], sensitive='disease', l=3, part='both'", "part takes one of 'qit', 'st', got 'both'"),
        ("qi=['age'], sensitive='disease', l=3, key='sex'", 'key "sex" has only 2 values for 600 rows'),
        ("qi=['age'], sensitive='disease', l=3, key='gap'", 'key "gap" is NULL in 5 of 600 rows; every row needs a key'),
        ("qi=['age'], sensitive='gap', l=3", r'sensitive column "gap" has NULL in 5 of 600 rows; leave such rows out'),
        ("qi=['age'], sensitive='same', l=2", "the most frequent one has 600 of 600, so that no l of 2 or more is possible"),
    ],
)  # fmt: skip
def test_bad_input_is_told(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    patients(con)
    con.execute("ALTER TABLE t ADD COLUMN gap INTEGER; UPDATE t SET gap = id WHERE id > 4")
    con.execute("ALTER TABLE t ADD COLUMN same INTEGER DEFAULT 5")
    with pytest.raises(duckdb.InvalidInputException, match=f"anatomy_mask.*{message.replace('?', '[?]')}"):
        con.execute(f"FROM anatomy_mask('t', {call})").fetchall()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 AS group_id, id AS s", 'column "group_id" is called like a column of the result; rename it in tbl'),
        ("1 AS g, id AS count", 'column "count" is called like a column of the result'),
        ("1 AS _pp_g, id AS s", "names that begin with '_pp_' are ppduck's own"),
    ],
)
def test_names_that_are_taken(con: duckdb.DuckDBPyConnection, columns: str, message: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM (SELECT unnest(range(9)) AS id)")
    qi, sensitive = con.sql("FROM t").columns
    with pytest.raises(duckdb.InvalidInputException, match=message):
        con.execute(f"FROM anatomy_mask('t', qi='{qi}', sensitive='{sensitive}', l=3)").fetchall()


def test_an_empty_table_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (age INTEGER, sex VARCHAR, disease VARCHAR)")
    with pytest.raises(duckdb.InvalidInputException, match='anatomy_mask on "t": there are no rows'):
        con.execute(f"FROM {mask('')}").fetchall()


def test_the_refusal_does_not_name_the_value(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS age, 'f' AS sex, if(i < 60, 'leprosy', 'd' || i) AS disease FROM range(100) r(i)"
    )
    with pytest.raises(duckdb.InvalidInputException, match="has 60 of 100, so that no l of 2 or more") as refused:
        con.execute(f"FROM {mask('')}").fetchall()
    assert "leprosy" not in str(refused.value)


def test_adult(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    con.execute(f"CREATE TABLE adult AS SELECT row_number() OVER () AS id, * FROM '{reference_data}/adult.parquet'")
    call = "anatomy_mask('adult', qi=['age', 'sex', 'race'], sensitive='occupation', l=5, key='id'"
    con.execute(f"CREATE TABLE qit AS FROM {call}); CREATE TABLE st AS FROM {call}, part='st')")
    assert con.execute(
        "SELECT count(*), min(n), max(n) FROM (SELECT count(*) AS n FROM qit GROUP BY group_id)"
    ).fetchall() == [(45222 // 5, 5, 6)]
    assert con.execute("SELECT max(count), count(*) FROM st").fetchall() == [(1, 45222)]
