"""release_attack(): a copy is found out whole, a permutation is at chance, noise in between, and a control is heeded."""

from __future__ import annotations

import io
import re

import duckdb
import numpy as np
import pytest

from ppduck import progress
from ppduck.attacks.release_attack import ATTACKS
from ppduck.call.registry import function_named
from tests.attacks.conftest import ROWS, Attack
from tests.attacks.simulated_gain import held
from tests.laws import steady

pytestmark = pytest.mark.core
CONTROL = ", control='others'"
ROWS_READ = re.compile(rf'release_attack on "t": ([\d,]+) of {3 * ROWS:,} rows read')
SOUGHT = "singling_out','linkability','inference','membership"


def permuted(con: duckdb.DuckDBPyConnection) -> None:
    """Incomes dealt out at random, whoever earns them."""
    con.execute(
        "CREATE TABLE dealt AS SELECT t.* REPLACE (other.income AS income) FROM (SELECT *, row_number() OVER (ORDER BY "
        "hash(id, 'a')) AS place FROM t) t JOIN (SELECT income, row_number() OVER (ORDER BY hash(id, 'b')) AS place "
        "FROM t) other USING (place)"
    )
    con.execute("ALTER TABLE dealt DROP COLUMN place")


def test_a_copy_gives_all_away(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    found = attack("t", SOUGHT, f"{CONTROL}, known=['age','segment']")
    by = {(row["attack"], row["method"]): row for row in found}
    for method in ("nearest", "mahalanobis", "assignment"):
        assert by["linkability", method]["success"] > 0.999, method
        assert by["linkability", method]["lower"] > 0.5, method
    assert by["inference", "boosted_trees"]["success"] == 1
    assert by["membership", "nearest_record"]["success"] > 0.99
    # as many as have nobody within the same window of income, age and segment
    [(alone,)] = people.execute(
        "WITH s AS (SELECT stddev_pop(income) AS i, stddev_pop(age) AS a FROM t) SELECT avg(CAST(n = 1 AS INTEGER)) FROM "
        "(SELECT count(*) AS n FROM (FROM t ORDER BY hash(id) LIMIT 2000) one JOIN t two ON abs(one.income - two.income) "
        "<= 0.05 * (SELECT i FROM s) AND abs(one.age - two.age) <= 0.05 * (SELECT a FROM s) AND one.segment = two.segment "
        "GROUP BY one.id)"
    ).fetchall()
    assert by["singling_out", "predicates"]["success"] == pytest.approx(alone, abs=0.002)
    assert by["singling_out", "predicates"]["baseline"] < 0.1
    assert by["singling_out", "predicates"]["lower"] > 0


def test_a_permutation_is_at_chance(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    permuted(people)
    for row in attack("dealt", "", CONTROL):
        if row["attack"] in ("singling_out", "inference", "differencing", "order"):
            assert row["lower"] <= 0 <= row["upper"], row
    [row] = [row for row in attack("dealt", "linkability", ", known=['age','zip']") if row["method"] == "nearest"]
    assert row["lower"] <= 0 <= row["upper"]


def test_less_noise_gives_more_away(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("DELETE FROM t WHERE id >= 1200")
    found = []
    for level in (1.0, 0.1, 0.001):
        people.execute(
            f"CREATE OR REPLACE TABLE r AS FROM noise_mask('t', conf=['income','debt'], level={level}, key='id')"
        )
        rows = attack("r", "linkability','inference", ", known=['segment']", conf="['income','debt']")
        found.append({(row["method"], row["column_name"]): row["success"] for row in rows})
    for measured in [("nearest", None), ("mahalanobis", None), ("assignment", None), ("boosted_trees", "income")]:
        shares = [each[measured] for each in found]
        assert shares == sorted(shares), measured
        assert shares[-1] > shares[0] + 0.3, measured


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ppduck.errors.PpduckWarning")
def test_egadp_lets_nothing_be_inferred(people: duckdb.DuckDBPyConnection) -> None:
    """In 19 of 20 simulations; ``python -m tests.attacks.simulated_gain`` draws 100."""
    assert held(people, range(20)) >= 19


@pytest.mark.parametrize("p", [0.5, 0.8])
def test_randomized_answers_are_guessed_as_their_posterior_allows(
    people: duckdb.DuckDBPyConnection, attack: Attack, p: float
) -> None:
    """Σ_i max_j π_j P_ij: the best guess is the likeliest true answer of each that is given."""
    people.execute("UPDATE t SET segment = 'a' WHERE segment = 'b' AND id % 2 = 0")
    people.execute(f"CREATE TABLE r AS FROM rr_mask('t', p={{'segment': {p}}}, key='id')")
    [row] = attack("r", "inference", ", known=['debt'], sample=3000", conf="['segment']")
    shares = dict(people.execute("SELECT segment, count(*) / sum(count(*)) OVER () FROM t GROUP BY segment").fetchall())
    prior = np.array(list(shares.values()))
    given = np.where(np.eye(3, dtype=bool), p, (1 - p) / 2)
    bound = (prior[:, None] * given).max(axis=0).sum()
    assert row["success"] == pytest.approx(bound, abs=3 * np.sqrt(bound * (1 - bound) / ROWS))
    assert row["column_name"] == "segment"


def test_what_is_true_of_anybody_is_no_gain(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    """Means by age are released: they tell as much of people who are not in the release."""
    people.execute("UPDATE t SET income = 1000 * (age // 20) + debt")
    people.execute("UPDATE others SET income = 1000 * (age // 20) + debt")
    people.execute("CREATE TABLE r AS SELECT * REPLACE (1000 * (age // 20) AS income) FROM t")
    [row] = attack("r", "inference", f"{CONTROL}, known=['age']")
    assert row["success"] > 0.99
    assert row["control"] > 0.99
    assert row["lower"] <= 0.005


def test_every_attack_has_a_row_that_tells(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    found = attack("t")
    assert list(dict.fromkeys(row["attack"] for row in found)) == list(ATTACKS)
    without = {row["method"]: row["says"] for row in found if row["success"] is None}
    assert without["nearest_record"].startswith("not asked: it takes control")
    assert without["two_sources"].startswith("not asked: it takes control")
    assert without["mean_of_ten_reads"] == "not asked: a table is the same at every read"
    for row in found:
        assert row["says"]
        if row["success"] is not None:
            assert row["gain"] == pytest.approx(row["success"] - max(row["baseline"], row["control"] or 0), abs=2e-4)
            assert -1 <= row["lower"] <= row["gain"] <= row["upper"] <= 1


def test_one_thread_two_threads_and_another_order_give_the_same(
    people: duckdb.DuckDBPyConnection, attack: Attack
) -> None:
    people.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['income'], level=0.1, key='id')")
    people.execute("CREATE TABLE r2 AS FROM r ORDER BY hash(id, 'other')")
    asked = "singling_out','linkability','membership','differencing"
    answers = []
    for threads, release in ((1, "r"), (2, "r"), (2, "r2")):
        people.execute(f"SET threads = {threads}")
        answers.append(
            [{name: steady(value) for name, value in row.items()} for row in attack(release, asked, CONTROL)]
        )
    assert answers[0] == answers[1] == answers[2]


def test_no_answer_quotes_a_value(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("DELETE FROM t WHERE id >= 600")
    people.execute("UPDATE t SET segment = 'sesame' WHERE segment = 'a'")
    told = str(attack("t", "", CONTROL, conf="['segment']"))
    assert "sesame" not in told


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (", known=['income']", r'column "income" is in both conf and known'),
        (", known=['id']", r'column "id" is in both key and known'),
        (", known=['agee']", r'known names column "agee", which does not exist\. Did you mean "age"'),
        (", attacks=['guess']", r"attacks takes a list of attacks among 'singling_out'"),
        (", control='nobody'", r'cannot see "nobody"'),
        (", control='(SELECT age FROM t)'", r'control has no column "zip".*'),
        (", sample=10", r"sample must be a whole number from 100 to 20000|sample .*100"),
    ],
)
def test_what_is_wrong_is_told(people: duckdb.DuckDBPyConnection, attack: Attack, more: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        attack("t", "", more)


def test_keys_that_do_not_match_are_refused(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("CREATE TABLE r AS FROM t WHERE id > 10")
    with pytest.raises(duckdb.InvalidInputException, match=r"do not match one to one: 11 of the 3000 rows"):
        attack("r", "order")


def test_the_example_is_of_the_function() -> None:
    assert "release_attack(" in function_named("release_attack").example


def test_progress_moves_through_the_rows_and_is_told_to_terminals_only(
    people: duckdb.DuckDBPyConnection, attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    for drawn in (True, False):
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda drawn=drawn: drawn)
        monkeypatch.setattr("sys.stderr", terminal)
        attack("t", SOUGHT, f"{CONTROL}, known=['age']")
        lines = [line.strip() for line in terminal.getvalue().split("\r") if line.strip()]
        reads = [int(found[1].replace(",", "")) for line in lines if (found := ROWS_READ.fullmatch(line))]
        assert (len(reads) > 1) == drawn
        assert reads == sorted(set(reads))
        assert ('release_attack on "t": inference: 3 of 4 models' in lines) == drawn
        assert not drawn or terminal.getvalue().endswith(" \r")
