"""Recoding: values lie in their ranges, rare levels hide in one, rows stay where they are."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.core

LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = 300_000
EVERYTHING = (
    "{'age': {'width': 5, 'top': 85}, 'income': {'bottom': 'p1', 'top': 'p99'}, "
    "'city': {'rare_below': 3000, 'as': 'elsewhere'}, 'zip': {'keep': 3, 'rare_below': 400}}"
)


def people(con: duckdb.DuckDBPyConnection, n: int = 1000) -> None:
    con.execute(
        f"""
        CREATE OR REPLACE TABLE t AS SELECT i AS id, (i * 7919 % 95)::TINYINT AS age,
               if(i % 50 = 0, NULL, (hash(i) % 1000003) / 8.0)::DOUBLE AS income,
               if(i % 9 = 0, NULL, 'city ' || floor(sqrt(hash(i, 2) % 900))::INTEGER) AS city,
               lpad((hash(i, 3) % 30000)::VARCHAR, 5, '0') AS zip, i % 2 = 0 AS flag
        FROM range({n}) r(i)
        """
    )


def column(con: duckdb.DuckDBPyConnection, values: list[Any], type_: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE t (id INTEGER, x {type_})")
    if values:
        con.executemany("INSERT INTO t VALUES (?, ?)", [[i, value] for i, value in enumerate(values)])


def recoded(con: duckdb.DuckDBPyConnection, rule: str, table: str = "t") -> list[Any]:
    query = f"SELECT x FROM recode_mask('{table}', recode={{'x': {rule}}})"
    return [value for (value,) in con.execute(query).fetchall()]


def holds(label: str, value: Decimal | int) -> bool:
    """Whether a value lies in the range of a label, as the help says how labels are read."""
    if label.startswith("<"):
        return value < Decimal(label[1:])
    if label.endswith("+"):
        return value >= Decimal(label[:-1])
    inner = re.fullmatch(r"\[(.+), (.+)\)", label)
    if inner:
        return Decimal(inner[1]) <= value < Decimal(inner[2])
    ends = re.fullmatch(r"(-?\d+)(?: to (-?\d+)|-(\d+))?", label)
    assert ends
    return int(ends[1]) <= value <= int(ends[2] or ends[3] or ends[1])


RANGES = st.sampled_from(
    ["'width': 7", "'width': 5, 'from': 2", "'width': 10, 'top': 20", "'width': 3, 'bottom': -10, 'top': 11", "'breaks': [-20, 0, 5]"]
)  # fmt: skip


@given(
    values=st.lists(st.none() | st.integers(-100, 100), max_size=40),
    rule=RANGES,
    type_=st.sampled_from(["TINYINT", "BIGINT", "HUGEINT", "DECIMAL(7,2)", "DOUBLE", "FLOAT"]),
)
@LAW
def test_every_value_lies_in_its_range(
    con: duckdb.DuckDBPyConnection, values: list[int | None], rule: str, type_: str
) -> None:
    column(con, values, type_)
    labels = recoded(con, f"{{{rule}}}")
    [(kind,)] = con.execute(f"SELECT DISTINCT column_type FROM (DESCRIBE FROM recode_mask('t', recode={{'x': {{{rule}}}}})) WHERE column_name = 'x'").fetchall()  # fmt: skip
    every = re.findall(r"'([^']+)'", kind)
    assert kind.startswith("ENUM(")
    assert len(labels) == len(values)
    for value, label in zip(values, labels, strict=True):
        assert (label is None) == (value is None)
        if value is not None:
            assert [each for each in every if holds(each, value)] == [label], "exactly one range holds it"
    pairs = sorted(
        (value, every.index(label)) for value, label in zip(values, labels, strict=True) if value is not None
    )
    assert [place for _, place in pairs] == sorted(place for _, place in pairs), "in the order of values"


@given(values=st.lists(st.decimals(-5, 5, places=3), min_size=1, max_size=40))
@LAW
def test_a_tenth_is_a_tenth(con: duckdb.DuckDBPyConnection, values: list[Decimal]) -> None:
    """0.3 // 0.1 is 2 to a machine; here 0.3 lies in [0.3, 0.4), in every type."""
    for type_ in ("DOUBLE", "FLOAT", "DECIMAL(9,3)"):
        column(con, [*values, Decimal("0.3"), Decimal("-0.7")], type_)
        labels = recoded(con, "{'width': 0.1}")
        assert all(holds(label, value) for label, value in zip(labels, values, strict=False))
        assert labels[-2:] == ["[0.3, 0.4)", "[-0.7, -0.6)"]


