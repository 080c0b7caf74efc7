"""The gate on a corpus of releases: it refuses every one that tells, and passes every one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb
import pytest

from ppduck.gate.rules import DEFAULTS
from tests.gate.corpus import MASKED, SAFE, UNSAFE, Case, prepare, release_of

pytestmark = [pytest.mark.core, pytest.mark.long]
# Unsafe releases that pass, and why nothing is done about them.
STILL_PASSES: dict[str, str] = {
    "one noise for each two rows": "the noise is as large as it should be: only who knows which rows share it takes it off",
}
# Unsafe for a column that is not masked.
BESIDE = tuple(case for case in UNSAFE if case.column and case.column not in (*case.conf, case.key))
# Somebody may declare it without a second look, and as to some it was declared.
DECLARABLE = tuple(case for case in BESIDE if not case.more.startswith(("keep=", "pseudonyms=")))
# Those that pass once their column is named in keep, and why.
PASSES_IF_DECLARED: dict[str, str] = {
    "birth dates to the day": "keep answers for a date that an intruder may know; k asks of it with others, by qi",
    "insurance numbers": "whole numbers that somebody declared are taken for figures, as a person's weight is one",
    "insurance numbers as DOUBLE": "the same",
    "account numbers in a sequence": "the same",
    "a changed column nobody declared": "that is all that was wrong with it",
}
# Declaring a column takes rules away and adds none: what is refused then need not be asked about twice.
ASKED_ONCE = tuple(case for case in UNSAFE if case not in DECLARABLE or case.name in PASSES_IF_DECLARED)
# Rules of masked columns, which are those of a safe release there, say nothing of another column, and take their time.
NOT_OF_MASKED = "limits={" + ", ".join(f"'{rule}': NULL" for rule in DEFAULTS) + "}"


@pytest.fixture(scope="module")
def tables(loaded: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    prepare(loaded)
    return loaded


@pytest.fixture
def con(tables: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Keeps the tables for the next test, but for the release."""
    before = _relations(tables)
    yield tables
    for name, kind in _relations(tables).items():
        if name not in before:
            tables.execute(f'DROP {kind} "{name}"')


def _relations(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    query = """
        SELECT table_name, 'TABLE' FROM duckdb_tables() WHERE NOT internal
        UNION ALL SELECT view_name, 'VIEW' FROM duckdb_views() WHERE NOT internal
        """
    return dict(con.execute(query).fetchall())


def _each(cases: tuple[Case, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def _failed(con: duckdb.DuckDBPyConnection, case: Case) -> set[tuple[str, str | None]]:
    """The rules that a release does not pass, and their columns."""
    release_of(con, case)
    rows = con.execute(f"SELECT rule, column_name, passed {case.question}").fetchall()
    assert rows
    return {(rule, column) for rule, column, passed in rows if passed is False}


def _of_its_column(case: Case, *more: str) -> Case:
    """The same release, with no question but those that are of a column which is not masked."""
    of_numbers = NOT_OF_MASKED if "disease" not in case.conf else ""
    return replace(case, more=", ".join(filter(None, (case.more, *more, of_numbers))))


def test_the_corpus_is_large_and_its_names_are_unique() -> None:
    assert (len(UNSAFE), len(SAFE), len(DECLARABLE)) == (109, 68, 40)  # as examples/gate.md says
    given = [case.given for case in (*UNSAFE, *SAFE)]
    assert len(set(given)) == len(given)
    unsafe = {case.name for case in UNSAFE}
    assert set(STILL_PASSES) <= unsafe
    assert len(STILL_PASSES) <= 1
    assert set(PASSES_IF_DECLARED) <= {case.name for case in DECLARABLE}


def test_what_unsafe_releases_are_made_from_is_safe() -> None:
    """But for masked_coded: its key tells."""
    assert {f"FROM {name}" for name in MASKED} - {case.release for case in SAFE} == {"FROM masked_coded"}


@_each(UNSAFE)
def test_an_unsafe_release_tells(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    release = release_of(con, case)
    told = con.execute(f"SELECT {case.tells} FROM {case.original} o JOIN {release} r USING ({case.key})").fetchone()
    assert told == (True,)


@_each(SAFE)
def test_a_safe_release_is_masked(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    """No more values are as they were than chance makes equal, or than a design says."""
    release = release_of(con, case)
    pairs = f"{case.original} o JOIN {release} r USING ({case.key})"
    there = [column[0] for column in con.execute(f"FROM {release} LIMIT 0").description]
    for name in (name for name in case.conf if name in there):
        [(kept, rows)] = con.execute(
            f"SELECT avg((o.{name}::VARCHAR = r.{name}::VARCHAR)::INT), count(*) FROM {pairs}"
        ).fetchall()
        counts = con.execute(f"SELECT count(*) FROM {case.original} GROUP BY {name}").fetchall()
        chance = sum((count / rows) ** 2 for (count,) in counts)
        assert kept < max(chance, 0.4 if "p=" in case.more else 0) + 0.05


@_each(ASKED_ONCE)
def test_an_unsafe_release_is_refused_for_what_it_tells(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    failed = _failed(con, _of_its_column(case) if case in BESIDE else case)
    if case.name in STILL_PASSES:
        assert not failed
    else:
        assert (case.rule, case.column) in failed


@_each(DECLARABLE)
def test_an_unsafe_column_is_refused_though_declared(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    failed = _failed(con, _of_its_column(case, f"keep=['{case.column}']"))
    if case.name in PASSES_IF_DECLARED:
        assert not failed
    else:
        assert (case.rule, case.column) in failed


@_each(SAFE)
def test_a_safe_release_passes(con: duckdb.DuckDBPyConnection, case: Case) -> None:
    assert _failed(con, case) == set()
