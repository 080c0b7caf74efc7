"""One trip to the database for one statement: what was asked is remembered until its calls are planned.

A view that holds a masking call is planned whenever a cursor of the planner reads it, and those plans ask the same
questions again. All of them, however deep, share the trip of the statement that a user wrote. The next statement
of its connection begins another, and sees what has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from ppduck.catalogue.reader import Reader
from ppduck.frozen import frozen

Answer = TypeVar("Answer")


@frozen
class Entry:
    """A table or view of the catalogue."""

    database: str
    schema: str
    name: str
    is_view: bool
    created: str  # the statement that made a view
    rows: int | None  # about how many, of a table


class Trip:
    """The answers of one trip."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[Any, tuple[Any, ...]]] = {}
        self._records: list[Any] = []

    def once(self, question: Hashable, ask: Callable[[], Answer]) -> Answer:
        """The answer to a question that is asked once; a failure is no answer.

        What is recorded on the way to an answer is recorded again whenever it is given.
        """
        known = self._answers.get(question)
        if known is None:
            before = len(self._records)
            try:
                answer = ask()
            except BaseException:
                del self._records[before:]
                raise
            self._answers[question] = (answer, tuple(self._records[before:]))
            return answer
        found: Answer = known[0]
        self._records += known[1]
        return found

    def record(self, fact: Any) -> None:
        """What a planned call tells of itself to those who read over it: rr_mask its design to rr_reconstruct."""
        self._records.append(fact)

    def captured(self, ask: Callable[[], Answer]) -> tuple[Answer, tuple[Any, ...]]:
        """An answer, and what was recorded on the way, which is then recorded no more."""
        before = len(self._records)
        answer = ask()
        found = tuple(self._records[before:])
        del self._records[before:]
        return answer, found

    def recorded_by(self, ask: Callable[[], Any]) -> tuple[Any, ...]:
        """What is recorded while something is asked."""
        before = len(self._records)
        ask()
        return tuple(self._records[before:])

    def entries(self, reader: Reader) -> tuple[Entry, ...]:
        """All tables and views that the planner can see."""
        return self.once("entries", lambda: _entries(reader))


def _entries(reader: Reader) -> tuple[Entry, ...]:
    query = (
        "SELECT database_name, schema_name, view_name, true, coalesce(sql, ''), NULL FROM duckdb_views() "
        "WHERE NOT internal "
        "UNION ALL SELECT database_name, schema_name, table_name, false, '', estimated_size FROM duckdb_tables() "
        "WHERE NOT internal"
    )
    return tuple(Entry(*row) for row in reader.execute(query).fetchall())
