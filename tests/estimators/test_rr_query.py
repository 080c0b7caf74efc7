"""rr_query: the same as rr_reconstruct where both apply, ranges that cover, SQL that is answered and SQL that is not."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import ppduck
from ppduck.kernels.distortion import along_axes, uniform

pytestmark = pytest.mark.core

DESIGN = {"gender": 0.9, "disease": 0.8}


@pytest.fixture
def survey_rr(survey: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    survey.execute(f"CREATE VIEW survey_rr AS FROM rr_mask('survey', p={DESIGN}, key='id')")
    return survey


def ask(con: duckdb.DuckDBPyConnection, query: str, more: str = "") -> list[tuple[object, ...]]:
    return con.execute(f"FROM rr_query('{query.replace(chr(39), chr(39) * 2)}'{more})").fetchall()


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("columns", [["disease"], ["gender", "disease"], ["gender", "disease", "smoker"]])
def test_the_same_as_rr_reconstruct(survey_rr: duckdb.DuckDBPyConnection, target: str, columns: list[str]) -> None:
    names = ", ".join(columns)
    found = ask(
        survey_rr, f"SELECT {names}, count(*) FROM survey_rr GROUP BY {names}", f", target='{target}', confidence=0.9"
    )
    wanted = survey_rr.execute(
        f"SELECT {names}, count, 6000 * std_error, 6000 * lower, 6000 * upper FROM rr_reconstruct('survey_rr', {columns}, target='{target}', confidence=0.9)"
    ).fetchall()
    assert len(found) == len(wanted)
    size = len(columns)
    for one, two in zip(sorted(found), sorted(wanted), strict=True):
        assert one[:size] == two[:size]
        assert one[size:] == pytest.approx(two[size:], rel=1e-9, abs=1e-7)


def test_a_cube_sums_up(survey_rr: duckdb.DuckDBPyConnection) -> None:
    rows = ask(survey_rr, "SELECT gender, disease, count(*) FROM survey_rr GROUP BY CUBE (gender, disease)")
    known = {(gender, disease): count for gender, disease, count, *_ in rows}
    assert len(rows) == len(known) == 2 * 3 + 2 + 3 + 1
    assert known[None, None] == pytest.approx(6000)
    for gender in ("female", "male"):
        assert known[gender, None] == pytest.approx(sum(known[gender, each] for each in ("anemia", "cancer", "flu")))
    [total] = [row for row in rows if row[:2] == (None, None)]
    assert total[3] == pytest.approx(0, abs=1e-6)  # how many rows there are is known


GROUPINGS = [
    ("gender, disease", 6),
    ("ROLLUP (gender, disease)", 6 + 2 + 1),
    ("GROUPING SETS ((gender), (disease), ())", 2 + 3 + 1),
    ("gender, CUBE (disease)", 6 + 2),
    ("GROUPING SETS ((gender, disease), smoker), ()", 6 + 2),
    ("CUBE ((gender, disease), smoker)", 12 + 6 + 2 + 1),
    ("ALL", 12),
    ("1, 2, 3", 12),
]


@pytest.mark.parametrize(("grouping", "rows"), GROUPINGS)
def test_every_grouping_has_the_rows_that_duckdb_gives_the_original(
    survey_rr: duckdb.DuckDBPyConnection, grouping: str, rows: int
) -> None:
    query = f"SELECT gender, disease, smoker, count(*) AS n FROM {{}} GROUP BY {grouping}"
    if "smoker" not in grouping and not grouping.startswith(("ALL", "1")):
        query = query.replace("disease, smoker, count", "disease, count")
    found = ask(survey_rr, query.format("survey_rr"))
    assert len(found) == rows
    size = query.split("count")[0].count(",")
    truth = {row[:size]: row[size] for row in survey_rr.execute(query.format("survey")).fetchall()}
    for row in found:
        n, error = row[size], row[size + 1]
        assert abs(n - truth.get(row[:size], 0)) < 5 * error + 1e-6


QUERIES = [
    "SELECT count(*) AS x FROM {} WHERE disease = 'flu'",
    "SELECT count(*) AS x FROM {} WHERE disease IN ('flu', 'cancer') AND gender = 'male' AND age > 40",
    "SELECT count(*) AS x FROM {} WHERE disease = 'flu' OR age > 40",
    "SELECT count(*) AS x FROM {} WHERE NOT (gender = 'male' AND smoker)",
    "SELECT count(*) FILTER (WHERE disease = 'flu') AS x FROM {} WHERE smoker",
    "SELECT count_if(disease = 'flu') AS x FROM {} AS s WHERE s.age BETWEEN 30 AND 50",
    "SELECT sum(CASE WHEN disease LIKE '%a%' THEN 1 ELSE 0 END) AS x FROM {}",
    "SELECT avg((disease = 'flu')::INT) AS x FROM {} WHERE gender = 'male'",
    "SELECT avg(CASE WHEN smoker AND disease = 'flu' THEN 1.0 ELSE 0 END) AS x FROM {}",
    "SELECT avg(CASE WHEN CASE WHEN age > 40 THEN 'male' ELSE 'female' END = gender THEN 1 ELSE 0 END) AS x FROM {}",
    "SELECT count(gender) AS x FROM {} WHERE upper(gender) = 'MALE' AND age % 2 = 0",
]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_the_original_within_their_errors(
    survey_rr: duckdb.DuckDBPyConnection, query: str
) -> None:
    [(estimate, error, lower, upper)] = ask(survey_rr, query.format("survey_rr"))
    [(truth,)] = survey_rr.execute(query.format("survey")).fetchall()
    assert error > 0
    assert abs(estimate - float(truth)) < 4.5 * error
    assert (lower, upper) == pytest.approx((estimate - 1.959964 * error, estimate + 1.959964 * error), rel=1e-5)


def test_plain_questions_have_plain_answers(survey_rr: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT age // 20 AS a, count(*) AS n, avg(smoker::INT) AS s FROM {} WHERE age > 30 GROUP BY age // 20 ORDER BY a"
    found = ask(survey_rr, query.format("survey_rr"))
    truth = survey_rr.execute(query.format("survey")).fetchall()
    assert [(row[0], row[1], row[5]) for row in found] == [pytest.approx(row) for row in truth]
    assert all(row[2] == 0 and row[6] == pytest.approx(0, abs=1e-9) for row in found)


def test_order_limit_and_names(survey_rr: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT disease AS d, count(*), count(*) AS n, count_if(smoker) FROM survey_rr GROUP BY d ORDER BY n DESC, 1 LIMIT 2"
    found = survey_rr.execute(f"FROM rr_query('{query}')")
    assert [column[0] for column in found.description] == [
        "d", "count", "count_std_error", "count_lower", "count_upper", "n", "n_std_error", "n_lower", "n_upper",
        "count_if", "count_if_std_error", "count_if_lower", "count_if_upper",
    ]  # fmt: skip
    rows = found.fetchall()
    assert len(rows) == 2
    assert rows[0][5] >= rows[1][5]


def test_null_stays_null_and_is_a_group(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 10 > 0 THEN (hash(i) % 3)::INTEGER END AS x FROM range(5000) AS r(i)"
    )
    con.execute("CREATE VIEW v AS FROM rr_mask('t', p={'x': 0.8}, key='id')")
    rows = {row[0]: row[1:] for row in ask(con, "SELECT x, count(*) FROM v GROUP BY x")}
    assert list(rows) == [0, 1, 2, None]
    assert rows[None][:2] == (pytest.approx(500), pytest.approx(0, abs=1e-6))
    assert sum(count for count, *_ in rows.values()) == pytest.approx(5000)
    assert ask(con, "SELECT count(x) FROM v")[0][:2] == (pytest.approx(4500), pytest.approx(0, abs=1e-5))


def test_by_hand_and_by_matrix(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute(f"CREATE TABLE released AS FROM rr_mask('survey', p={DESIGN}, key='id')")
    survey.execute(f"CREATE VIEW survey_rr AS FROM rr_mask('survey', p={DESIGN}, key='id')")
    query = "SELECT gender, count(*), avg((disease = 'flu')::INT) AS flu FROM {} WHERE age > 30 GROUP BY gender"
    by_view = ask(survey, query.format("survey_rr"))
    by_hand = ask(survey, query.format("released"), ", p={'gender': 0.9, 'disease': 0.8, 'age': 1}")
    assert by_hand == [pytest.approx(row) for row in by_view]
    rows = uniform(0.8, 3).tolist()
    by_matrix = ask(survey, query.format("released"), f", p={{'gender': 0.9, 'age': 1}}, matrix={{'disease': {rows}}}")
    assert by_matrix == [pytest.approx(row) for row in by_view]


def test_conditions_that_are_not_known(con: duckdb.DuckDBPyConnection) -> None:
    """NULL is neither met nor unmet: an average of a condition leaves it out, an average of CASE counts it as 0."""
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 4 > 0 THEN ['a', 'b', 'c'][1 + (hash(i) % 3)::INT] END AS x FROM range(40000) AS r(i)"
    )
    con.execute("CREATE VIEW v AS FROM rr_mask('t', p={'x': 0.9}, key='id')")
    con.execute("CREATE VIEW w AS FROM rr_mask('t', p={'x': 0.9}, key='id', on_null='level')")
    query = "SELECT avg((x = 'a')::INT) AS known, avg(CASE WHEN x = 'a' THEN 1 ELSE 0 END) AS all_rows, count(x) AS n, mean(x = 'a') AS m FROM {}"
    known, all_rows, n = con.execute(
        "SELECT avg((x = 'a')::INT), avg(CASE WHEN x = 'a' THEN 1 ELSE 0 END), count(x) FROM t"
    ).fetchone()
    con.execute("CREATE TABLE published AS FROM w")
    for relation, more in (("v", ""), ("w", ""), ("published", ", p={'x': 0.9}, on_null='level'")):
        [row] = ask(con, query.format(relation), more)
        for place, truth in ((0, known), (4, all_rows), (8, n), (12, known)):
            assert abs(row[place] - truth) <= 4.5 * row[place + 1] + 1e-9 * n, (relation, place)
        assert row[1] < 0.01
    assert abs(known - all_rows) > 0.05


def test_a_matrix_that_is_not_symmetric(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE t AS SELECT i AS id, least((hash(i) % 4)::INT, 2) AS x FROM range(50000) AS r(i)")
    matrix = "{'x': [[0.9, 0.3, 0.0], [0.1, 0.6, 0.2], [0.0, 0.1, 0.8]]}"
    con.execute(
        f"CREATE VIEW v AS FROM pram_mask('t', conf=['x'], matrix={matrix}, levels={{'x': [0, 1, 2]}}, key='id')"
    )
    truth = dict(con.execute("SELECT x, count(*) FROM t GROUP BY x").fetchall())
    for x, count, error, *_ in ask(con, "SELECT x, count(*) FROM v GROUP BY x"):
        assert abs(count - truth[x]) < 4.5 * error
    wanted = con.execute("SELECT count, std_error * 50000 FROM rr_reconstruct('v', ['x'], target='table')").fetchall()
    assert [row[1:3] for row in ask(con, "SELECT x, count(*) FROM v GROUP BY x")] == [
        pytest.approx(row) for row in wanted
    ]


def test_shares_of_a_population() -> None:
    """A share that is the whole of nothing else: its error is that of rr_reconstruct's share."""
    with duckdb.connect() as con:
        ppduck.load(con)
        con.execute("CREATE TABLE t AS SELECT (hash(i) % 3)::INT AS x FROM range(9000) AS r(i)")
        [(share, error, _, _)] = ask(con, "SELECT avg((x = 1)::INT) FROM t", ", p={'x': 0.8}, target='population'")
        wanted = con.execute("SELECT estimate, std_error FROM rr_reconstruct('t', ['x'], p=0.8) WHERE x = 1").fetchone()
        assert (share, error) == pytest.approx(wanted)