@given(values=st.lists(st.none() | st.integers(-50, 50), max_size=40))
@LAW
def test_lower_bounds_stay_when_they_are_recoded_again(
    con: duckdb.DuckDBPyConnection, values: list[int | None]
) -> None:
    column(con, values, "SMALLINT")
    rule = "{'width': 7, 'from': 3, 'top': 30, 'label': 'lower'}"
    once = recoded(con, rule)
    assert once == [None if v is None else 30 if v >= 30 else min(30, 3 + (v - 3) // 7 * 7) for v in values]
    column(con, once, "SMALLINT")
    assert recoded(con, rule) == once


@given(
    values=st.lists(st.none() | st.integers(-50, 50), max_size=40),
    bounds=st.tuples(st.none() | st.integers(-40, -1), st.none() | st.integers(0, 40)).filter(any),
    type_=st.sampled_from(["TINYINT", "DECIMAL(5,1)", "DOUBLE", "UTINYINT"]),
)
@LAW
def test_codes_of_extreme_values(
    con: duckdb.DuckDBPyConnection, values: list[int | None], bounds: tuple[int | None, int | None], type_: str
) -> None:
    bottom, top = bounds
    if type_ == "UTINYINT":
        values, bottom = [None if v is None else abs(v) for v in values], None
    if bottom is None and top is None:
        return
    column(con, values, type_)
    rule = ", ".join(f"'{n}': {v}" for n, v in (("bottom", bottom), ("top", top)) if v is not None)
    once = recoded(con, f"{{{rule}}}")
    low, high = -100 if bottom is None else bottom, 100 if top is None else top
    assert once == [None if v is None else max(low, min(v, high)) for v in values]
    assert con.sql(f"FROM recode_mask('t', recode={{'x': {{{rule}}}}})").types == con.sql("FROM t").types
    column(con, once, type_)
    assert recoded(con, f"{{{rule}}}") == once, "what is coded stays"


@given(values=st.lists(st.none() | st.integers(-500, 500), max_size=60), share=st.sampled_from([50, 75, 90, 99]))
@LAW
def test_codes_by_quantiles(con: duckdb.DuckDBPyConnection, values: list[int | None], share: int) -> None:
    """The top is the least value that a share of the values do not exceed; three must have it or exceed it."""
    column(con, values, "INTEGER")
    present = sorted(value for value in values if value is not None)
    top = next((v for i, v in enumerate(present) if (i + 1) * 100 >= share * len(present)), None)
    rule = f"{{'top': 'p{share}'}}"
    if top is not None and sum(value >= top for value in present) < 3:
        with pytest.raises(duckdb.InvalidInputException, match=f"top is 'p{share}', and fewer than 3 values are"):
            recoded(con, rule)
        return
    once = recoded(con, rule)
    assert once == [None if v is None or top is None else min(v, top) for v in values]
    assert sum(value > top for value in present if top is not None) * 100 <= (100 - share) * len(present)


def test_both_ends_by_quantiles_of_every_type(con: duckdb.DuckDBPyConnection) -> None:
    for type_ in ("SMALLINT", "HUGEINT", "DECIMAL(9,2)", "DOUBLE", "FLOAT"):
        con.execute(f"CREATE OR REPLACE TABLE t AS SELECT i AS id, (i * 37 % 200)::{type_} AS x FROM range(200) r(i)")
        assert recoded(con, "{'bottom': 'p5', 'top': 'p97.5'}") == [max(9, min(i * 37 % 200, 194)) for i in range(200)]
        assert con.sql("FROM recode_mask('t', recode={'x': {'top': 'p90'}})").types[1] == type_


@given(
    values=st.lists(st.none() | st.sampled_from(["a", "b", "b2", "cc", "ä", "ß1"]), max_size=40),
    rare_below=st.integers(2, 8),
    keep=st.none() | st.integers(1, 2),
)
@LAW
def test_every_level_is_had_by_enough_rows(
    con: duckdb.DuckDBPyConnection, values: list[str | None], rare_below: int, keep: int | None
) -> None:
    column(con, values, "VARCHAR")
    rule = f"{{'rare_below': {rare_below}{'' if keep is None else f', {chr(39)}keep{chr(39)}: {keep}'}}}"
    present = [value for value in values if value is not None]
    if 0 < len(present) < rare_below:
        with pytest.raises(duckdb.InvalidInputException, match=f'"x" has fewer than {rare_below} values in all'):
            recoded(con, rule)
        return
    once = recoded(con, rule)
    counts = Counter(value for value in once if value is not None)
    assert all(count >= rare_below for count in counts.values())
    before = Counter(value[:keep] for value in present)
    rare = {level for level, count in before.items() if count < rare_below}
    changed = {value[:keep] for value, new in zip(values, once, strict=True) if value is not None and new == "other"}
    assert rare <= changed
    assert len(changed - rare) <= 1, "one more level at most, and only where all rare ones together are rare"
    assert changed == rare or sum(before[level] for level in rare) < rare_below
    for value, new in zip(values, once, strict=True):
        assert new == (None if value is None else "other" if value[:keep] in changed else value[:keep])
    column(con, once, "VARCHAR")
    assert recoded(con, f"{{'rare_below': {rare_below}}}") == once, "what is recoded stays"


def test_the_rarest_level_in_order_joins(con: duckdb.DuckDBPyConnection) -> None:
    column(con, [*"aabbbcccdddd"], "VARCHAR")
    assert "".join(recoded(con, "{'rare_below': 3, 'as': '*'}")) == "*****cccdddd"
    assert "".join(recoded(con, "{'rare_below': 2, 'as': '*'}")) == "aabbbcccdddd"
    assert "".join(recoded(con, "{'rare_below': 4, 'as': '*'}")) == "********dddd"


def test_first_characters(con: duckdb.DuckDBPyConnection) -> None:
    column(con, ["01234", "9", "", None, "名前です", "a'\"b", "😀😀😀"], "VARCHAR")
    assert recoded(con, "{'keep': 2}") == ["01", "9", "", None, "名前", "a'", "😀😀"]


def test_enums_and_numbers_as_categories(con: duckdb.DuckDBPyConnection) -> None:
    column(con, ["lo", "hi", "hi", "mid", "mid", None], "ENUM('hi', 'lo', 'mid', 'unused')")
    assert recoded(con, "{'rare_below': 2}") == ["other"] * 3 + ["mid", "mid", None]
    assert str(con.sql("FROM recode_mask('t', recode={'x': {'rare_below': 2}})").types[1]) == "VARCHAR"
    assert recoded(con, "{'keep': 1}") == ["l", "h", "h", "m", "m", None]
    column(con, [1, 1, 2, 3, 3, None], "UTINYINT")
    assert recoded(con, "{'rare_below': 2, 'as': 9}") == [9, 9, 9, 3, 3, None]
    assert str(con.sql("FROM recode_mask('t', recode={'x': {'rare_below': 2, 'as': 9}})").types[1]) == "UTINYINT"


def test_columns_and_rows_stay_in_place(con: duckdb.DuckDBPyConnection) -> None:
    people(con)
    found = con.sql(f"FROM recode_mask('t', recode={EVERYTHING.replace('3000', '30').replace('400', '15')})")
    assert found.columns == ["id", "age", "income", "city", "zip", "flag"]
    rows, before = found.fetchall(), con.sql("FROM t").fetchall()
    assert [(row[0], row[5]) for row in rows] == [(row[0], row[5]) for row in before]
    for place in (2, 3):
        assert [row[place] is None for row in rows] == [row[place] is None for row in before]
    assert all(holds(row[1], old[1]) for row, old in zip(rows, before, strict=True))
    dropped = con.sql("FROM recode_mask('t', recode={'AGE': {'width': 5}}, drop=['Id', 'zip'])")
    assert dropped.columns == ["age", "income", "city", "flag"]


@pytest.mark.parametrize("table", ["t", "(SELECT * FROM t)", "v"])
def test_many_rows_keep_their_order_whatever_the_threads(con: duckdb.DuckDBPyConnection, table: str) -> None:
    people(con, MANY)
    con.execute("CREATE VIEW v AS SELECT * FROM t")
    call = f"recode_mask('{table}', recode={EVERYTHING})"
    results = []
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        con.execute(f"CREATE OR REPLACE TABLE released AS FROM {call}")
        for query in ("SELECT id FROM released ORDER BY rowid", f"SELECT id FROM {call}"):
            assert (con.execute(query).fetchnumpy()["id"] == range(MANY)).all()
        results.append(con.execute("SELECT * FROM released").fetchall())
        assert con.execute(f"SELECT * FROM {call} LIMIT 7").fetchall() == results[0][:7]
    assert results[0] == results[1]
    shares = con.execute("SELECT count(*) FILTER (city = 'elsewhere'), count(DISTINCT age), max(income) FROM released")
    [(elsewhere, ages, highest)] = shares.fetchall()
    assert elsewhere >= 3000
    assert ages == 18
    assert con.execute("SELECT count(*) FROM t WHERE income > ?", [highest]).fetchall()[0][0] <= MANY / 100


def test_what_a_row_becomes_does_not_hang_on_its_place(con: duckdb.DuckDBPyConnection) -> None:
    people(con, 3000)
    con.execute("CREATE TABLE shuffled AS FROM t ORDER BY hash(id, 9)")
    rule = EVERYTHING.replace("3000", "60").replace("400", "40")
    query = "SELECT * FROM recode_mask('{}', recode={}) ORDER BY id"
    assert con.execute(query.format("shuffled", rule)).fetchall() == con.execute(query.format("t", rule)).fetchall()


def test_tables_of_all_kinds(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(
        'CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."a ""table" AS SELECT 7 * i AS "the ""age", \'n\' || i AS "select" FROM range(9) r(i)'
    )
    path = tmp_path / "people.parquet"
    con.execute(f'COPY "my schema"."a ""table" TO \'{path}\'')
    rule = """{'the "age': {'width': 20, 'top': 40}, 'select': {'rare_below': 3}}"""
    expected = [("0-19", "other")] * 3 + [("20-39", "other")] * 3 + [("40+", "other")] * 3
    for table in ('"my schema"."a ""table"', str(path), '(SELECT * FROM "my schema"."a ""table" WHERE true)'):
        found = con.sql(f"FROM recode_mask('{table}', recode={rule})")
        assert found.columns == ['the "age', "select"]
        assert found.fetchall() == expected


def test_tables_without_rows_and_columns_without_values(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t (age INTEGER, income DOUBLE, city VARCHAR, zip VARCHAR)")
    query = f"FROM recode_mask('t', recode={EVERYTHING})"
    assert con.execute(query).fetchall() == []
    con.execute("INSERT INTO t VALUES (NULL, NULL, NULL, NULL)")
    assert con.execute(query).fetchall() == [(None, None, None, None)]


def test_other_masks_take_what_is_recoded(con: duckdb.DuckDBPyConnection) -> None:
    people(con)
    rules = "{'age': {'width': 20, 'bottom': 20, 'top': 60}, 'city': {'rare_below': 200}}"
    con.execute(f"CREATE VIEW recoded AS FROM recode_mask('t', recode={rules}, drop=['zip'])")
    released = con.execute(
        "SELECT age, avg(income) FROM egadp_mask('recoded', conf=['income'], nonconf=['age'], key='id') GROUP BY age ORDER BY age"
    ).fetchall()
    before = con.execute("SELECT age, avg(income) FROM recoded GROUP BY age ORDER BY age").fetchall()
    assert [label for label, _ in released] == ["<20", "20-39", "40-59", "60+"]
    assert [mean for _, mean in released] == pytest.approx([mean for _, mean in before]), "EGADP keeps regressions"
    randomized = con.execute("SELECT age FROM rr_mask('recoded', p={'age': 0.7}, key='id')").fetchall()
    kept = sum(a == b for a, b in zip(randomized, con.execute("SELECT age FROM recoded").fetchall(), strict=True))
    assert 600 < kept < 800
    over = "SELECT age FROM recode_mask('(FROM rr_mask(''t'', p={''flag'': 0.8}, key=''id''))', recode={'age': {'width': 50}})"
    assert set(con.execute(over).fetchall()) == {("0-49",), ("50-99",)}


def test_a_view_goes_with_the_data(con: duckdb.DuckDBPyConnection) -> None:
    column(con, [3, 8], "INTEGER")
    con.execute("CREATE VIEW v AS FROM recode_mask('t', recode={'x': {'width': 5}})")
    assert con.execute("SELECT x FROM v").fetchall() == [("0-4",), ("5-9",)]
    con.execute("CREATE VIEW fixed AS FROM recode_mask('t', recode={'x': {'width': 5, 'bottom': 0, 'top': 10}})")
    con.execute("INSERT INTO t VALUES (2, 12)")
    assert con.execute("SELECT x FROM fixed").fetchall() == [("0-4",), ("5-9",), ("10+",)]
    if duckdb.__version__.startswith("1."):  # which holds a view to the types that it had
        with pytest.raises(duckdb.BinderException, match="Contents of view were altered: types don't match"):
            con.execute("FROM v")
        return
    assert con.execute("SELECT x FROM v").fetchall() == [("0-4",), ("5-9",), ("10-14",)]


def test_a_value_that_came_after_planning_is_refused(con: duckdb.DuckDBPyConnection) -> None:
    column(con, [3, 8], "INTEGER")
    con.execute("BEGIN; INSERT INTO t VALUES (2, 4711)")  # the planner's cursor does not see it
    try:
        with pytest.raises(duckdb.InvalidInputException, match=r'column "x" holds a value outside the ranges that were there when the call was planned\. Give bottom and top, or') as refused:  # fmt: skip
            recoded(con, "{'width': 5}")
        assert "4711" not in str(refused.value)
    finally:
        con.execute("ROLLBACK")
    assert recoded(con, "{'width': 5, 'bottom': 0, 'top': 5}") == ["0-4", "5+"]


@pytest.mark.parametrize("rule", ["{'width': 5}", "{'top': 5}", "{'breaks': [1]}", "{'top': 'p50'}"])
@pytest.mark.parametrize("odd", ["nan", "inf", "-inf"])
def test_nan_and_infinity_are_refused(con: duckdb.DuckDBPyConnection, rule: str, odd: str) -> None:
    column(con, [1.0, 2.0, 3.0, 4.0, 5.0, float(odd)], "DOUBLE")
    with pytest.raises(
        duckdb.InvalidInputException, match='recode_mask on "t": column "x" holds NaN or infinity; make'
    ):
        recoded(con, rule)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t'", "parameter 'recode' is missing: for each column what becomes of it"),
        ("'t', recode={'x': 5}", "recode takes {'column': {'option': value, …}, …}, such as"),
        ("'t', recode=MAP {}", "recode is empty; name at least one column"),
        ("'t', recode={'y': {'width': 5}}", 'recode names column "y", which does not exist. Columns: "id", "x"'),
        ("'t', recode={'x': {'width': 5}}, drop=['X']", 'column "x" is in both recode and drop'),
        ("'t', recode=MAP {'x': {'width': 5}, 'X': {'width': 4}}", 'recode names column "x" twice'),
        ("'t', recode={'x': {'breaks': [5], 'label': 'lower'}}", 'column "x" holds a value below the first of breaks, which has no'),
        ("'t', recode={'x': {'bottom': 90, 'top': 'p50'}}", 'column "x": bottom lies above top in these rows'),
        ("'(SELECT id, x - 50 AS x FROM t)', recode={'x': {'bottom': 0, 'top': 'p50'}}", 'column "x": bottom lies above top in these rows'),
        ("'t', recode={'x': {'rare_below': 2, 'as': 3}}", "column \"x\": rare levels become '3', which is a level of it already"),
        ("'t', recode={'x': {'top': 'p99'}, 'id': {'rare_below': 99, 'as': -1}}", 'column "id" has fewer than 99 values in all'),
        ("'mine', recode={'x': {'width': 5}}", 'the planner cannot see "mine".*make it a table or a view, and commit: recoding goes by its types'),
    ],
)  # fmt: skip
def test_bad_calls_are_told(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    column(con, [3, 3, 4, 8, 8, 9, 9], "INTEGER")
    con.execute("CREATE OR REPLACE TEMP TABLE mine AS FROM t")
    with pytest.raises(duckdb.InvalidInputException, match=f"(?s)recode_mask.*{message}"):
        con.execute(f"FROM recode_mask({call})").fetchall()


def test_several_faults_of_the_data_arrive_in_one_message(con: duckdb.DuckDBPyConnection) -> None:
    people(con, 100)
    rules = "{'income': {'top': 'p99.9'}, 'city': {'rare_below': 5000}, 'zip': {'rare_below': 101}}"
    with pytest.raises(duckdb.InvalidInputException, match=r"(?s)\"city\" has.*also: column \"zip\" has.*also: column \"income\": top"):  # fmt: skip
        con.execute(f"FROM recode_mask('t', recode={rules})").fetchall()


def explained(con: duckdb.DuckDBPyConnection, rules: str, more: str = "") -> list[tuple[str | None, str, str]]:
    return con.execute(f"FROM mask_explain('recode_mask', 't', recode={rules}{more})").fetchall()


def test_explanations(con: duckdb.DuckDBPyConnection) -> None:
    people(con)
    rules = EVERYTHING.replace("'age': {'width': 5, 'top': 85}", "'age': {'width': 50, 'top': 50, 'label': 'lower'}")
    rows = explained(con, rules, ", drop=['id']")
    assert [row for row in rows if row[0]] == [
        ("id", "dropped", "left out of the output"),
        ("age", "recoded", "replaced by the lower bound of its range, one of 2, from '0-49' to '50+', whose ends were asked of the data; NULL stays NULL"),
        ("income", "recoded", "values below the quantile p1 become it and values above the quantile p99 become it, all others stay; NULL stays NULL"),
        ("city", "recoded", "levels that fewer than 3000 rows have become 'elsewhere'; NULL stays NULL"),
        ("zip", "recoded", "replaced by its first 3 characters; levels that fewer than 400 rows have become 'other'; NULL stays NULL"),
        ("flag", "not used", "released as it is: drop it if it tells who somebody is"),
    ]  # fmt: skip
    told = [note for name, role, note in rows if role == "guaranteed"]
    assert len(told) == 2
    fixed = explained(con, "{'zip': {'keep': 1}, 'age': {'breaks': [5]}, 'income': {'top': 1000}}")
    assert ("zip", "recoded", "replaced by its first character; NULL stays NULL") in fixed
    assert ("age", "recoded", "replaced by its range, one of 2, from '<5' to '5+'; NULL stays NULL") in fixed
    assert ("income", "recoded", "values above 1000 become it, all others stay; NULL stays NULL") in fixed
    for part in ("the names of the ranges show it", "the same ranges, quantiles and levels"):
        assert any(part in note for _, _, note in rows)
        assert not any(part in note for _, _, note in fixed)
    lost = [note for _, role, note in fixed if role == "not guaranteed"]
    assert any("ask k_anonymity" in note for note in lost)


def test_an_explanation_refuses_what_the_mask_would(con: duckdb.DuckDBPyConnection) -> None:
    people(con, 10)
    with pytest.raises(
        duckdb.InvalidInputException, match='recode_mask on "t": column "age": its type is TINYINT, and keep'
    ):
        explained(con, "{'age': {'keep': 5}}")
