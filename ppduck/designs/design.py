"""A design: which columns are randomized, over which levels, and with which probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Call, ColumnNames, MisreadError, parameter
from ppduck.call.ranges import Range
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.kernels import distortion
from ppduck.values import Array, folded

MOST_LEVELS = 1000
MOST_MATRIX_LEVELS = 200
DIGITS = 9  # of a probability; a draw tells 2**-32 apart
FINEST = 10.0**-DIGITS
_SUM_TOLERANCE = 1e-9
_MORE_CATEGORIES = {"DATE", "UUID"}

Levels = tuple[str | None, ...]
Matrix = list[list[float]]
Probability = float | Mapping[str, float]  # of all columns, or by column

probability = arguments.per_column(arguments.number(Range(FINEST, 1 - FINEST, also=1)))


@arguments.reader(
    "{'column': [[…], …]}, a square list of rows for each column, matrix[i][j] = Pr(level j becomes i)",
    columns=ColumnNames.KEYED,
)
def matrix_per_column(value: Any) -> dict[str, Matrix]:
    if not isinstance(value, Mapping):
        raise MisreadError
    result = {}
    for name, rows in value.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise MisreadError
        numbers = [cell for row in rows for cell in row]
        if not all(
            isinstance(cell, (int, float, Decimal)) and not isinstance(cell, bool)
            for cell in numbers
        ):
            raise MisreadError
        result[str(name)] = [[float(cell) for cell in row] for row in rows]
    return result


@arguments.reader(
    "{'column': ['level', …]}, a list of levels for each column", columns=ColumnNames.KEYED
)
def levels_per_column(value: Any) -> dict[str, list[Any]]:
    if not isinstance(value, Mapping) or not all(
        isinstance(levels, list) for levels in value.values()
    ):
        raise MisreadError
    return {str(name): levels for name, levels in value.items()}


def probabilities(either: str, most: str = "") -> tuple[Any, Any]:
    """p and matrix; ``either`` says when which of them is to be given."""
    p = "the probability to keep a value, one number or {'column': 0.9}"
    matrix = "{'column': [[…], …]} where matrix[i][j] is Pr(level j is published as i)"
    return (
        parameter(probability, f"{p}; {either}", None),
        parameter(matrix_per_column, f"{matrix}{most}; {either}", None),
    )


P, MATRIX = probabilities("a column has p or matrix, not both")
LEVELS: Any = parameter(
    levels_per_column, "{'column': ['a', 'b']}: the domain, in the order of matrix", None
)


@frozen
class DesignWords:
    """What a call says of a design: None where it does not say."""

    p: Probability | None = None
    matrix: Mapping[str, Matrix] | None = None
    levels: Mapping[str, list[Any]] | None = None
    null_is_level: bool = False

    @property
    def tells_probabilities(self) -> bool:
        return self.p is not None or self.matrix is not None


class DesignCall(Call):
    """A call that may say how columns are randomized; each function declares these parameters where they stand."""

    p: Probability | None
    matrix: Mapping[str, Matrix] | None
    levels: Mapping[str, list[Any]] | None
    on_null: str | None

    @property
    def words(self) -> DesignWords:
        return DesignWords(self.p, self.matrix, self.levels, self.on_null == "level")


@frozen
class Attribute:
    """One column of a design. Levels are None where only the data will tell."""

    name: str
    type: str
    levels: Levels | None
    p: float | None
    rows: tuple[tuple[float, ...], ...] | None = None
    # the labels of the column's enum in its order, if these are the levels
    enum: tuple[str, ...] | None = None

    @property
    def is_identity(self) -> bool:
        return self.p == 1.0

    def matrix(self, size: int) -> Array:
        return (
            np.array(self.rows)
            if self.rows is not None
            else distortion.uniform(self.p or 1.0, size)
        )

    def reordered(self, levels: Levels) -> Attribute:
        """The same with its levels, and what the matrix says of them, in another order."""
        places = {level: i for i, level in enumerate(self.levels or ())}
        order = [places[level] for level in levels]
        rows = (
            None
            if self.rows is None
            else tuple(tuple(self.rows[i][j] for j in order) for i in order)
        )
        return replace(self, levels=levels, rows=rows)

    def canonical(self) -> Attribute:
        """The one form of all attributes that differ in spelling only; draws go by it.

        Levels are a set: they stand in the order of their code points, NULL last. Probabilities count to nine digits.
        A matrix that keeps every level with the same probability, and else draws the others evenly, is that p.
        """
        assert self.levels is not None
        ordered = self.reordered(
            tuple(sorted(self.levels, key=lambda level: (level is None, level or "")))
        )
        if ordered.p is not None:
            return replace(ordered, p=round(ordered.p, DIGITS))
        cells = ordered.matrix(len(self.levels))
        p = round(float(np.mean(np.diag(cells))), DIGITS)
        if np.abs(cells - distortion.uniform(p, len(cells))).max() < FINEST:
            return replace(ordered, p=p, rows=None)
        return replace(ordered, rows=tuple(map(tuple, np.round(cells, DIGITS).tolist())))


@frozen
class Design:
    """A masking call: what it masks, how, and the columns that it gives."""

    function: str
    source: str
    attributes: tuple[Attribute, ...]
    columns: tuple[str, ...] | None  # None where the planner cannot see them


def is_stochastic(name: str, rows: Matrix, size: int | None, add: Callable[[str], None]) -> bool:
    """Whether a matrix is square, of the right size, and has columns that sum to 1; else what is wrong."""
    height = len(rows)
    if any(len(row) != height for row in rows) or height < 2:
        lengths = {len(row) for row in rows}
        shape = f"{height}×{lengths.pop() if len(lengths) == 1 else ' or '.join(map(str, sorted(lengths)))}"
        add(f"matrix of column {quoted(name)} must be square, at least 2×2, got {shape}.")
        return False
    if size is not None and height != size:
        add(
            f"matrix of column {quoted(name)} is {height}×{height}, but there are {size} levels; they must agree."
        )
        return False
    table = np.array(rows)
    if not np.all(np.isfinite(table)) or table.min() < 0 or table.max() > 1:
        add(f"matrix of column {quoted(name)} must hold probabilities from 0 to 1.")
        return False
    sums = table.sum(axis=0)
    wrong = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.size:
        hint = ""
        if np.all(np.abs(table.sum(axis=1) - 1) <= _SUM_TOLERANCE):
            hint = " Its rows do: matrix[i][j] is the chance that level j is published as level i, so transpose it."
        add(
            f"matrix of column {quoted(name)} must have columns that sum to 1; column {wrong[0] + 1} sums to "
            f"{sums[wrong[0]]:.10g}.{hint}"
        )
        return False
    return True


def normalised(rows: Matrix) -> tuple[tuple[float, ...], ...]:
    """The rows with columns that sum to 1 to the last bit but one."""
    table = np.array(rows)
    return tuple(map(tuple, (table / table.sum(axis=0)).tolist()))


def columns_to_randomize(
    conf: Sequence[str] | None, words: DesignWords, faults: Faults
) -> list[str]:
    """The columns that a call randomizes: those of conf, or those that p and matrix name."""
    named = [*(words.p if isinstance(words.p, Mapping) else ()), *(words.matrix or ())]
    if conf is not None:
        own = {folded(name) for name in conf}
        for name in named:
            if folded(name) not in own:
                faults.add(f"p or matrix names column {quoted(name)}, which conf does not.")
        return list(conf)
    if isinstance(words.p, float):
        faults.add(
            "p is one number; name the columns in conf := […], or give p := {'column': 0.9}."
        )
    elif not named:
        faults.add(
            "name the columns to randomize, such as p := {'disease': 0.8} or matrix := {'disease': [[…], …]}."
        )
    return named


def by_folded_name(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {folded(name): value for name, value in mapping.items()}


class DesignReader:
    """Reads p, matrix and levels of a call for some columns of a source."""

    def __init__(
        self, catalog: Catalog, source: Source, words: DesignWords, faults: Faults
    ) -> None:
        self.catalog, self.source, self.faults = catalog, source, faults
        self.one_p = words.p if isinstance(words.p, float) else None
        self.ps: dict[str, float] = by_folded_name(words.p) if isinstance(words.p, Mapping) else {}
        self.matrices: dict[str, Matrix] = by_folded_name(words.matrix or {})
        self.domains: dict[str, list[Any]] = by_folded_name(words.levels or {})
        self.null_is_level = words.null_is_level

    def refuse_strangers(self, names: Sequence[str]) -> None:
        """p, matrix and levels may only speak of the columns that the call is about."""
        own = {folded(name) for name in names}
        for given, mapping in (("p", self.ps), ("matrix", self.matrices), ("levels", self.domains)):
            for name in mapping:
                if name not in own:
                    self.faults.add(
                        f"{given} names column {quoted(name)}, which the call is not about."
                    )

    def probabilities(self, name: str, hint: str = "") -> tuple[float | None, Matrix | None]:
        """p or matrix of a column: exactly one of them."""
        own = folded(name)
        p, rows = self.ps.get(own), self.matrices.get(own)
        if p is not None and rows is not None:
            self.faults.add(f"column {quoted(name)} has both p and matrix; give one of them.")
        if p is None and rows is None:
            p = self.one_p
            if p is None:
                self.faults.add(
                    f"p is missing for column {quoted(name)}; give p := {{'{name}': …}}{hint} or matrix."
                )
        return p, rows

    def given_levels(self, column: Column) -> Levels | None:
        """The levels that the call names, as texts of the column's type; None where it names none."""
        domain = self.domains.get(folded(column.name))
        if domain is None:
            return None
        texts: list[str | None] = []
        for value in domain:
            text = None if value is None else self.catalog.as_type(value, column.type or "VARCHAR")
            if text is None and value is not None:
                self.faults.add(
                    f"levels of column {quoted(column.name)}: {value!r} is no {column.type}."
                )
                return ()
            texts.append(text)
        present = [text for text in texts if text is not None]
        if len(set(texts)) < len(texts):
            self.faults.add(f"levels of column {quoted(column.name)} name a level twice.")
        if len(present) < len(domain) and texts[-1] is not None:
            self.faults.add(f"levels of column {quoted(column.name)}: NULL must come last.")
        if None in texts and not self.null_is_level:
            self.faults.add(
                f"levels of column {quoted(column.name)} hold NULL; say on_null := 'level'."
            )
        if self.null_is_level and None not in texts:
            texts.append(None)
        return tuple(texts)

    def levels(self, column: Column) -> Levels | None:
        """The domain of a column: as given, else what the enum or the data has."""
        named = self.given_levels(column)
        if named is not None:
            return named
        if self.source.columns is None:
            self.faults.add(
                f"the planner cannot see {quoted(self.source.label)}, so it cannot read the levels of column "
                f"{quoted(column.name)}; give levels := {{'{column.name}': […]}}."
            )
            return None
        found = self.catalog.levels(self.source, column, MOST_LEVELS)
        if found is None:
            self.faults.add(
                f"column {quoted(column.name)} has more than {MOST_LEVELS} levels; group them in tbl, or leave it out."
            )
            return None
        return (*found, None) if self.null_is_level else tuple(found)

    def attribute(self, column: Column) -> Attribute | None:
        """The column's part of the design, or None after a fault."""
        p, rows = self.probabilities(column.name)
        if column.type and not _is_category(column):
            self.faults.add(
                f"column {quoted(column.name)} is of type {column.type}; only text, enum, boolean, whole-number and "
                "date columns can be randomized. Use noise_mask, or cut it into classes in tbl."
            )
            return None
        if p is None and rows is None:
            return None
        levels = self.levels(column)
        if levels is None or (not levels and folded(column.name) in self.domains):
            return None
        if len(levels) < 2:
            self.faults.add(
                f"column {quoted(column.name)} has {'a single level' if levels else 'no values'}; there is nothing it "
                "could be randomized to. Give the whole domain in levels, or leave the column out."
            )
            return None
        if rows is not None and not is_stochastic(column.name, rows, len(levels), self.faults.add):
            return None
        if rows is not None and len(levels) > MOST_MATRIX_LEVELS:
            self.faults.add(
                f"matrix of column {quoted(column.name)} has more than {MOST_MATRIX_LEVELS} levels; use p."
            )
            return None
        labels = (
            tuple(self.catalog.levels(self.source, column, MOST_LEVELS) or ())
            if column.is_enum
            else ()
        )
        enum = labels if set(labels) == {level for level in levels if level is not None} else None
        return Attribute(
            column.name, column.type, levels, p, normalised(rows) if rows else None, enum
        )


def _is_category(column: Column) -> bool:
    return (
        column.is_category
        or column.is_boolean
        or column.is_integer
        or column.type in _MORE_CATEGORIES
    )
