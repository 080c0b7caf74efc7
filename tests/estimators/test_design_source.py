"""Which design a view has: followed through plain selections, refused wherever rows or values are other than published."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.core

MASK = "rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')"


@pytest.fixture
def views(survey: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    survey.execute(f"CREATE VIEW survey_rr AS FROM {MASK}")
    survey.execute("CREATE MACRO twice(a) AS unnest([a, a])")
    return survey


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()


def estimates(con: duckdb.DuckDBPyConnection, source: str, column: str, extra: str = "") -> list[tuple[Any, ...]]:
    quoted = source.replace("'", "''")
    return rows(con, f"SELECT estimate, std_error FROM rr_reconstruct('{quoted}', ['{column}']{extra})")


READABLE = {
    f"(FROM {MASK})": "disease",
    "(SELECT * FROM survey_rr)": "disease",
    "(SELECT disease AS illness, id FROM survey_rr)": "illness",
    "(SELECT s.disease, age + 1 AS older FROM survey_rr AS s)": "disease",
    "(SELECT disease, age::VARCHAR, 'x', CASE WHEN age > 40 THEN 1 ELSE 0 END FROM survey_rr ORDER BY age, disease)": "disease",
    "(SELECT * EXCLUDE (gender) FROM survey_rr)": "disease",
    "(SELECT * RENAME (disease AS illness) FROM survey_rr)": "illness",
    "(SELECT * REPLACE (age // 10 AS age) FROM survey_rr)": "disease",
    "(SELECT illness FROM (SELECT disease AS illness FROM (FROM survey_rr)) AS inner_one ORDER BY 1)": "illness",
    "(SELECT DISEASE FROM main.Survey_RR)": "disease",
}


@pytest.mark.parametrize("source", READABLE)
def test_plain_selections_are_followed(views: duckdb.DuckDBPyConnection, source: str) -> None:
    assert estimates(views, source, READABLE[source]) == estimates(views, "survey_rr", "disease")


def test_rows_may_be_chosen_by_what_is_not_randomized(views: duckdb.DuckDBPyConnection) -> None:
    views.execute("CREATE VIEW grown AS FROM survey_rr WHERE age >= 40 AND NOT smoker")
    by_hand = estimates(views, "(SELECT * FROM grown)", "disease", ", p=0.8")
    assert estimates(views, "grown", "disease") == by_hand
    [(count,)] = rows(views, "SELECT sum(count) FROM rr_reconstruct('grown', 'disease')")
    [(expected,)] = rows(views, "SELECT count(*) FROM survey WHERE age >= 40 AND NOT smoker")
    assert count == pytest.approx(expected)


def test_what_is_not_randomized_counts_as_it_is(views: duckdb.DuckDBPyConnection) -> None:
    truth = rows(views, "SELECT smoker, count(*) / 6000 FROM survey GROUP BY ALL ORDER BY ALL")
    assert rows(views, "SELECT smoker, estimate FROM rr_reconstruct('survey_rr', ['smoker'])") == truth
    decades = "(SELECT *, age // 20 AS decade FROM survey_rr)"
    assert len(rows(views, f"FROM rr_reconstruct('{decades}', ['decade', 'disease'])")) == 3 * 3


def test_levels_of_the_design_hold_and_not_those_that_happen_to_be_published(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS c FROM range(40) r(i)")
    con.execute("CREATE VIEW v AS FROM rr_mask('t', p={'c': 0.97}, levels={'c': [1, 0, 7, 8]}, key='id')")
    assert [row[0] for row in rows(con, "FROM rr_reconstruct('v', ['c'])")] == [1, 0, 7, 8]


def test_views_of_other_schemas_and_odd_names(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute(
        'CREATE SCHEMA s; CREATE VIEW s."odd ""view" AS '
        + f"SELECT disease AS \"the 'd'\" FROM {MASK.replace('survey', 'main.survey')}"
    )
    survey.execute("CREATE VIEW main.v AS FROM rr_mask('survey', p={'gender': 0.7})")
    survey.execute("CREATE VIEW s.v AS FROM rr_mask('main.survey', p={'gender': 0.6})")
    assert len(rows(survey, """FROM rr_reconstruct('s."odd ""view"', ['the ''d'''])""")) == 3
    keep = "SELECT value FROM rr_privacy(tbl='{}') WHERE measure = 'keep'"
    assert rows(survey, keep.format("v")) == [(0.7,)]
    assert rows(survey, keep.format("s.v")) == [(0.6,)]
    survey.execute("USE s")
    assert rows(survey, keep.format("v")) == [(0.6,)]


def test_arguments_are_read_as_duckdb_reads_them(survey: duckdb.DuckDBPyConnection) -> None:
    """Positional, :=, MAP, expressions: whatever the mask took is what the design is."""
    for i, call in enumerate(
        (
            "rr_mask('survey', MAP {'gender': 0.75})",
            "rr_mask('survey', p := {gender: 3 / 4})",
            "rr_mask('survey', conf := [gender], p := 0.7 + 0.05)",
            "rr_mask('survey', matrix := {gender: [[0.75, 0.25], [0.25, 0.75]]})",
        )
    ):
        survey.execute(f"CREATE VIEW v{i} AS FROM {call}")
        [(value,)] = rows(survey, f"SELECT value FROM rr_privacy(tbl='v{i}') WHERE measure = 'keep'")
        assert value == pytest.approx(0.75)


UNREADABLE = {
    # Rows by their published value
    "(FROM survey_rr WHERE disease = 'flu')": r"filters on a randomized column",
    "(SELECT disease, disease AS d2 FROM survey_rr WHERE d2 <> 'flu')": r'reads "d2", which is no column of what it selects from',
    "(SELECT disease, disease = 'flu' AS isflu FROM survey_rr WHERE NOT isflu)": r'reads "isflu", which is no column',
    "(FROM survey_rr t WHERE struct_extract(t, 'disease') <> 'flu')": r"which is no column|cannot be looked through",
    "(FROM survey_rr WHERE #3 <> 'flu')": r"holds #3, which cannot be looked through",
    "(FROM survey_rr WHERE COLUMNS('dis.*') <> 'flu')": r"cannot be looked through",
    "(FROM survey_rr WHERE id IN (SELECT id FROM survey))": r"cannot be looked through",
    # Other rows than the mask's
    "(FROM survey_rr LIMIT 100)": r"has a LIMIT clause",
    "(SELECT DISTINCT disease FROM survey_rr)": r"has a DISTINCT clause",
    "(SELECT disease FROM survey_rr GROUP BY disease)": r"has a GROUP clause",
    "(SELECT a.disease FROM survey_rr a JOIN survey b USING (id))": r"has a JOIN clause",
    "(SELECT r.disease FROM survey_rr r, survey s)": r"has a JOIN clause",
    "(FROM survey_rr UNION ALL FROM survey_rr)": r"is no plain SELECT but a UNION",
    "(WITH w AS (FROM survey_rr) FROM w)": r"has a WITH clause",
    "(SELECT disease, row_number() OVER () AS n FROM survey_rr)": r"cannot be looked through",
    "(SELECT disease FROM survey_rr QUALIFY row_number() OVER () < 5)": r"has a QUALIFY clause",
    "(SELECT disease FROM survey_rr USING SAMPLE 10)": r"has a SAMPLE clause",
    "(FROM (FROM survey_rr) TABLESAMPLE 10%)": r"has a SAMPLE clause",
    "(SELECT disease, unnest([1, 2, 3]) AS u FROM survey_rr)": r"cannot be looked through",
    "(FROM (UNPIVOT (SELECT gender, disease FROM survey_rr) ON gender INTO NAME disease VALUE other))": r"is no plain SELECT but a PIVOT",
    # Columns under names that say nothing
    "(SELECT COLUMNS(*) FROM survey_rr)": r"cannot be looked through|other columns than its text",
    "(SELECT COLUMNS('dis.*|gen.*') FROM survey_rr)": r"cannot be looked through|other columns than its text",
    "(SELECT * LIKE 'd%' FROM survey_rr)": r"cannot be looked through|other columns than its text",
    "(SELECT #3 AS disease FROM survey_rr)": r"holds #3, which cannot be looked through",
    "(SELECT disease AS x, x AS disease FROM survey_rr)": r'reads "x", which is no column',
    "(SELECT struct_extract(t, 'disease') AS disease FROM survey_rr t)": r"no column of what it selects from|cannot be looked through",
    "(SELECT s.disease FROM (SELECT t AS s FROM survey_rr t) AS q)": r"no column of what it selects from",
    "(SELECT disease FROM survey_rr AS t(id, disease, gender))": r"renames columns by a list behind its table",
    "(SELECT disease FROM (FROM survey_rr) AS t(id, disease, gender))": r"renames columns by a list behind its table",
    "(SELECT x_1 AS disease FROM (SELECT gender AS x, disease AS x, age AS x_1 FROM survey_rr) AS q)": r"gives two columns the same name",
    '(SELECT "(age + 1)" AS disease FROM (SELECT age + 1, gender AS "(age + 1)" FROM survey_rr) AS q)': r"reads an expression that has no alias",
    # Functions, behind which anything may hide
    "(SELECT disease FROM survey_rr ORDER BY unnest([1, 2]))": r"cannot be looked through",
    "(SELECT disease, upper(gender) AS u FROM survey_rr)": r"holds UPPER\(gender\), which cannot be looked through",
    "(SELECT disease, twice(age) AS z FROM survey_rr)": r"cannot be looked through",
    "(FROM survey_rr WHERE date_trunc(gender, DATE '2020-01-01') = DATE '2020-01-01')": r"cannot be looked through",
    "(SELECT current_user AS disease FROM (SELECT disease AS current_user FROM survey_rr) AS q)": r"cannot be looked through",
    # No mask, or more than one
    "(FROM survey)": r"calls neither rr_mask nor pram_mask",
    "(SELECT disease FROM egadp_mask('survey', conf=['age']))": r"calls neither rr_mask nor pram_mask",
    "(SELECT 'flu' AS disease)": r"calls neither rr_mask nor pram_mask",
    "(FROM pram_mask('survey_rr', p := {gender: 0.9, disease: 0.8}, key := 'id'))": r"holds more than one masking call",
}


@pytest.mark.parametrize("source", UNREADABLE)
def test_whatever_changes_the_sample_is_refused(views: duckdb.DuckDBPyConnection, source: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=rf"cannot be read: it .*({UNREADABLE[source]}).*Give p := "):
        estimates(views, source, "disease")


def test_columns_computed_from_randomized_ones_are_refused(views: duckdb.DuckDBPyConnection) -> None:
    for source, column in {
        "(SELECT disease || '!' AS d FROM survey_rr)": "d",
        "(SELECT * REPLACE (coalesce(disease, 'flu') AS disease) FROM survey_rr)": "disease",
        "(SELECT gender || smoker AS both FROM survey_rr)": "both",
    }.items():
        with pytest.raises(
            duckdb.InvalidInputException, match=rf'column "{column}" is computed from a randomized column'
        ):
            estimates(views, source, column)


def test_names_may_be_swapped(con: duckdb.DuckDBPyConnection) -> None:
    """By a list of the view, by RENAME or by aliases: each column keeps its own design."""
    con.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS x, (i // 2) % 2 AS y FROM range(4000) r(i)")
    mask = "rr_mask('t', p := {x: 0.95, y: 0.65}, key := 'id')"
    con.execute(f"CREATE VIEW v1(id, y, x) AS FROM {mask}")
    con.execute(f"CREATE VIEW v2 AS SELECT * RENAME (x AS y, y AS x) FROM {mask}")
    con.execute(f"CREATE VIEW v3 AS SELECT id, y AS x, x AS y FROM {mask}")
    con.execute("CREATE VIEW v4 AS SELECT x FROM v1")
    for view in ("v1", "v2", "v3", "v4"):
        found = rows(con, f"SELECT attribute, value FROM rr_privacy(tbl='{view}') WHERE measure = 'keep'")
        assert ("x", 0.65) in found, view
        assert ("y", 0.65) not in found, view


def test_a_name_is_looked_up_where_it_says(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("ATTACH ':memory:' AS other; CREATE TABLE other.survey AS FROM survey")
    survey.execute("CREATE VIEW v AS FROM rr_mask('memory.main.survey', p={'smoker': 0.9}, key='id')")
    survey.execute("CREATE VIEW other.v AS FROM rr_mask('other.main.survey', p={'smoker': 0.7}, key='id')")
    keep = "SELECT value FROM rr_privacy(tbl='{}') WHERE measure = 'keep'"
    assert rows(survey, keep.format("memory.main.v")) == [(0.9,)]
    assert rows(survey, keep.format("other.main.v")) == [(0.7,)]
    assert rows(survey, keep.format("other.v")) == [(0.7,)]
    assert rows(survey, keep.format("v")) == [(0.9,)]
    survey.execute("CREATE VIEW w AS FROM v")
    with pytest.raises(duckdb.InvalidInputException, match=r'reads "v", of which there are several; qualify it'):
        rows(survey, keep.format("w"))
    survey.execute("CREATE SCHEMA s; CREATE TABLE plain AS FROM survey; CREATE VIEW s.plain AS FROM memory.main.v")
    with pytest.raises(duckdb.InvalidInputException, match=r'"plain" is no view over rr_mask'):
        rows(survey, keep.format("plain"))


def test_what_hides_a_view_is_not_read_by_its_design(views: duckdb.DuckDBPyConnection) -> None:
    """A CTE of the view's name does not reach it; a temporary table, which planning cannot see, is noticed."""
    expected = estimates(views, "survey_rr", "disease")
    for source in ("survey_rr", "(SELECT disease FROM survey_rr)"):
        query = (
            "WITH survey_rr AS (SELECT 'flu' AS disease FROM range(10)) "
            f"SELECT estimate, std_error FROM rr_reconstruct('{source}', ['disease'])"
        )
        assert rows(views, query) == expected
    views.execute("CREATE VIEW upon AS SELECT id, disease FROM survey_rr")
    views.execute("CREATE TEMP TABLE survey_rr AS SELECT * REPLACE ('flu' AS disease) FROM survey")
    hidden = r"or a temporary table hides it; commit, drop the temporary one"
    for source in ("survey_rr", "(SELECT disease FROM survey_rr)", "upon", "memory.main.survey_rr"):
        with pytest.raises(duckdb.InvalidInputException, match=hidden):
            estimates(views, source, "disease")
    items = "(SELECT smoker, age = 30 AS a FROM survey_rr)"
    with pytest.raises(duckdb.InvalidInputException, match=hidden):
        rows(views, f"FROM rr_rules('{items}', ['smoker', 'a'], min_support=0.1, min_confidence=0.1)")