def test_what_is_not_known_has_no_error(survey_rr: duckdb.DuckDBPyConnection) -> None:
    none = ask(survey_rr, "SELECT avg((disease = 'flu')::INT) FROM survey_rr WHERE id > 99999")
    assert none == [(None, None, None, None)]
    survey_rr.execute("CREATE TABLE empty AS FROM survey LIMIT 0")
    assert ask(
        survey_rr,
        "SELECT count(*) FROM empty WHERE disease = 'flu'",
        ", p={'disease': 0.8}, levels={'disease': ['flu', 'cold']}, target='population'",
    ) == [(0, None, None, None)]
    # A denominator that may be 0: the share is given, but nothing is said of its error.
    [(share, error, lower, upper)] = ask(
        survey_rr, "SELECT avg(smoker::INT) FROM survey_rr WHERE gender = 'female' AND disease = 'flu'"
    )
    assert (error, lower, upper) == (None, None, None)
    assert share is not None


def test_grouping_tells_sums_from_levels(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 5 > 0 THEN (hash(i) % 2)::INT END AS x, i % 2 AS y FROM range(2000) AS r(i)"
    )
    con.execute("CREATE VIEW v AS FROM rr_mask('t', p={'x': 0.9}, key='id')")
    query = "SELECT x, y, GROUPING(x) AS gx, GROUPING(x, y) AS gxy, count(*) FROM {} GROUP BY CUBE (x, y)"
    found = {row[:4] for row in ask(con, query.format("v"))}
    assert found == {row[:4] for row in con.execute(query.format("t")).fetchall()}
    by_alias = ask(con, "SELECT X AS z, count() AS n FROM v GROUP BY x ORDER BY x DESC")
    assert [row[0] for row in by_alias] == [1, 0, None]


