"""Releases of a table of categories at equal l, and the table that an analyst estimates from each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import ppduck
from ppduck.errors import PpduckError, listed, near_miss
from ppduck.query import tree as sql
from ppduck.values import Array

MOST_CELLS = 1_000_000
KEY = "_row"


class Original:
    """The columns of a file that are compared, as texts, in a database of its own."""

    def __init__(
        self, path: Path, qi: Sequence[str], sensitive: str, order: Mapping[str, str] | None = None
    ) -> None:
        if not path.is_file():
            raise PpduckError(f"there is no file {str(path)!r}.")
        self.con: Any = ppduck.connect()
        self.con.execute("SET enable_progress_bar = false")
        file = sql.render(sql.text(str(path)))
        known = [str(row[0]) for row in self.con.execute(f"DESCRIBE FROM {file}").fetchall()]
        if not qi:
            raise PpduckError("--qi is empty; name the quasi-identifiers.")
        self.columns = [*qi, sensitive]
        order = {name: by for name, by in (order or {}).items() if name in self.columns}
        for name in [*self.columns, *order.values()]:
            if name not in known:
                raise PpduckError(
                    f"{path.name} has no column {name!r}.{near_miss(name, known)} Columns: {listed(known)}."
                )
        if len(set(self.columns)) < len(self.columns):
            raise PpduckError("a column is named twice among --qi and --sensitive.")
        present = " AND ".join(f"{_name(name)} IS NOT NULL" for name in self.columns)
        texts = ", ".join(
            f"CAST({_name(name)} AS VARCHAR) AS {_name(name)}" for name in self.columns
        )
        self.levels = [self._levels(name, order.get(name, name), file) for name in self.columns]
        self.con.execute(
            f"CREATE TABLE original AS SELECT row_number() OVER () AS {_name(KEY)}, {texts} FROM {file} WHERE {present}"
        )
        self.shape = tuple(map(len, self.levels))
        if prod(self.shape) > MOST_CELLS:
            raise PpduckError(
                f"the columns have {prod(self.shape):,} cells, more than {MOST_CELLS:,}; name fewer."
            )
        self.counts = self.table("original", self.columns)
        self.n = float(self.counts.sum())

    @property
    def qi(self) -> list[str]:
        return self.columns[:-1]

    @property
    def sensitive(self) -> str:
        return self.columns[-1]

    def _levels(self, name: str, by: str, file: str) -> list[str]:
        """The levels as texts, in the order of their type or of another column."""
        own, other = _name(name), _name(by)
        rows = self.con.execute(
            f"SELECT CAST({own} AS VARCHAR) FROM {file} WHERE {own} IS NOT NULL GROUP BY {own} ORDER BY min({other}), 1"
        ).fetchall()
        return [str(row[0]) for row in rows]

    def table(self, source: str, columns: Sequence[str]) -> Array:
        """Counts of some columns of a table that has the same levels."""
        own = [self.levels[self.columns.index(name)] for name in columns]
        names = ", ".join(map(_name, columns))
        found = np.zeros([len(levels) for levels in own])
        places = [{level: i for i, level in enumerate(levels)} for levels in own]
        for *values, count in self.con.execute(
            f"SELECT {names}, count(*) FROM {source} GROUP BY ALL"
        ).fetchall():
            found[tuple(place[value] for place, value in zip(places, values, strict=True))] = count
        return found

    @property
    def _named(self) -> str:
        qi = ", ".join(sql.render(sql.text(name)) for name in self.qi)
        return f"qi := [{qi}], sensitive := {sql.render(sql.text(self.sensitive))}"

    def parameters(self, l: float) -> dict[str, float]:  # noqa: E741
        """The keep probabilities of the quasi-identifiers for a risk of at most 1/l."""
        rows = self.con.execute(
            f"SELECT column_name, p FROM rr_optimize('original', {self._named}, l := {l}, randomize := 'qi')"
        ).fetchall()
        return {str(name): float(p) for name, p in rows}


Estimate = Callable[[Original, int, int], Array]


def randomized(method: str) -> Estimate:
    """RR-QI: quasi-identifiers randomized by the best parameters, the table reconstructed."""

    def estimate(original: Original, l: int, run: int) -> Array:  # noqa: E741
        p = original.parameters(l)
        asked = {name: keep for name, keep in p.items() if name != original.sensitive}
        original.con.execute(
            f"CREATE OR REPLACE TABLE released AS FROM rr_mask('original', p := {_struct(asked)}, key := '{KEY}', "
            f"seed := {run})"
        )
        levels = ", ".join(
            f"{sql.render(sql.text(name))}: [{', '.join(sql.render(sql.text(level)) for level in own)}]"
            for name, own in zip(original.columns, original.levels, strict=True)
        )
        names = ", ".join(sql.render(sql.text(name)) for name in original.columns)
        rows = original.con.execute(
            f"SELECT estimate FROM rr_reconstruct('released', [{names}], p := {_struct(p)}, levels := {{{levels}}}, "
            f"method := '{method}')"
        ).fetchnumpy()
        return np.asarray(rows["estimate"], dtype=float).reshape(original.shape)

    return estimate


def anatomized(original: Original, l: int, run: int) -> Array:  # noqa: E741
    """Anatomy: within a group every row may have any of the group's sensitive values."""
    call = f"anatomy_mask('original', {original._named}, l := {l}, key := '{KEY}', seed := {run}, part := '{{}}')"
    for part in ("qit", "st"):
        original.con.execute(f"CREATE OR REPLACE TABLE {part} AS FROM {call.format(part)}")
    names = ", ".join(f"qit.{_name(name)}" for name in original.qi)
    rows = original.con.execute(
        f'SELECT {names}, st.{_name(original.sensitive)}, sum(st."count" / size) FROM qit '
        f'JOIN st USING (group_id) JOIN (SELECT group_id, sum("count") AS size FROM st GROUP BY group_id) '
        "USING (group_id) GROUP BY ALL"
    ).fetchall()
    found = np.zeros(original.shape)
    places = [{level: i for i, level in enumerate(levels)} for levels in original.levels]
    for *values, count in rows:
        found[tuple(place[value] for place, value in zip(places, values, strict=True))] = count
    return np.asarray(found / found.sum())


