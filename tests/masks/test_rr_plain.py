"""rr_plain randomizes as rr_mask does, without Python: laws of chance, a reference in Python, refusals, DuckDB's shell."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

import ppduck
from tests.masks.test_egadp_plain import rows as rows_of_shell
from tests.masks.test_egadp_plain import shell
from tests.test_plain_sql import connection

pytestmark = pytest.mark.core

SECRET = "an example of a secret"
KEYED = f"secret := '{SECRET}', key := 'id'"
DISEASES = ["anemia", "cancer", "flu"]
SURVEY = """
    CREATE TABLE survey AS
    SELECT i AS id, ['anemia', 'cancer', 'flu'][1 + (i * 7 // 3) % 3] AS "Disease", i % 4 = 0 AS smoker,
           i % 5 AS visits, if(i % 10 = 0, NULL, 'a') AS gap, 'name ' || i AS name, TIMESTAMPTZ '2024-10-26 20:00:00+00' + i * INTERVAL 1 MINUTE AS at
    FROM range(20000) AS rows(i)
"""
CALL = f"rr_plain('survey', 'Disease', 0.8, {DISEASES}, {KEYED})"


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with connection() as con:
        con.execute(SURVEY)
        yield con


def fetched(con: duckdb.DuckDBPyConnection, call: str, column: str = "Disease") -> list[Any]:
    return [value for (value,) in con.execute(f'SELECT "{column}" FROM {call} ORDER BY id').fetchall()]


def within(kept: int, n: int, p: float) -> bool:
    """Whether a count is no further from its mean than five standard deviations."""
    return abs(kept - n * p) < 5 * math.sqrt(n * p * (1 - p))


# The law of chance


@pytest.mark.parametrize(
    ("column", "levels", "p"),
    [("Disease", DISEASES, 0.8), ("smoker", [False, True], 0.65), ("visits", [0, 1, 2, 3, 4], 0.3), ("visits", list(range(9)), 0.95)],
)  # fmt: skip
def test_a_value_is_kept_with_p_and_others_are_equally_likely(
    con: duckdb.DuckDBPyConnection, column: str, levels: list[Any], p: float
) -> None:
    call = f"rr_plain('survey', '{column}', {p}, {levels}, {KEYED})"
    truth, published = fetched(con, "survey", column), fetched(con, call, column)
    assert type(published[0]) is type(truth[0])
    assert within(sum(a == b for a, b in zip(truth, published, strict=True)), len(truth), p)
    for level in set(truth):
        moved = [b for a, b in zip(truth, published, strict=True) if a == level != b]
        counts = [moved.count(other) for other in levels if other != level]
        assert len(counts) == 1 or chisquare(counts).pvalue > 1e-3


def test_columns_are_randomized_independently(con: duckdb.DuckDBPyConnection) -> None:
    call = f"rr_plain('survey', ['Disease', 'smoker'], [0.5, 0.6], [{DISEASES}, ['false', 'true']], {KEYED})"
    both = f"""SELECT p."Disease" = t."Disease" AS a, p.smoker = t.smoker AS b, count(*) FROM {call} AS p JOIN survey AS t USING (id)
               GROUP BY ALL ORDER BY ALL"""
    counts = [count for *_, count in con.execute(both).fetchall()]
    assert within(counts[2] + counts[3], 20000, 0.5)
    assert within(counts[1] + counts[3], 20000, 0.6)
    assert chi2_contingency([counts[:2], counts[2:]]).pvalue > 1e-3
    alone = [f"rr_plain('survey', 'Disease', 0.5, {DISEASES}, {KEYED})", f"rr_plain('survey', 'smoker', 0.6, [true, false], {KEYED})"]  # fmt: skip
    assert fetched(con, call) == fetched(con, alone[0])  # one design, one draw, whatever stands beside it
    assert fetched(con, call, "smoker") == fetched(con, alone[1], "smoker")


@pytest.mark.parametrize("p", [0.9, 0.6])
def test_what_was_there_is_reconstructed(con: duckdb.DuckDBPyConnection, p: float) -> None:
    call = f"rr_plain('survey', ['Disease', 'smoker'], {p}, [{DISEASES}, ['false', 'true']], {KEYED})"
    con.execute(f"CREATE OR REPLACE TABLE published AS FROM {call}")
    found = con.execute(
        f"""SELECT estimate - truth, std_error FROM rr_reconstruct('published', ['Disease', 'smoker'], {p})
            JOIN (SELECT "Disease", smoker, count(*) / 20000 AS truth FROM survey GROUP BY ALL) USING ("Disease", smoker)"""
    ).fetchall()
    assert len(found) == 6
    assert all(abs(off) < 4 * error for off, error in found)
    counted = con.execute('SELECT count(*) / 20000 FROM published WHERE "Disease" = $1 AND smoker', ["flu"]).fetchone()
    assert counted is not None


def test_null_stays_null(con: duckdb.DuckDBPyConnection) -> None:
    published = fetched(con, f"rr_plain('survey', 'gap', 0.5, ['a', 'b'], {KEYED})", "gap")
    assert [place for place, value in enumerate(published) if value is None] == list(range(0, 20000, 10))
    assert within(published.count("a"), 18000, 0.5)


# A reference in Python: what is published is a function of secret, column, design, value and key


def joined(texts: Sequence[str]) -> str:
    return ",".join(f"{len(text)}:{text}" for text in texts)


def expected(value: str, key: str, levels: Sequence[str], p: float, column: str = "v") -> str:
    ordered = sorted(levels, key=str.encode)
    own = hashlib.sha256(joined(["rr_plain", SECRET, column, str(p), joined(ordered)]).encode()).digest()
    place = ordered.index(value) + 1
    digits = hmac.new(own, f"{place}:{joined([key])}".encode(), hashlib.sha256).hexdigest()
    if int(digits[:13], 16) < round(p * 2**52):
        return value
    return ordered[(place + int(digits[13:26], 16) % (len(levels) - 1)) % len(levels)]


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@settings(deadline=None, max_examples=40)
@given(
    levels=st.lists(WORDS, min_size=2, max_size=5, unique=True), p=st.sampled_from([0.05, 0.5, 0.8, 1 / 3]), key=WORDS
)
def test_any_levels_and_keys_are_published_as_the_reference_says(
    con: duckdb.DuckDBPyConnection, levels: list[str], p: float, key: str
) -> None:
    con.execute("CREATE OR REPLACE TABLE odd AS SELECT unnest($1) AS v, unnest($2) AS id", [levels, [f"{key}{i}" for i in range(len(levels))]])  # fmt: skip
    found = dict(con.execute(f"SELECT id, v FROM rr_plain('odd', 'v', $1, $2, {KEYED})", [p, levels]).fetchall())
    assert found == {f"{key}{i}": expected(level, f"{key}{i}", levels, p) for i, level in enumerate(levels)}


@pytest.mark.parametrize(
    "same",
    [
        f"rr_plain('survey', ['disease'], [0.80], {DISEASES[::-1]}, {KEYED})",
        f"rr_plain('(FROM survey ORDER BY name)', 'DISEASE', 0.8, [{DISEASES}], '{SECRET}', ['ID'])",
        f"rr_plain('(SELECT * REPLACE (id::VARCHAR AS id) FROM survey ORDER BY id::INT)', 'Disease', 0.8, {DISEASES}, {KEYED})",
    ],
)
def test_the_same_call_gives_the_same_rows(con: duckdb.DuckDBPyConnection, same: str) -> None:
    first = dict(con.execute(f'SELECT id::INT, "Disease" FROM {CALL}').fetchall())
    assert dict(con.execute(f'SELECT id::INT, "Disease" FROM {same}').fetchall()) == first


def test_a_part_of_the_table_is_published_as_in_the_whole(con: duckdb.DuckDBPyConnection) -> None:
    whole = dict(con.execute(f'SELECT id, "Disease" FROM {CALL}').fetchall())
    part = CALL.replace("'survey'", "'(FROM survey WHERE id % 7 = 1 ORDER BY name)'")
    found = dict(con.execute(f'SELECT id, "Disease" FROM {part}').fetchall())
    assert len(found) == 2857
    assert found.items() <= whole.items()


@pytest.mark.parametrize("setting", ["default_order = 'DESC'", "default_collation = 'nocase'", "TimeZone = 'America/St_Johns'", "threads = 1"])  # fmt: skip
def test_no_setting_gives_other_draws(con: duckdb.DuckDBPyConnection, setting: str) -> None:
    call = f"SELECT id, \"Disease\" FROM rr_plain('survey', 'Disease', 0.5, {DISEASES}, '{SECRET}', ['at', 'name']) ORDER BY id ASC"
    con.execute("SET TimeZone = 'UTC'; SET threads = 2")
    first = con.execute(call).fetchall()
    con.execute(f"SET {setting}")
    try:
        assert con.execute(call).fetchall() == first
    finally:
        con.execute(f"RESET {setting.partition(' ')[0]}; RESET TimeZone; RESET threads")


@pytest.mark.parametrize(
    "other",
    [
        f"rr_plain('survey', 'Disease', 0.8, {DISEASES}, secret := 'another secret, as long', key := 'id')",
        f"rr_plain('survey', 'Disease', 0.8, {DISEASES}, secret := '{SECRET}', key := 'name')",
        f"rr_plain('survey', 'Disease', 0.81, {DISEASES}, {KEYED})",
        f"rr_plain('survey', 'Disease', 0.8, {[*DISEASES, 'none']}, {KEYED})",
        f"rr_plain('(SELECT id, \"Disease\" AS \"Illness\" FROM survey)', 'Illness', 0.8, {DISEASES}, {KEYED})",
    ],
    ids=["secret", "key", "p", "levels", "column"],
)
def test_another_design_has_draws_of_its_own(con: duckdb.DuckDBPyConnection, other: str) -> None:
    """Where two releases share draws, a value in which they differ would be told."""
    column = "Illness" if "Illness" in other else "Disease"
    truth = fetched(con, "survey")
    kept = [[a == b for a, b in zip(truth, fetched(con, call, name), strict=True)] for call, name in ((CALL, "Disease"), (other, column))]  # fmt: skip
    table = [[sum(x is a and y is b for x, y in zip(*kept, strict=True)) for b in (True, False)] for a in (True, False)]
    assert chi2_contingency(table).pvalue > 1e-3


def test_a_value_that_changes_is_drawn_anew(con: duckdb.DuckDBPyConnection) -> None:
    """Else who knows one value of a person, and what was published, knew whether the next one is kept."""
    changed = "(SELECT * REPLACE (if(\"Disease\" = ''flu'', ''cancer'', ''flu'') AS \"Disease\") FROM survey WHERE \"Disease\" <> ''anemia'')"
    now = dict(con.execute(f"SELECT id, \"Disease\" FROM rr_plain('{changed}', 'Disease', 0.5, {DISEASES}, {KEYED})").fetchall())  # fmt: skip
    before = dict(con.execute(f"SELECT id, \"Disease\" FROM rr_plain('survey', 'Disease', 0.5, {DISEASES}, {KEYED})").fetchall())  # fmt: skip
    truth = dict(con.execute('SELECT id, "Disease" FROM survey').fetchall())
    pairs = [(before[i] == truth[i], now[i] == ("cancer" if truth[i] == "flu" else "flu")) for i in now]
    table = [[pairs.count((a, b)) for b in (True, False)] for a in (True, False)]
    assert chi2_contingency(table).pvalue > 1e-3


# What goes in, what comes out


def test_columns_and_rows_come_out_as_they_were(con: duckdb.DuckDBPyConnection) -> None:
    lower = f"rr_plain('survey', ['disease', 'SMOKER', 'visits'], 0.8, [{DISEASES}, ['true', 'false'], ['0', '1', '2', '3', '4']], {KEYED})"  # fmt: skip
    described = [row[:2] for row in con.execute(f"DESCRIBE FROM {lower}").fetchall()]
    assert described == [row[:2] for row in con.execute("DESCRIBE survey").fetchall()]
    rest = 'SELECT * EXCLUDE ("Disease", smoker, visits) FROM'
    assert con.execute(f"{rest} {lower} ORDER BY id").fetchall() == con.execute(f"{rest} survey ORDER BY id").fetchall()


def test_every_way_to_name_the_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = (tmp_path / "my survey.parquet").as_posix()
    con.execute(f"COPY survey TO '{file}'")
    con.execute("CREATE OR REPLACE TABLE \"odd 'name\" AS SELECT id, \"Disease\" AS \"x ''\"\"#~@?^\", 1 AS _pp_place1, 2 AS _pp_key, 3 AS n FROM survey")  # fmt: skip
    con.execute("CREATE OR REPLACE VIEW early AS FROM survey WHERE id < 20000")
    for tbl in (file, "main.survey -- all", "early", "(FROM survey)"):
        assert fetched(con, f"rr_plain('{tbl}', 'Disease', 0.8, {DISEASES}, {KEYED})") == fetched(con, CALL)
    name = "x ''''\"#~@?^"
    odd = f"rr_plain('\"odd ''name\"', ['{name}'], 0.5, {DISEASES}, {KEYED})"
    assert len(con.execute(f"FROM {odd}").fetchall()) == 20000
    assert con.execute(f"SELECT count(*) FROM rr_plain('survey', 'Disease', 0.8, {DISEASES}, '{SECRET}', 'rowid')").fetchall() == [(20000,)]  # fmt: skip
    assert con.execute(f"FROM rr_plain('(FROM survey LIMIT 0)', 'Disease', 0.8, {DISEASES}, {KEYED})").fetchall() == []


def test_a_view_of_many_rows_is_read_in_part(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE OR REPLACE TABLE tall AS SELECT i AS id, i % 2 AS a FROM range(300000) r(i)")
    con.execute(f"CREATE OR REPLACE VIEW of_tall AS FROM rr_plain('tall', 'a', 0.8, [0, 1], {KEYED})")
    whole = con.execute("SELECT id, a FROM of_tall ORDER BY id").fetchall()
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        assert con.execute("SELECT id, a FROM of_tall ORDER BY id").fetchall() == whole
        assert con.execute("SELECT EXISTS (FROM of_tall)").fetchall() == [(True,)]
        assert set(con.execute("SELECT id, a FROM of_tall LIMIT 7").fetchall()) < set(whole)
        assert con.execute("SELECT id, a FROM of_tall").fetchone() in whole
    con.execute("RESET threads")


def test_the_source_is_read_once(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE OR REPLACE SEQUENCE readings")
    source = "(SELECT id, nextval(''readings'') % 2 AS a FROM survey)"
    con.execute(f"FROM rr_plain('{source}', 'a', 0.8, [0, 1], {KEYED})").fetchall()
    assert con.execute("SELECT nextval('readings')").fetchall() == [(20001,)]


def test_ppduck_loads_it_too(con: duckdb.DuckDBPyConnection) -> None:
    with ppduck.connect() as loaded:
        loaded.execute(SURVEY)
        assert fetched(loaded, CALL) == fetched(con, CALL)
        named = f"rr_plain('survey', conf=['Disease'], p=0.8, levels={DISEASES}, secret='{SECRET}', key='id')"
        assert fetched(loaded, named) == fetched(con, CALL)


# What is refused

REFUSED = [
    ("'survey', 'Disease', 0.8, ['a', 'b'], key := 'id'", r"secret is missing\. Give a text of 16 characters or more"),
    ("'survey', 'Disease', 0.8, ['a', 'b'], 'fifteen letters', 'id'", r"secret has only 15 characters\. Give 16 or more"),
    (f"'survey', 'Disease', 0.8, ['a', 'b'], '{SECRET}'", r"key is missing\. Name the column"),
    (f"'', 'Disease', 0.8, ['a', 'b'], {KEYED}", r"tbl is missing\. Give a table name"),
    (f"'survey', [], 0.8, ['a', 'b'], {KEYED}", r"conf is empty\. Name the columns"),
    (f"'survey', NULL, 0.8, ['a', 'b'], {KEYED}", r"conf must be a list of column names"),
    (f"'survey', ['a', 'A'], 0.8, ['a', 'b'], {KEYED}", r"conf names a column twice"),
    *(
        (f"'survey', 'Disease', {p}, ['a', 'b'], {KEYED}", r"p must be a number above 0 and below 1\. Give the probability")
        for p in ("0", "1", "1.5", "-0.1", "NULL", "'nan'::DOUBLE", "'much'", "[NULL]")
    ),
    (f"'survey', 'Disease', [0.8, 0.9], ['a', 'b'], {KEYED}", r"p holds 2 numbers for 1 columns"),
    *(
        (f"'survey', 'Disease', 0.8, {levels}, {KEYED}", r"levels must list all levels of each column\. Write \['no', 'yes'\]")
        for levels in ("NULL", "'a'", "7", "[['a', 'b'], ['c', 'd']]")
    ),
    (f"'survey', ['Disease', 'smoker'], 0.8, ['a', 'b'], {KEYED}", r"levels must list all levels of each column"),
    (f"'survey', 'Disease', 0.8, ['a'], {KEYED}", r"levels has fewer than two levels"),
    (f"'survey', 'Disease', 0.8, ['a', NULL], {KEYED}", r"levels holds a NULL\. NULL stays NULL"),
    (f"'survey', 'Disease', 0.8, ['a', 'a'], {KEYED}", r"levels names a level twice"),
    (f"'survey', 'Disease', 0.8, ['anemia', 'flu'], {KEYED}", r'column "Disease" holds values that are none of its 2 levels, in 6666 of 20000 rows\. Give the whole domain'),
    (f"'survey', 'Disease', 0.8, ['Anemia', 'Cancer', 'Flu'], {KEYED}", r".* none of its 3 levels, in 20000 of 20000 rows"),
    (f"'survey', 'visits', 0.8, ['0', '1', '2', '3', '4', '05'], {KEYED}", r'column "visits" has a type that writes one of the levels otherwise'),
    (f"'survey', 'Disease', 0.8, {DISEASES}, '{SECRET}', 'visits'", r"key is not unique: 20000 rows have 5 keys"),
    (f"'survey', 'Disease', 0.8, {DISEASES}, '{SECRET}', 'gap'", r"key is NULL in 2000 of 20000 rows"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(con: duckdb.DuckDBPyConnection, wanted: str, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f"rr_plain: {message}") as raised:
        con.execute(f"SELECT {wanted} FROM rr_plain({arguments})").fetchall()
    assert "name 3" not in str(raised.value)
    assert "cancer" not in str(raised.value).partition("LINE 1")[0]


def test_a_missing_column_is_named_and_no_key_is_shown(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"SET VARIABLE hush = '{SECRET}'")
    for call in (
        "'absent', 0.8, ['a', 'b'], getvariable('hush'), 'id'",
        "'Disease', 0.8, ['a', 'b'], getvariable('hush'), 'absent'",
    ):
        with pytest.raises(duckdb.BinderException, match='"absent"') as raised:
            con.execute(f"FROM rr_plain('survey', {call})")
        assert SECRET not in str(raised.value)
        assert not re.search("[0-9a-f]{32}", str(raised.value))


# DuckDB's own shell


def test_the_shell_randomizes_and_reconstructs(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    database = tmp_path / "my.db"
    call = CALL.replace(f"'{SECRET}'", "getenv('OUR_SECRET')")
    assert (
        shell(
            database, "-c", ".read sql/ppduck.sql", "-c", SURVEY, "-c", f"CREATE VIEW published AS FROM {call}"
        ).returncode
        == 0
    )
    published = shell(database, "-json", "-c", 'SELECT "Disease" FROM published ORDER BY id')
    assert [row["Disease"] for row in rows_of_shell(published)] == fetched(con, CALL)
    found = rows_of_shell(shell(database, "-json", "-c", "FROM rr_reconstruct('published', ['Disease'], 0.8)"))
    assert all(row["lower"] < 1 / 3 < row["upper"] for row in found)
    refused = shell(database, "-c", "SELECT count(*) FROM rr_plain('survey', 'Disease', 0.8, ['a', 'b'], 'tiny', 'id')")
    assert (refused.returncode != 0, refused.stdout) == (True, "")
    with pytest.raises(RuntimeError, match="rr_plain: secret has only 4 characters"):
        raise RuntimeError(refused.stderr)
