"""What a mask has to say of the release that it makes: gathered over the groups of a call, and said once.

DuckDB calls a function for some groups at a time, in several threads. What they note is kept until all of these are
done; of one query, the same is said of the same column only once.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ppduck.errors import PpduckWarning, quoted
from ppduck.frozen import frozen

_MOST_CALLS = 256
_here = threading.local()


@frozen
class Note:
    """A sentence about columns, each with a figure, such as '{columns} stay near{groups}; take more noise'.

    ``size`` says which group is the worst.
    """

    where: str  # function and table
    sentence: str
    column: str = ""
    figure: str = ""
    size: float = 0.0
    group: str | None = None
    query: int = 0


def add(note: Note) -> None:
    """Keeps a note until the groups at hand are done; what nobody gathers is said at once."""
    gathered = getattr(_here, "gathered", None)
    if gathered is None:
        _warn([note])
    else:
        gathered.append(note)


class Speaker:
    """Says what was noted, for one database: its queries have numbers of their own."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, int], set[tuple[str, str]]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def gathering(self) -> Iterator[None]:
        gathered: list[Note] = []
        _here.gathered = gathered
        try:
            yield
        finally:
            _here.gathered = None
        news = self._news(gathered)
        if news:
            _warn(news)

    def _news(self, notes: Sequence[Note]) -> list[Note]:
        """Without what was said before of the same query."""
        with self._lock:
            before = {
                (note.where, note.query): set(self._said.get((note.where, note.query), ()))
                for note in notes
            }
            for note in notes:
                self._said.setdefault((note.where, note.query), set()).add(
                    (note.sentence, note.column)
                )
            while len(self._said) > _MOST_CALLS:
                self._said.popitem(last=False)
        return [
            note
            for note in notes
            if (note.sentence, note.column) not in before[note.where, note.query]
        ]


def _warn(notes: Sequence[Note]) -> None:
    for where in dict.fromkeys(note.where for note in notes):
        own = [note for note in notes if note.where == where]
        sentences = dict.fromkeys(note.sentence for note in own)
        said = [
            _said(sentence, [note for note in own if note.sentence == sentence])
            for sentence in sentences
        ]
        warnings.warn(f"{where}: " + "\n  also: ".join(said), PpduckWarning, stacklevel=4)


def _said(sentence: str, notes: list[Note]) -> str:
    """The sentence with its columns, each with the figure of its worst group."""
    worst = sorted(notes, key=lambda note: -note.size)
    by_column = {note.column: note for note in reversed(worst)}
    columns = [
        quoted(name) + (f" ({by_column[name].figure})" if by_column[name].figure else "")
        for name in dict.fromkeys(note.column for note in notes)
    ]
    groups = list(dict.fromkeys(note.group for note in worst if note.group))
    told = f" in the group {groups[0]}" if groups else ""
    if len(groups) > 1:
        told = f" in several groups, such as {groups[0]},"
    for mark in ",:;":
        sentence = sentence.replace(f"{{groups}}{mark}", f"{told.rstrip(',')}{mark}")
    return sentence.replace("{groups}", told).replace("{columns}", ", ".join(columns))
