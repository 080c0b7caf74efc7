"""release_intersection(): two releases of known ground tell what theory says, and the same one twice tells nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.errors import PpduckError
from ppduck.kernels.distortion import uniform
from ppduck.measures._number_sums import NumbersSpec, NumbersTold
from ppduck.measures.release_intersection import NAME, solve
from tests.laws import insert, matrix

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
N = 400


@pytest.fixture
def people(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A table of two open and two confidential numbers, a category and quasi-identifiers."""
    rng = np.random.default_rng(9)
    s = rng.normal(size=(N + 10, 2))
    x = 50_000 + 8_000 * s @ [1.0, -0.5] + 9_000 * rng.normal(size=N + 10)
    insert(
        con, "numbers", ["s1", "s2", "income", "wealth"], np.column_stack([s, x, 3 * x + 1e4 * rng.normal(size=N + 10)])
    )
    con.execute(
        "CREATE TABLE people AS SELECT *, 20 + (hash(id * 7) % 60)::INTEGER AS age, (hash(id * 11) % 90)::INTEGER AS zip, "
        "'d' || hash(id * 3) % 6 AS disease FROM numbers"
    )
    return con


def egadp(rows: str, conf: str = "['income']", mask: str = "egadp_mask") -> str:
    return f"{mask}('(SELECT id, s1, s2, income, wealth FROM people WHERE {rows})', conf={conf}, nonconf=['s1','s2'], key='id'"


def released(con: duckdb.DuckDBPyConnection, name: str, call: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE {name} AS FROM {call})")


CALL = "FROM release_intersection('one', 'two', key='id', conf=['income'], nonconf=['s1','s2'], original='people')"
BLIND = "FROM release_intersection('one', 'two', key='id', conf=['income'], nonconf=['s1','s2'])"


@pytest.mark.parametrize("mask", ["egadp_mask", "ipso_mask"])
@pytest.mark.parametrize(("added", "solved"), [(1, 1), (2, 2), (3, 3), (4, 0)])
def test_rows_that_exact_sums_have_more_are_solved_up_to_one_a_sum(
    people: duckdb.DuckDBPyConnection, ask: Ask, mask: str, added: int, solved: int
) -> None:
    """Two open columns and a constant are three sums."""
    released(people, "one", egadp(f"id < {N}", mask=mask))
    released(people, "two", egadp(f"id < {N + added}", mask=mask))
    row, _ = ask(CALL)
    assert (row["attack"], row["column_name"], row["rows"]) == ("differencing", "income", added)
    assert (row["success"], row["baseline"], row["gain"]) == (solved / added, 0, solved / added)
    assert f"{solved} of {added} row" in row["says"]
    blind, _ = ask(BLIND)
    if added < 3:
        assert (blind["success"], blind["rows"]) == (1, added)
        assert f"exact, with {3 - added} to spare" in blind["says"]
    elif added == 3:
        assert blind["success"] is None
        assert "there is none to spare" in blind["says"]
    else:
        assert blind["success"] == 0
        assert "one equation is missing" in blind["says"]