@pytest.mark.long
def test_ranges_cover(con: duckdb.DuckDBPyConnection) -> None:
    """95 % ranges of counts and shares hold what they are about in 93 to 97 of 100 tables."""
    rng = np.random.default_rng(47)
    population = np.array([[0.25, 0.2, 0.15], [0.05, 0.15, 0.2]])
    matrices = (uniform(0.9, 2), uniform(0.7, 3))
    # Many small tables as groups of a plain column: one query answers for all.
    drawn = rng.multinomial(2000, population.ravel(), 1500).reshape(-1, 2, 3)
    published = np.zeros_like(drawn)
    for a, b in np.ndindex(2, 3):
        start = np.zeros((2, 3))
        start[a, b] = 1
        spread = along_axes(start, matrices).ravel()
        published += np.array([rng.multinomial(n, spread) for n in drawn[:, a, b]]).reshape(-1, 2, 3)
    con.execute("CREATE TABLE cells (run INTEGER, a INTEGER, b INTEGER, n INTEGER)")
    rows = [(run, a, b, int(published[run, a, b])) for run, a, b in np.ndindex(*published.shape)]
    con.executemany("INSERT INTO cells VALUES (?, ?, ?, ?)", rows)
    con.execute("CREATE TABLE released AS SELECT run, a, b FROM cells, range(n)")
    query = "SELECT run, count(*) AS n, avg((b = 2)::INT) AS s FROM released WHERE a = 1 GROUP BY run ORDER BY run"
    found = con.execute(f"FROM rr_query('{query}', p={{'a': 0.9, 'b': 0.7, 'run': 1}})").fetchnumpy()
    count, share = drawn[:, 1].sum(axis=1), drawn[:, 1, 2] / drawn[:, 1].sum(axis=1)
    for name, truth in (("n", count), ("s", share)):
        inside = (found[f"{name}_lower"] <= truth) & (truth <= found[f"{name}_upper"])
        assert 0.93 <= inside.mean() <= 0.97, name
        assert found[name].mean() == pytest.approx(truth.mean(), rel=0.01)


