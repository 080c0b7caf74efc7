"""One trip for one call: every question is asked once, and what is recorded on the way to an answer comes with it."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.catalogue.trip import Entry, Trip

pytestmark = pytest.mark.core


class Asked:
    """Counts how often it is asked."""

    def __init__(self, trip: Trip, *facts: str) -> None:
        self.trip, self.facts, self.times = trip, facts, 0

    def __call__(self) -> int:
        self.times += 1
        for fact in self.facts:
            self.trip.record(fact)
        return self.times


def test_a_question_is_asked_once() -> None:
    trip = Trip()
    ask = Asked(trip)
    assert [trip.once("a", ask), trip.once("a", ask), trip.once("b", ask)] == [1, 1, 2]


def test_none_is_an_answer() -> None:
    trip, times = Trip(), []
    for _ in range(2):
        assert trip.once("levels", lambda: times.append(1)) is None
    assert times == [1]


def test_the_next_trip_asks_again() -> None:
    ask = Asked(Trip())
    assert [Trip().once("a", ask), Trip().once("a", ask)] == [1, 2]


def test_what_was_recorded_comes_with_every_answer() -> None:
    """Whoever reads over a view is told of the mask in it, whether it is planned for him or was before."""
    trip = Trip()
    ask = Asked(trip, "design")
    assert [trip.recorded_by(lambda: trip.once("a", ask)) for _ in range(2)] == [("design",)] * 2
    inner = lambda: trip.once("outer", lambda: trip.once("a", ask))  # noqa: E731
    assert [trip.recorded_by(inner) for _ in range(2)] == [("design",)] * 2
    assert trip.recorded_by(lambda: None) == ()


def test_a_failure_is_no_answer_and_records_nothing() -> None:
    trip = Trip()

    def fail() -> None:
        trip.record("half")
        raise ValueError("unread")

    for _ in range(2):
        with pytest.raises(ValueError, match="unread"):
            trip.once("a", fail)
    assert trip.once("a", Asked(trip, "design")) == 1
    assert trip.recorded_by(lambda: trip.once("a", fail)) == ("design",)


class Rows:
    def __init__(self) -> None:
        self.queries: list[str] = []

    def execute(self, query: str, parameters: object = None) -> Any:
        self.queries.append(query)
        return self

    def fetchall(self) -> list[Any]:
        return [("db", "main", "v", True, "CREATE VIEW v AS SELECT 1", None), ("db", "main", "t", False, "", 7)]

    def extract_statements(self, query: str) -> list[Any]:
        raise NotImplementedError


def test_the_catalogue_is_listed_once() -> None:
    trip, reader = Trip(), Rows()
    entries = trip.entries(reader)
    assert trip.entries(Rows()) == entries
    assert entries[1] == Entry("db", "main", "t", False, "", 7)
    assert len(reader.queries) == 1