def test_a_view_that_an_open_transaction_has_replaced_is_noticed(views: duckdb.DuckDBPyConnection) -> None:
    other = "FROM rr_mask('survey', p={'gender': 0.6, 'disease': 0.95}, key='id')"
    for source in ("survey_rr", "(FROM survey_rr)"):
        views.execute("BEGIN")
        views.execute(f"CREATE OR REPLACE VIEW survey_rr AS {other}")
        with pytest.raises(duckdb.InvalidInputException, match=r"a view is not what it was when the call was planned"):
            estimates(views, source, "disease")
        views.execute("ROLLBACK")
        assert len(estimates(views, source, "disease")) == 3


def test_the_search_path_is_not_guessed_at(views: duckdb.DuckDBPyConnection) -> None:
    views.execute("CREATE SCHEMA s2; CREATE SCHEMA s3")
    views.execute(
        "CREATE VIEW s2.survey_rr AS FROM rr_mask('main.survey', p={'disease': 0.95}, key='id') WHERE id < 50"
    )
    views.execute("SET search_path = 's3,s2'")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"no view over rr_mask or pram_mask that can be told by its name"
    ):
        estimates(views, "survey_rr", "disease")
    assert len(estimates(views, "main.survey_rr", "disease")) == 3


def test_temporary_views_and_tables_need_p(views: duckdb.DuckDBPyConnection) -> None:
    views.execute(f"CREATE TEMP VIEW passing AS FROM {MASK}")
    with pytest.raises(
        duckdb.InvalidInputException, match=r'cannot see "passing".* its definition cannot be read. Give p := '
    ):
        estimates(views, "passing", "disease")
    assert estimates(views, "passing", "disease", ", p=0.8") == estimates(views, "survey_rr", "disease")


