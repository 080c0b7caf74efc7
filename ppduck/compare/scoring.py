"""Masks a table by each method, several times, and scores every release with protection_score()."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ppduck
from ppduck.catalogue.source import Column
from ppduck.compare.methods import Method
from ppduck.errors import PpduckError, listed, near_miss
from ppduck.frozen import frozen
from ppduck.query import tree as sql

OWN = "DLD_own"  # linkage by distance where each table is standardised by itself; in no score
MEASURES = ("IL", "DLD", "PLD", "ID", "DR", "score", "score_simplified", OWN)


@frozen
class Run:
    """The measures of one release, for an intruder who knows so many columns."""

    method: Method
    run: int
    known: int
    measures: dict[str, float | None]


class Table:
    """The data in a database of its own, with a key, and the numeric columns that are masked."""

    def __init__(self, path: Path, columns: Sequence[str] | None = None) -> None:
        if not path.is_file():
            raise PpduckError(f"there is no file {str(path)!r}.")
        self.con: Any = ppduck.connect()
        # the runs are told of, not each statement
        self.con.execute("SET enable_progress_bar = false")
        described = self.con.execute("DESCRIBE SELECT * FROM " + _literal_name(path)).fetchall()
        found = [Column(str(row[0]), str(row[1])) for row in described]
        numbers = [column.name for column in found if column.is_numeric]
        for name in columns or ():
            if name not in numbers:
                raise PpduckError(
                    f"{path.name} has no numeric column {name!r}.{near_miss(name, numbers)} Columns: {listed(numbers)}."
                )
        self.columns = list(dict.fromkeys(columns or numbers))
        if len(self.columns) < 2:
            raise PpduckError(
                f"{path.name} has {len(self.columns)} numeric columns; at least 2 are compared."
            )
        self.key = "row"
        while any(column.name == self.key for column in found):
            self.key += "_"
        own = ", ".join(sql.render(sql.name(name)) for name in self.columns)
        self.con.execute(
            f"CREATE TABLE original AS SELECT row_number() OVER () AS {sql.render(sql.name(self.key))}, {own} "
            f"FROM {_literal_name(path)}"
        )

    def mask(self, method: Method, seed: int) -> None:
        """Writes ``masked``; the seed makes a comparison that can be repeated, and no release."""
        chance = f", seed := {seed}" if method.by_chance else ""
        key = sql.render(sql.text(self.key))
        self.con.execute(
            f"CREATE OR REPLACE TABLE masked AS FROM {method.mask}('original', conf := {_list(self.columns)}, "
            f"{method.parameters}, "
            f"key := {key}{chance})"
        )

    def score(self, known: int, *, probabilistic: bool) -> dict[str, float | None]:
        key = sql.render(sql.text(self.key))
        found = self.con.execute(
            f"SELECT measure, value FROM protection_score('original', 'masked', conf := {_list(self.columns)}, "
            f"key := {key}, known := {known}, probabilistic := {str(probabilistic).lower()})"
        )
        scores = {
            str(name): None if value is None else float(value) for name, value in found.fetchall()
        }
        [(share,)] = self.con.execute(
            f"SELECT linked_share FROM record_linkage('original', 'masked', conf := {_list(self.columns[:known])}, "
            f"key := {key}, standardise := 'own')"
        ).fetchall()
        return {**scores, OWN: 100 * float(share)}


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(sql.render(sql.text(name)) for name in names) + "]"


def _literal_name(path: Path) -> str:
    return sql.render(sql.text(str(path)))


def runs_of(
    table: Table,
    methods: Sequence[Method],
    known: Sequence[int],
    runs: int,
    *,
    probabilistic: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Run]:
    """Every method as often as asked, or once where there is no chance in it."""
    for number, method in enumerate(methods, 1):
        times = runs if method.by_chance else 1
        for run in range(times):
            tell(f"{method.name} ({number} of {len(methods)}), run {run + 1} of {times}")
            table.mask(method, run)
            for each in known:
                yield Run(method, run, each, table.score(each, probabilistic=probabilistic))
