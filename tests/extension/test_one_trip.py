"""A statement makes one trip: a view over a mask is planned once for it, and the catalogue is asked once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.catalogue.trip import Trip
from ppduck.extension.connections import Planner
from ppduck.extension.cursor import PlanningCursor

RECONSTRUCT = "FROM rr_reconstruct('survey_rr', ['gender','disease'])"


@pytest.fixture
def survey() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret="sixteen bytes or more") as con:
        con.execute(
            "CREATE TABLE survey AS SELECT i AS id, ['f', 'm'][1 + i % 2] AS gender, "
            "['flu', 'none', 'cold'][1 + i % 3] AS disease FROM range(600) AS rows(i)"
        )
        con.execute("CREATE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9, 'disease': 0.8}, key='id')")
        yield con


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function is planned, and how many queries the planner runs."""
    found: Counter[str] = Counter()
    plan, execute = Planner._planned, PlanningCursor.execute

    def counted_plan(self, trip, function, *told):  # type: ignore[no-untyped-def]
        found[function.name] += 1
        return plan(self, trip, function, *told)

    def counted_execute(self, query, parameters=None):  # type: ignore[no-untyped-def]
        found["queries"] += 1
        return execute(self, query, parameters)

    monkeypatch.setattr(Planner, "_planned", counted_plan)
    monkeypatch.setattr(PlanningCursor, "execute", counted_execute)
    return found


def test_a_view_is_planned_once_for_a_call(survey: duckdb.DuckDBPyConnection, planned: Counter[str]) -> None:
    """And once more by DuckDB itself, which binds what was planned: 2, not 6; 16 queries, not 63."""
    survey.execute(f"EXPLAIN {RECONSTRUCT}")
    assert planned["rr_reconstruct"] == 1
    assert planned["rr_mask"] == 2
    assert planned["queries"] <= 16


def test_a_query_asks_of_its_columns_once(survey: duckdb.DuckDBPyConnection, planned: Counter[str]) -> None:
    survey.execute("EXPLAIN FROM rr_query('SELECT gender, disease, count(*) FROM survey_rr GROUP BY ALL')")
    assert planned["rr_mask"] == 2
    assert planned["queries"] <= 20


def test_two_calls_of_a_statement_make_one_trip(survey: duckdb.DuckDBPyConnection, planned: Counter[str]) -> None:
    rows = survey.execute(f"{RECONSTRUCT} UNION ALL {RECONSTRUCT}").fetchall()
    assert len(rows) == 12
    assert planned["rr_reconstruct"] == 1
    assert planned["rr_mask"] == 2


@pytest.mark.parametrize("before", ["SELECT 1", "BEGIN"])
def test_two_statements_make_two_trips(survey: duckdb.DuckDBPyConnection, planned: Counter[str], before: str) -> None:
    survey.execute(before)
    for _ in range(2):
        survey.execute(RECONSTRUCT).fetchall()
    assert planned["rr_reconstruct"] == 2


def test_a_relation_sees_what_has_changed(survey: duckdb.DuckDBPyConnection) -> None:
    """DuckDB binds it before there is a statement, and again when it runs."""
    with survey.cursor() as other:
        for rows, change in ((6, "UPDATE survey SET disease = 'cancer' WHERE id = 1"), (8, "SELECT 1")):
            assert len(survey.sql(RECONSTRUCT).fetchall()) == rows
            other.execute(change)


def test_a_release_that_is_read_ten_times_is_planned_once(
    survey: duckdb.DuckDBPyConnection, planned: Counter[str]
) -> None:
    """And once for what the planner reads of it."""
    survey.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(50) AS rows(i)")
    survey.execute("CREATE VIEW r AS FROM noise_mask('t', conf=['x'], level=0.2, key='id')")
    planned.clear()
    survey.execute("EXPLAIN FROM averaging_attack('t', 'r', conf=['x'], key='id')")
    assert planned["noise_mask"] == 2


def test_the_next_call_sees_what_has_changed(survey: duckdb.DuckDBPyConnection) -> None:
    assert len(survey.execute(RECONSTRUCT).fetchall()) == 6
    survey.execute("UPDATE survey SET disease = 'cancer' WHERE id = 1")
    assert len(survey.execute(RECONSTRUCT).fetchall()) == 8
    survey.execute("CREATE OR REPLACE VIEW survey_rr AS FROM rr_mask('survey', p={'gender': 0.9}, key='id')")
    found = survey.execute(f"SELECT estimate = observed FROM ({RECONSTRUCT})").fetchall()
    assert len(found) == 8


def test_a_refusal_ends_its_trip(survey: duckdb.DuckDBPyConnection) -> None:
    survey.execute("ALTER TABLE survey RENAME TO away")
    for _ in range(2):
        with pytest.raises(duckdb.Error, match='rr_reconstruct on "survey_rr": the planner cannot see'):
            survey.execute(RECONSTRUCT)
    survey.execute("ALTER TABLE away RENAME TO survey")
    assert len(survey.execute(RECONSTRUCT).fetchall()) == 6


def test_threads_make_their_own_trips(survey: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    survey.execute("CREATE TABLE other AS SELECT id, gender, 'x' || disease AS disease FROM survey")
    survey.execute("CREATE VIEW other_rr AS FROM rr_mask('other', p={'disease': 0.8}, key='id')")
    trips: dict[int, set[int]] = {}
    entries = Trip.entries

    def noticed(self, reader):  # type: ignore[no-untyped-def]
        trips.setdefault(threading.get_ident(), set()).add(id(self))
        return entries(self, reader)

    monkeypatch.setattr(Trip, "entries", noticed)
    found: dict[str, list[str]] = {}

    def ask(view: str) -> None:
        with ppduck.load(survey.cursor()) as cursor:
            statement = f"SELECT disease FROM rr_reconstruct('{view}', ['disease'])"
            for _ in range(5):
                found[view] = [row[0] for row in cursor.execute(statement).fetchall()]

    threads = [threading.Thread(target=ask, args=(view,)) for view in ("survey_rr", "other_rr")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"survey_rr": ["cold", "flu", "none"], "other_rr": ["xcold", "xflu", "xnone"]}
    assert len(trips) == 2
