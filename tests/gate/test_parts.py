"""Which part a column plays: by its name whatever that looks like, dropped, or in another form."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from tests.gate.releases import Rows, failed, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people(con)
    return con


def stopped(ask: Ask, query: str) -> bool:
    """Whether a release is refused, or fails."""
    try:
        return bool(failed(ask(query)))
    except duckdb.Error as refused:
        return "PpduckError: " in str(refused)


def why(rows: Rows) -> dict[str | None, str]:
    return {name: row["why"] for name, row in of_rule(rows, "declared").items()}


def test_a_key_of_several_columns(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    for name in "tm":
        tables.execute(f"CREATE TABLE {name}2 AS SELECT id // 7 AS house, id % 7 AS person, * EXCLUDE (id) FROM {name}")
    rows = ask("FROM release_check('t2', 'm2', conf=['x'], key=['house', 'person'])")
    assert failed(rows) == set()
    assert [name for name, each in why(rows).items() if each.startswith("key")] == ["house", "person"]
    assert ("copy", "x") in failed(ask("FROM release_check('t2', 't2', conf=['x'], key=['house', 'person'])"))


NAMES = {"x": 'the "income"', "age": "age in years", "region": "select", "id": "group"}


def test_names_that_are_quoted_spaced_or_keywords(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    for name in "tm":
        columns = ", ".join('{} AS "{}"'.format(old, new.replace('"', '""')) for old, new in NAMES.items())
        tables.execute(f'CREATE TABLE "odd {name}" AS SELECT {columns} FROM {name}')
    call = "FROM release_check('\"odd t\"', '\"odd {}\"', conf=['the \"income\"'], key='group', qi=['select'])"
    rows = ask(call.format("m"))
    assert failed(rows) == set()
    assert set(why(rows)) == set(NAMES.values())
    assert {("copy", 'the "income"'), ("unchanged", 'the "income"')} <= failed(ask(call.format("t")))


def test_case_does_not_matter(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute('CREATE TABLE upper_case AS SELECT id AS "ID", age AS "Age", region, x AS "X" FROM m')
    rows = ask("FROM release_check('t', 'upper_case', conf=['X'], key='Id', nonconf=['AGE', 'Region'])")
    assert failed(rows) == set()
    assert "is new" not in " ".join(why(rows).values())


def test_conf_that_is_dropped_is_accounted_for_and_others_may_not_tell_it(
    tables: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    call = "FROM release_check('t', '{}', conf=['x', 'disease'], key='id', keep={})"
    tables.execute("""
        CREATE TABLE gone AS SELECT id, age, region FROM t;
        CREATE TABLE telling AS SELECT id, age, region, x * 3 + 1 AS spent, upper(disease) AS code FROM t
        """)
    rows = ask(call.format("gone", "[]"))
    assert failed(rows) == set()
    assert [why(rows)[name] for name in ("x", "disease")] == ["dropped", "dropped"]
    assert {("tells", "spent"), ("tells", "code")} <= failed(ask(call.format("telling", "['spent', 'code']")))


def test_one_column_of_conf_may_be_dropped_and_another_masked(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rows = ask("FROM release_check('t', 'm', conf=['x', 'disease'], key='id')")
    assert failed(rows) == set()
    assert (why(rows)["x"], why(rows)["disease"]) == ("masked: named in conf", "dropped")


def test_a_category_as_a_number_tells_what_it_was(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("""
        CREATE TABLE coded AS SELECT id, age, region,
            list_position(['gout', 'flu', 'cancer', 'asthma'], disease) AS disease FROM t;
        CREATE TABLE drawn AS SELECT id, age, region, 1 + (('0x' || substr(md5('d' || id), 1, 8))::BIGINT % 4) AS disease FROM t
        """)
    call = "FROM release_check('t', '{}', conf=['disease'], key='id')"
    assert ("tells", "disease") in failed(ask(call.format("coded")))
    assert failed(ask(call.format("drawn"))) == set()


def test_a_number_as_text_is_a_copy_and_as_ranges_is_not(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("""
        CREATE TABLE texts AS SELECT id, age, region, x::VARCHAR AS x FROM t;
        CREATE TABLE ranges AS SELECT id, age, region, if(x < 1100, 'below 1100', '1100 and more') AS x FROM t
        """)
    call = "FROM release_check('t', '{}', conf=['x'], key='id')"
    assert {"copy", "ungeneralised", "group_risk"} <= {rule for rule, _ in failed(ask(call.format("texts")))}
    assert {"copy", "ungeneralised", "group_risk"}.isdisjoint(rule for rule, _ in failed(ask(call.format("ranges"))))


def test_a_number_of_another_type_is_still_a_number(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE floats AS SELECT * EXCLUDE (disease) REPLACE (x::FLOAT AS x) FROM t")
    found = failed(ask("FROM release_check('t', 'floats', conf=['x'], key='id')"))
    assert {("near", "x"), ("r2_gain", "x"), ("linkage", None)} <= found


@pytest.mark.parametrize("form", ["x > 1100", "if(x < 1100, 'below 1100', '1100 and more')", "{'a': 1}"])
def test_conf_in_another_form_is_not_public(tables: duckdb.DuckDBPyConnection, ask: Ask, form: str) -> None:
    """A column beside it that is the original and a tenth of noise."""
    noise = "(('0x' || substr(md5('n' || id), 1, 8))::BIGINT / 4294967296 - 0.5)"
    tables.execute(f"CREATE TABLE other AS SELECT id, age, region, {form} AS x, x + 30 * {noise} AS beside FROM t")
    assert ("tells", "beside") in failed(ask("FROM release_check('t', 'other', conf=['x'], key='id', keep=['beside'])"))


def test_conf_in_another_form_is_accounted_for_once(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    tables.execute("CREATE TABLE other AS SELECT id, age, region, x > 1100 AS x FROM t")
    rows = ask("FROM release_check('t', 'other', conf=['x'], key='id')")
    assert sum((row["rule"], row["column_name"]) == ("declared", "x") for row in rows) == 1


@pytest.mark.parametrize(
    "kind",
    [
        "BOOLEAN",
        "DATE", "TIMESTAMP", "VARCHAR[]", "STRUCT(a DOUBLE)",
    ],
)  # fmt: skip
def test_other_forms_of_conf_are_refused_or_fail(tables: duckdb.DuckDBPyConnection, ask: Ask, kind: str) -> None:
    """Nothing passes as masked that was only written in another way."""
    value = {
        "BOOLEAN": "x > 1100", "DATE": "DATE '2000-01-01' + x::INTEGER", "TIMESTAMP": "make_timestamp((1e6 * x)::BIGINT)",
        "VARCHAR[]": "[x::VARCHAR]", "STRUCT(a DOUBLE)": "{'a': x}",
    }[kind]  # fmt: skip
    tables.execute(f"CREATE TABLE other AS SELECT * EXCLUDE (disease) REPLACE ({value} AS x) FROM t")
    assert [column[1] for column in tables.execute("DESCRIBE other").fetchall() if column[0] == "x"] == [kind]
    assert stopped(ask, "FROM release_check('t', 'other', conf=['x'], key='id')")


@pytest.mark.parametrize(
    "side",
    [
        "release", "original",
        "both",
    ],
)  # fmt: skip
def test_empty_tables_fail_or_are_refused(tables: duckdb.DuckDBPyConnection, ask: Ask, side: str) -> None:
    tables.execute("CREATE TABLE no_t AS FROM t LIMIT 0; CREATE TABLE no_m AS FROM m LIMIT 0")
    original, release = ("t" if side == "release" else "no_t", "m" if side == "original" else "no_m")
    assert stopped(ask, f"FROM release_check('{original}', '{release}', conf=['x'], key='id')")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("conf=[]", "conf is empty"),
        ("conf=['y']", 'conf names column "y", which does not exist'),
        ("conf=['id']", '"id"'),
        ("conf=['x'], nonconf=['x']", '"x"'),
        ("conf=['x'], keep=['x']", '"x"'),
        ("conf=['x'], keep=['nobody']", 'keep names column "nobody", which does not exist'),
        ("conf=['x'], qi=['nobody']", 'qi names column "nobody", which does not exist'),
        ("conf=['x'], p={'x': 0.5}", "p or matrix names column 'x', which is no category of conf"),
        ("conf=['x'], p={'disease': 0.5}", "p or matrix names column 'disease', which is no category of conf"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tables: duckdb.DuckDBPyConnection, more: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=f'release_check on "t".*{message}'):
        tables.execute(f"FROM release_check('t', 'm', key='id', {more})")


def test_a_key_that_a_side_lacks_is_refused(tables: duckdb.DuckDBPyConnection) -> None:
    tables.execute("CREATE TABLE keyless AS SELECT * EXCLUDE (id) FROM m")
    with pytest.raises(duckdb.Error, match='key names column "id", which "keyless" does not have'):
        tables.execute("FROM release_check('t', 'keyless', conf=['x'], key='id')")