REFUSED = [
    ("SELECT * FROM survey_rr", r"names columns by \* or COLUMNS"),
    ("SELECT disease FROM survey_rr", r"asks for \"disease\", which is neither grouped by nor a count"),
    ("SELECT gender FROM survey_rr GROUP BY gender", r"asks for no count and no average of a condition"),
    ("SELECT age, count(*) FROM survey_rr GROUP BY gender", r"asks for \"age\", which is neither grouped by"),
    ("DELETE FROM survey_rr", r"is the statement DELETE; only one SELECT"),
    ("CREATE TABLE x AS SELECT 1", r"is the statement CREATE; only one SELECT"),
    ("INSERT INTO survey SELECT * FROM survey_rr", r"is the statement INSERT; only one SELECT"),
    ("SELECT count(*) FROM survey_rr; DROP TABLE survey", r"holds 2 statements"),
    ("SELEC count(*)", r"the query (cannot be parsed|is no SELECT)"),
    ("SELECT count(*) FROM survey_rr WHERE (", r"the query cannot be parsed"),
    ("", r"holds 0 statements"),
    ("SELECT count(*)", r"reads no relation"),
    ("SELECT count(*) FROM survey_rr JOIN survey USING (id)", r"joins another relation"),
    ("SELECT count(*) FROM survey_rr, survey", r"joins another relation"),
    ("SELECT count(*) FROM (SELECT * FROM survey_rr)", r"nests another query; make it a view"),
    ("WITH s AS (FROM survey_rr) SELECT count(*) FROM s", r"has a WITH clause"),
    ("SELECT count(*) FROM survey_rr WHERE id IN (SELECT id FROM survey)", r"nests another query"),
    ("SELECT count(*) FROM survey_rr UNION SELECT count(*) FROM survey_rr", r"combines queries"),
    ("SELECT disease, count(*) FROM survey_rr GROUP BY disease HAVING count(*) > 3", r"has a HAVING clause"),
    ("SELECT DISTINCT disease, count(*) FROM survey_rr GROUP BY disease", r"has a DISTINCT clause"),
    ("SELECT count(*) OVER () FROM survey_rr", r"has a window function"),
    ("SELECT count(DISTINCT disease) FROM survey_rr", r"how many values are different cannot be told"),
    ("SELECT avg(age) FROM survey_rr", r"AVG\(\"age\"\) cannot be answered; counts and averages of conditions can"),
    ("SELECT max(disease) FROM survey_rr", r"MAX\(\"disease\"\) cannot be answered"),
    ("SELECT avg(CASE WHEN disease = 'flu' THEN 1 END) FROM survey_rr", r"cannot be answered"),
    ("SELECT sum(CASE WHEN disease = 'flu' THEN 2 ELSE 0 END) FROM survey_rr", r"cannot be answered"),
    ("SELECT count(*) FROM survey_rr WHERE random() < 0.5", r"calls RANDOM\(\), which gives another value whenever it is called"),
    ("SELECT count(*) FROM survey_rr WHERE diseas = 'flu'", r'reads column "diseas", which does not exist\. Did you mean "disease"'),
    ("SELECT count(*) FROM survey_rr WHERE other.disease = 'flu'", r"reads other\.disease, which is no column of \"survey_rr\""),
    ("SELECT count(*) FROM survey_rrr", r'the planner cannot see "survey_rrr"\. Did you mean "survey_rr"'),
    ("SELECT count(*) FROM survey WHERE disease = 'flu'", r'"survey" is no view over rr_mask or pram_mask'),
    ("SELECT count(*) FROM range(3)", r"reads a function; make a view of it"),
    ("SELECT disease, count(*) FROM survey_rr GROUP BY disease ORDER BY age", r"ORDER BY \"age\" is no column of the answer"),
    ("SELECT count(*) FROM survey_rr WHERE count(*) > 3", r"has an aggregate in WHERE"),
    ("SELECT count(*) FROM survey_rr WHERE disease = ?", r"has a parameter; put its value into the text"),
    ("SELECT count(*) FROM survey_rr WHERE COLUMNS('disease') = 'flu'", r"names columns by \* or COLUMNS"),
    ("SELECT count(*) FROM survey_rr AS s(a, b) WHERE a = 1", r"renames the columns of its relation"),
    ("SELECT gender, count(*) FROM survey_rr GROUP BY gender, CUBE (gender)", r"has a grouping set twice"),
    ("SELECT count(*) FROM survey_rr LIMIT 50%", r"LIMIT takes a number of rows"),
    ("SELECT disease, count(*) FROM survey_rr GROUP BY 1.5", r"GROUP BY 1.5 is no item of the query"),
    ("SELECT count(*) FROM survey_rr WHERE coin()", r"calls COIN\(\), a macro, which may hide anything"),
    ("SELECT count(*) FROM survey_rr WHERE uuid()::VARCHAR < disease", r"calls UUID\(\), which gives another value"),
    ("SELECT fsum(age) FROM survey_rr", r"calls FSUM\(.*\), an aggregate that cannot be answered"),
    ("SELECT disease, count(*) FROM survey_rr GROUP BY 5", r"GROUP BY 5 is no item of the query"),
    ("SELECT disease AS x, gender AS x, count(*) FROM survey_rr GROUP BY disease, gender", r'two columns the name "x"'),
]  # fmt: skip