def test_rows_that_went_and_rows_that_came_are_solved_together(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    released(people, "one", egadp(f"id < {N}", "['income','wealth']", "sufficiency_mask") + ", alpha=0.3")
    released(people, "two", egadp(f"id BETWEEN 2 AND {N}", "['income','wealth']", "sufficiency_mask") + ", alpha=0.3")
    rows = ask(CALL.replace("['income']", "['income','wealth']"))
    found = {row["column_name"]: (row["success"], row["rows"]) for row in rows if row["attack"] == "differencing"}
    assert found == {"income": (1, 3), "wealth": (1, 3)}


def test_sums_that_are_not_exact_tell_no_row(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    noise = "noise_mask('(FROM people WHERE id < {})', conf=['income'], level=0.2, key='id', seed={}"
    released(people, "one", noise.format(N, 1))
    released(people, "two", noise.format(N + 1, 2))
    row, _ = ask(CALL)
    assert (row["success"], row["rows"]) == (0, 1)
    assert "1 other off by" in row["says"]
    row, _ = ask(BLIND)
    assert (row["success"], row["rows"]) == (None, 1)
    assert "by 1 sum, if exact, as those of egadp_mask and its kin are; no other agrees" in row["says"]
    released(people, "two", noise.format(N + 2, 2))
    row, _ = ask(BLIND)
    assert row["success"] == 0
    assert "no sums agree" in row["says"]


def test_an_open_column_that_the_mask_did_not_use_does_not_hide_what_the_sum_tells(
    people: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    for used, says in (("['s1']", "2 sums with s1"), ("[]", "1 sum")):
        for name, rows in (("one", f"id < {N}"), ("two", f"id <= {N}")):
            released(people, name, egadp(rows).replace("nonconf=['s1','s2']", f"nonconf={used}"))
        for call in (CALL, CALL.replace("nonconf=['s1','s2'], ", "")):
            row, _ = ask(call)
            assert row["success"] == 1
            assert row["says"].endswith(f"solved by {says}")
        row, _ = ask(BLIND)
        assert row["success"] == (1 if "s1" in used else None)


def test_sums_of_rounded_values_tell_nearly(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    people.execute("CREATE TABLE whole AS SELECT id, s1, s2, round(income)::INTEGER AS income FROM people")
    for name, rows in (("one", f"id < {N}"), ("two", f"id <= {N}")):
        people.execute(
            f"CREATE TABLE {name} AS FROM egadp_mask('(FROM whole WHERE {rows})', conf=['income'], key='id', round=true)"
        )
    row, _ = ask(CALL.replace("'people'", "'whole'"))
    assert row["success"] == 0
    off = float(row["says"].partition("1 other off by ")[2].split()[0])
    assert off < 0.005


def test_a_part_of_the_same_release_tells_nothing(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """The sums differ by what is published, which all equations agree on."""
    released(people, "one", egadp(f"id < {N}"))
    people.execute("CREATE TABLE two AS FROM one WHERE id <> 5")
    for call in (CALL, BLIND):
        for row in ask(call):
            assert (row["success"], row["gain"], row["lower"], row["upper"]) == (None, 0, 0, 0)
            assert "same value in both" in row["says"]


def test_more_rows_than_are_solved_for_are_counted(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    people.execute(
        "CREATE TABLE one AS SELECT i AS id, sin(i) AS s1, cos(i) AS s2, sin(i * 3) AS income FROM range(10500) r(i)"
    )
    people.execute("CREATE TABLE two AS SELECT * REPLACE (income + sin(id * 7) AS income) FROM one WHERE id < 400")
    row, _ = ask(BLIND)
    assert (row["success"], row["rows"]) == (0, 10_100)
    assert "more than the 10000 that are solved for" in row["says"]


@pytest.mark.parametrize("level", [0.2, 0.5])
def test_the_mean_of_two_noisy_values_tells_what_theory_says(
    con: duckdb.DuckDBPyConnection, ask: Ask, level: float
) -> None:
    """R² = 1/(1 + level/2) beside 1/(1 + level); within five standard errors 2·√R²·(1 - R²)/√n."""
    rng = np.random.default_rng(1)
    insert(con, "t", ["x"], 30 + rng.normal(size=(4000, 1)))
    for name, seed in (("one", 1), ("two", 2)):
        released(con, name, f"noise_mask('t', conf=['x'], level={level}, key='id', seed={seed}")
    call = "FROM release_intersection('one', 'two', key='id', conf=['x']{})"
    for more in (", original='t'", ""):
        _, row = ask(call.format(more))
        both, one = 1 / (1 + level / 2), 1 / (1 + level)
        for name, expected in (("success", both), ("baseline", one)):
            assert abs(row[name] - expected) < 5 * 2 * (1 - expected) / np.sqrt(4000)
        assert row["lower"] < both - one < row["upper"]
        assert (row["attack"], row["rows"]) == ("averaging", 4000)
    x, y, z = matrix(con, "SELECT t.x, one.x, two.x FROM t JOIN one USING (id) JOIN two USING (id)").T
    design = np.column_stack([np.ones(4000), y, z])
    left = x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
    _, row = ask(call.format(", original='t'"))
    assert row["success"] == pytest.approx(1 - left.var() / x.var())


def test_noise_that_is_orthogonal_is_not_averaged_out(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    released(people, "one", egadp(f"id < {N}"))
    released(people, "two", egadp(f"id <= {N}"))
    _, row = ask(CALL)
    assert 0 <= row["gain"] < 0.001
    assert row["lower"] < 0 < row["upper"]
    _, blind = ask(BLIND)
    assert (blind["success"], blind["baseline"], blind["gain"]) == (0, 0, 0)
    assert "no more in common than chance" in blind["says"]


def test_joint_groups_are_smaller(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    generalize = "generalize_mask('(SELECT id, age, zip, disease FROM people)', qi={}, k={}"
    released(people, "one", generalize.format("['age','zip']", 4))
    released(people, "two", generalize.format("['zip','age']", 6))
    rows = {
        row["attack"]: row
        for row in ask("FROM release_intersection('one', 'two', key='id', conf=['disease'], qi=['age','zip'])")
    }
    joint = "SELECT one.age a, one.zip b, two.age c, two.zip d, one.disease x FROM one JOIN two USING (id)"
    [(few, alike, n)] = people.execute(
        f"SELECT sum(n) FILTER (n < 3), sum(n) FILTER (v = 1), sum(n) FROM "
        f"(SELECT count(*) n, count(DISTINCT x) v FROM ({joint}) GROUP BY a, b, c, d)"
    ).fetchall()
    found = rows["intersection"]
    assert (found["column_name"], found["rows"], found["baseline"]) == ("age, zip", n, 0)
    assert found["success"] == pytest.approx(few / n)
    assert found["lower"] < found["gain"] == found["success"] > 0.1
    alone = max(
        people.execute(
            f"SELECT coalesce(sum(n) FILTER (v = 1), 0) / sum(n) FROM "
            f"(SELECT count(*) n, count(DISTINCT disease) v FROM {table} GROUP BY age, zip)"
        ).fetchall()[0][0]
        for table in ("one", "two")
    )
    assert rows["homogeneity"]["success"] == pytest.approx(alike / n)
    assert rows["homogeneity"]["baseline"] == pytest.approx(alone)
    assert alone <= rows["composition"]["success"] <= rows["homogeneity"]["success"]
    [(common,)] = people.execute(
        "SELECT count(*) FILTER (len(list_intersect(o.v, t.v)) = 1) / count(*) FROM one JOIN two USING (id) "
        "JOIN (SELECT age, zip, list(DISTINCT disease) v FROM one GROUP BY ALL) o ON (o.age, o.zip) = (one.age, one.zip) "
        "JOIN (SELECT age, zip, list(DISTINCT disease) v FROM two GROUP BY ALL) t ON (t.age, t.zip) = (two.age, two.zip)"
    ).fetchall()
    assert rows["composition"]["success"] == pytest.approx(common)
    assert rows["randomized"]["gain"] == 0
    assert {
        row["gain"]
        for row in ask("FROM release_intersection('one', 'one', key='id', conf=['disease'], qi=['age','zip'])")
    } == {0}


def test_groups_of_anatomy_have_few_values_in_common(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    for name, rows in (("one", "true"), ("two", "id > 0")):
        released(
            people, name,
            f"anatomy_mask('(SELECT id, age, disease FROM people WHERE {rows})', qi=['age'], sensitive='disease', l=2, "
            "part='qit', key='id', keep=['id']",
        )  # fmt: skip
    first, second = ask("FROM release_intersection('one', 'two', key='id', conf=['disease'], original='people')")
    assert (first["attack"], first["column_name"], first["rows"]) == ("intersection", "group_id", N + 9)
    assert (second["attack"], second["baseline"]) == ("composition", 0)
    assert second["success"] > 0.4
    [alone] = ask("FROM release_intersection('one', 'two', key='id')")
    assert alone == first


@pytest.mark.parametrize("by", ["views", "hand"])
def test_two_answers_tell_what_bayes_says(survey: duckdb.DuckDBPyConnection, ask: Ask, by: str) -> None:
    """Both answers with numpy: the shares as they are, not as they are estimated, within a few standard errors."""
    kind, more = ("VIEW", "") if by == "views" else ("TABLE", ", p=0.6, p_second=0.55")
    survey.execute(f"CREATE {kind} one AS FROM rr_mask('survey', p={{'disease': 0.6}}, key='id')")
    survey.execute(f"CREATE {kind} two AS FROM rr_mask('survey', p={{'disease': 0.55}}, key='id')")
    shares = np.array(
        [
            n / 6000
            for (n,) in survey.execute("SELECT count(*) FROM survey GROUP BY disease ORDER BY disease").fetchall()
        ]
    )
    one, other = uniform(0.6, 3), uniform(0.55, 3)
    pairs = np.einsum("aj,bj->abj", one, other) * shares
    expected = pairs.max(axis=2).sum()
    alone = max((m * shares).max(axis=1).sum() for m in (one, other))
    assert expected > alone + 0.01
    for original in ("", ", original='survey'"):
        first, certain = ask(f"FROM release_intersection('one', 'two', key='id', conf=['disease']{more}{original})")
        assert (first["attack"], certain["attack"], first["rows"]) == ("randomized", "certain", 6000)
        assert first["success"] == pytest.approx(expected, abs=0.02)
        assert first["baseline"] == pytest.approx(alone, abs=0.02)
        assert first["lower"] < first["gain"] < first["upper"]


def test_answers_that_agree_tell_surely(survey: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    survey.execute("CREATE TABLE one AS FROM rr_mask('survey', p={'disease': 0.85}, key='id')")
    survey.execute("CREATE TABLE two AS FROM rr_mask('survey', p={'disease': 0.86}, key='id')")
    _, row = ask(
        "FROM release_intersection('one', 'two', key='id', conf=['disease'], p=0.85, p_second=0.86, original='survey')"
    )
    assert (row["attack"], row["baseline"]) == ("certain", 0)
    assert row["success"] == pytest.approx(0.85 * 0.86, abs=0.02)


def test_the_same_answers_gain_nothing(survey: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Answers hang on key, column, value and design: two views of one design publish the same."""
    for name in ("one", "two"):
        survey.execute(f"CREATE VIEW {name} AS FROM rr_mask('survey', p={{'disease': 0.8, 'smoker': 0.7}}, key='id')")
    for row in ask("FROM release_intersection('one', 'two', key='id', conf=['disease','smoker'])"):
        assert (row["attack"], row["gain"], row["rows"]) == ("randomized", 0, 6000)
        assert "the same answer in both" in row["says"]


def test_answers_of_unknown_designs_ask_for_p(survey: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    survey.execute("CREATE TABLE one AS FROM rr_mask('survey', p={'disease': 0.8}, key='id')")
    [row] = ask("FROM release_intersection('one', 'survey', key='id', conf=['disease'])")
    assert row["success"] is None
    assert "give p := {'disease': …}" in row["says"]


def test_a_number_that_was_randomized_is_an_answer(survey: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    survey.execute("CREATE TABLE one AS SELECT id, (id % 3)::INTEGER AS visits FROM survey")
    survey.execute("CREATE VIEW v1 AS FROM rr_mask('one', p={'visits': 0.8}, key='id')")
    survey.execute("CREATE VIEW v2 AS FROM rr_mask('one', p={'visits': 0.7}, key='id')")
    for call in ("'v1', 'v2'", "'(FROM v1)', '(FROM v2)'"):
        more = "" if "(" not in call else ", p={'visits': 0.8}, p_second={'visits': 0.7}"
        rows = ask(f"FROM release_intersection({call}, key='id', conf=['visits']{more})")
        assert [row["attack"] for row in rows] == ["randomized", "certain"]


def test_one_thread_and_any_order_give_the_same_rows(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    released(people, "one", egadp(f"id < {N}", "['income','wealth']"))
    released(people, "two", egadp(f"id < {N + 2}", "['income','wealth']"))
    people.execute("CREATE TABLE turned AS FROM two ORDER BY hash(id)")
    call = "FROM release_intersection('one', '{}', key='id', conf=['income','wealth'], original='people')"
    first = ask(call.format("two"))
    people.execute("SET threads = 1")
    for row, other in zip(first, ask(call.format("turned")), strict=True):
        assert row["says"] == other["says"]
        assert [other[name] for name in ("success", "gain", "lower")] == pytest.approx(
            [row[name] for name in ("success", "gain", "lower")], abs=1e-9
        )


def test_null_stays_null_and_is_no_row(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    people.execute(f"UPDATE people SET income = NULL WHERE id IN (3, {N})")
    released(people, "one", egadp(f"id < {N}"))
    released(people, "two", egadp(f"id < {N + 2}"))
    row, averaged = ask(CALL)
    assert (row["success"], row["rows"]) == (1, 1)
    assert averaged["rows"] == N - 1


def test_odd_names_and_keys_of_several_columns_and_types(people: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    odd = """(SELECT id // 2 AS "k ""1", id % 2 AS "select", s1 AS "s'1", s2, income AS "x'1" FROM people WHERE id < {})"""
    for name, rows in (("one", N), ("two", N + 1)):
        masked = odd.format(rows).replace("'", "''")
        people.execute(f"""CREATE TABLE {name} AS FROM egadp_mask('{masked}', conf=['x''1'], key=['k "1', 'select'])""")
    people.execute("""ALTER TABLE two ALTER "k ""1" TYPE DOUBLE""")
    row, _ = ask(
        """FROM release_intersection('one', 'two', key=['k "1', 'select'], conf=['x''1'], original='{}')""".format(
            odd.format(N + 5).replace("'", "''")
        )
    )
    assert (row["column_name"], row["success"], row["rows"]) == ("x'1", 1, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'people', 'people', key='id'", "there is nothing to look at; name confidential columns"),
        ("'people', 'people', key=[], conf=['income']", "key is empty"),
        ("'people', 'people', key='ic', conf=['income']", 'key names column "ic", which does not exist. Did you mean "id"?'),
        ("'people', '(SELECT id FROM people)', key='id', conf=['income']", 'conf names column "income", which "(SELECT id FROM people)" does not have'),
        ("'people', 'people', key='age', conf=['income']", 'of the 410 rows of "people" have a key of their own'),
        ("'people', '(SELECT * REPLACE (if(id = 5, NULL, id) AS id) FROM people)', key='id', conf=['income']", "is NULL in 1 of the 410 rows"),
        ("'people', '(SELECT * REPLACE (id + 9999 AS id) FROM people)', key='id', conf=['income']", "they tell nothing together"),
        ("'people', '(SELECT * REPLACE (''nan''::DOUBLE AS income) FROM people)', key='id', conf=['income']", 'is in "income"'),
        ("'people', 'people', key='id', conf=['id']", 'column "id" is in both key and conf'),
        ("'people', 'people', key='id', qi=['ages']", 'qi names column "ages", which neither release has. Did you mean "age"?'),
        ("'people', '(SELECT id, zip FROM people)', key='id', qi=['age']", "qi names no column of"),
        ("'people', 'people', key='id', conf=['age'], qi=['age']", 'column "age" is in both conf and qi'),
        ("'people', 'people', key='id', conf=['disease'], p={'age': 0.8}", 'p names column "age", which conf does not'),
        ("'people', 'people', key='id', conf=['income'], nonconf=['income']", 'column "income" is in both conf and nonconf'),
        ("'people', '(SELECT * REPLACE (s1::VARCHAR AS s1) FROM people)', key='id', conf=['income'], nonconf=['s1']", "it must be published alike"),
        ("'people', '(SELECT * REPLACE (income::VARCHAR AS income) FROM people)', key='id', conf=['income']", "they cannot be compared"),
        ("'people', 'nowhere', key='id', conf=['income']", 'cannot see "nowhere"'),
        ("'people', '', key='id', conf=['income']", "a table must be named"),
    ],
)  # fmt: skip
def test_bad_input_is_named(people: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="release_intersection") as caught:
        people.execute(f"FROM release_intersection({call})").fetchall()
    assert message in str(caught.value)


def test_a_view_that_is_hidden_meanwhile_is_refused(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("CREATE VIEW one AS FROM rr_mask('survey', p={'disease': 0.8}, key='id')")
    survey.execute("CREATE VIEW two AS FROM rr_mask('survey', p={'disease': 0.7}, key='id')")
    survey.execute("CREATE TEMP TABLE two AS FROM survey")
    with pytest.raises(duckdb.InvalidInputException, match="a temporary table hides it"):
        survey.execute("FROM release_intersection('one', 'two', key='id', conf=['disease'])").fetchall()


def test_infinite_sums_are_refused_by_name() -> None:
    spec = NumbersSpec(NAME, "one", ["x"], [], False)
    zero = np.zeros(1)
    told = NumbersTold(
        3, np.array([np.inf]), zero, np.zeros(0), zero, zero, zero, zero, zero, zero, None, 0, zero, zero
    )
    with pytest.raises(PpduckError, match='infinity or a number too large to square is in "x"'):
        solve(spec, told)