def test_levels_beside_a_view_are_refused_for_what_it_randomizes(views: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r'levels of column "disease" are those of the view'):
        estimates(views, "survey_rr", "disease", ", levels={'disease': ['flu', 'cancer']}")


def test_a_design_must_be_constant(survey: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"an argument must be constant, and .*RANDOM.* is not"):
        survey.execute("CREATE VIEW v AS FROM rr_mask('survey', p={'gender': 0.55 + random() * 0.44})")


def test_p_beside_a_view_wins(views: duckdb.DuckDBPyConnection) -> None:
    assert estimates(views, "survey_rr", "disease", ", p=0.9") != estimates(views, "survey_rr", "disease")


def test_a_view_that_came_with_the_database(tmp_path: Any) -> None:
    """The owner's view is read by an analyst who opens the file later, through ppduck."""
    import ppduck

    path = tmp_path / "survey.db"
    with ppduck.connect(path, secret="the owner's secret, kept") as con:
        con.execute("CREATE TABLE survey AS SELECT i AS id, i % 3 AS c FROM range(3000) r(i)")
        con.execute("CREATE VIEW v AS FROM rr_mask('survey', p={'c': 0.8}, key='id')")
        first = rows(con, "FROM rr_reconstruct('v', ['c'])")
    with ppduck.connect(path, secret="the owner's secret, kept", read_only=True) as con:
        assert rows(con, "FROM rr_reconstruct('v', ['c'])") == first