def test_what_is_refused(survey_rr: duckdb.DuckDBPyConnection) -> None:
    survey_rr.execute("CREATE MACRO coin() AS random() < 0.5")
    for query, message in REFUSED:
        with pytest.raises(duckdb.InvalidInputException, match=f"rr_query.*{message}"):
            ask(survey_rr, query)
    assert survey_rr.execute("SELECT count(*) FROM survey").fetchone() == (6000,)


def test_designs_that_are_refused(survey: duckdb.DuckDBPyConnection) -> None:
    query = "SELECT count(*) FROM survey WHERE disease = 'flu'"
    for more, message in (
        (", p={'gender': 0.9}", r'p is missing for column "disease"'),
        (", p=0.9", r"p is one number; say which columns were randomized"),
        (", p={'diseas': 0.9}", r'p names column "diseas", which does not exist\. Did you mean "disease"'),
        (", p={'disease': 0.3333333333333333}", r'column "disease" cannot be reconstructed: p = 1/3'),
        (", levels={'disease': ['flu']}", r"levels and on_null belong to p or matrix"),
        (
            ", p={'disease': 0.9}, levels={'disease': ['flu', 'cancer']}",
            r"a randomized column holds a value that is none of its levels",
        ),
    ):
        with pytest.raises(duckdb.InvalidInputException, match=message):
            ask(survey, query, more)
    survey.execute(f"CREATE VIEW survey_rr AS FROM rr_mask('survey', p={DESIGN}, key='id')")
    with pytest.raises(duckdb.InvalidInputException, match=r"the definition of the view says how it was randomized"):
        ask(survey, query.replace("survey", "survey_rr"), ", p={'disease': 0.5}")
    survey.execute("CREATE TABLE wide AS SELECT *, id % 50 AS a, id % 60 AS b FROM survey")
    with pytest.raises(duckdb.InvalidInputException, match=r"3,000 combinations of levels, more than the 2,000"):
        ask(survey, "SELECT a, b, count(*) FROM wide GROUP BY a, b", ", p={'a': 0.9, 'b': 0.9}")