def generalized(diversity: str) -> Estimate:
    """Generalisation: within a box of values all combinations are taken to be equally frequent."""

    def estimate(original: Original, l: int, run: int) -> Array:  # noqa: E741
        # Codes in place of texts, so that no level can be taken for a list of levels.
        codes = ", ".join(
            f"printf('%05d', (list_position([{', '.join(sql.render(sql.text(level)) for level in levels)}], "
            f"{_name(name)}))::INTEGER - 1) AS {_name(name)}"
            for name, levels in zip(original.qi, original.levels, strict=False)
        )
        own = _name(original.sensitive)
        source = f"(SELECT {codes}, {own} FROM original)".replace("'", "''")
        names = ", ".join(map(_name, original.qi))
        rows = original.con.execute(
            f"SELECT {names}, {own}, count(*) FROM generalize_mask('{source}', {original._named}, k := {l}, l := {l}, "
            f"diversity := '{diversity}') GROUP BY ALL"
        ).fetchall()
        found = np.zeros(original.shape)
        place = {level: i for i, level in enumerate(original.levels[-1])}
        for *boxes, value, count in rows:
            within = [
                list(range(size)) if box == "*" else [int(code) for code in box.split("|")]
                for box, size in zip(boxes, original.shape, strict=False)
            ]
            found[np.ix_(*within, [place[value]])] += count / prod(map(len, within))
        return np.asarray(found / found.sum())

    return estimate


METHODS: dict[str, Estimate] = {
    "RR-QI": randomized("moment"),
    "RR-QI (mle)": randomized("mle"),
    "Anatomy": anatomized,
    "Generalisation": generalized("frequency"),
    "Generalisation (entropy)": generalized("entropy"),
}
BY_CHANCE = {"RR-QI", "RR-QI (mle)", "Anatomy"}


def _name(text: str) -> str:
    return sql.render(sql.name(text))


def _struct(values: dict[str, float]) -> str:
    return (
        "{"
        + ", ".join(
            f"{sql.render(sql.text(name))}: {value!r}::DOUBLE" for name, value in values.items()
        )
        + "}"
    )
