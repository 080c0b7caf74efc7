"""What ppduck says when it refuses: one exception, one message template, near misses suggested."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 200


class PpduckError(ValueError):
    """A call that ppduck refuses; the message says which rule was broken, by what, and what would do.

    ``ppduck.load``, ``ppduck.connect`` and the release gate raise it. What SQL calls comes through DuckDB, which
    passes the same message on as a ``duckdb.InvalidInputException``.

    Example
    -------
    >>> import ppduck
    >>> try:
    ...     ppduck.connect(secret="short")
    ... except ppduck.PpduckError as error:
    ...     print(error)
    ppduck.load: secret is too short to protect anything; give 16 bytes or more.
    """


class UnreadError(PpduckError):
    """What the planner asked DuckDB for and did not get; the text quotes no value, as DuckDB's own may.

    ``unseen`` is true of what may be there and only not be visible from here, such as a temporary table.
    """

    def __init__(self, said: str, *, unseen: bool) -> None:
        super().__init__(said)
        self.unseen = unseen


class PpduckWarning(UserWarning):
    """A call that ppduck carries out, though its result will be poor."""


def quoted(name: str) -> str:
    """A name as it would be written in SQL, for use in messages."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str], at_most: int = 20) -> str:
    """Names for a message, cut where the list would bury the message."""
    every = [quoted(name) for name in names]
    more = f" and {len(every) - at_most} more" if len(every) > at_most else ""
    return ", ".join(every[:at_most]) + more


def near_miss(name: str, options: Iterable[str]) -> str:
    """' Did you mean "x1"?' where an option is close to the name, else nothing."""
    matcher = difflib.SequenceMatcher(b=name.casefold())
    best, likeness = "", 0.0
    for option in options:
        matcher.set_seq1(option.casefold())
        if matcher.ratio() > likeness:
            best, likeness = option, matcher.ratio()
    # An option that is the name itself is there, but not to be had: no news to the user.
    return f" Did you mean {quoted(best)}?" if 0.5 <= likeness < 1 else ""


def _short(table: str) -> str:
    """A table's name; of a SELECT in its place, as much as tells which it is."""
    return table if len(table) <= _LONGEST else f"{table[:_LONGEST]}…"


class Faults:
    """Gathers what is wrong with one call, so that several faults arrive in one message."""

    def __init__(self, function: str, table: str | None = None) -> None:
        self.function = function
        self.table = table
        self._found: list[str] = []

    @property
    def where(self) -> str:
        return f"{self.function} on {quoted(_short(self.table))}" if self.table else self.function

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, fault: str) -> None:
        self._found.append(fault)

    def refuse(self, fault: str) -> PpduckError:
        """The exception for this fault and all gathered before it, to be raised by the caller."""
        self.add(fault)
        return self._error()

    def raise_if_any(self) -> None:
        if self._found:
            raise self._error()

    def _error(self) -> PpduckError:
        return PpduckError(f"{self.where}: " + "\n  also: ".join(self._found))
