"""What the measures of a release share: its pairs planned, and what SQL told of them read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.errors import Faults, PpduckError, listed
from ppduck.plan import arguments
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog
from ppduck.plan.pairs import CENTRES, COUNT, PIECE, PRODUCTS, SAMPLED, SAMPLED_SIZES, SUMS, Pairs
from ppduck.plan.ranges import Range
from ppduck.plan.relations import FEWEST_ROWS
from ppduck.values import Array, Moments

MODEL = Parameter(
    "model",
    arguments.choice("linear", "kernel"),
    "'linear', or 'kernel' for the LS-SVM of nm_egadp_mask, on 20,000 rows at most",
    "'linear'",
)


@arguments.reader("a condition or a list of conditions, such as ['s1 < 40', 's1 < 60']")
def _conditions(value: Any) -> list[str]:
    return list(arguments.columns(value))


PIECES = Parameter(
    "pieces",
    _conditions,
    "conditions on the original that part its rows, such as 's1 < 40', each with a regression of its own",
    "NULL",
)
TOLERANCE = Parameter(
    "tolerance",
    arguments.number(Range(0, 1)),
    "by how much a condition may be missed; by default what chance makes of so many rows",
    "NULL",
)
FEWEST = 2  # pairs
# Specification, number of pairs, then what is told of each piece.
TAKES = ["VARCHAR", "BIGINT", *["DOUBLE[]"] * 7]


def planned(name: str, catalog: Catalog, given: dict[str, Any], udf: str, columns: Iterable[str]) -> str:
    """The statement of a measure of conf, given nonconf."""
    pairs = Pairs(name, catalog, given)
    pairs.use_numbers("conf")
    pairs.use_nonconf()
    pairs.use_pieces()
    pairs.faults.raise_if_any()
    shown = [column for column in columns if column != "piece" or pairs.pieces]
    return answered(pairs, udf, shown, kernel=given.get("model") == "kernel", tolerance=given.get("tolerance"))


def answered(pairs: Pairs, udf: str, columns: Iterable[str], *, kernel: bool, **more: Any) -> str:
    """The rows that a UDF makes of the moments of the pairs, or with a kernel model of a sample of them."""
    nothing = "NULL::DOUBLE[]"
    if kernel:
        statement = pairs.statement()
        pairs.sample(statement, [sql.column(name) for name in pairs.value_names])
        told = [PIECE, COUNT, nothing, nothing, nothing, SAMPLED, SAMPLED_SIZES]
    else:
        statement = pairs.moments()
        told = [PIECE, COUNT, SUMS, PRODUCTS, CENTRES, nothing, nothing]
    kinds = [
        [feature.column, feature.level is not None or _boolean(pairs, feature.column)] for feature in pairs.features
    ]
    return pairs.rows(statement, udf, told, columns, kinds=kinds, kernel=kernel, **more)


def _boolean(pairs: Pairs, name: str) -> bool:
    column = pairs.original.find(name)
    return column is not None and column.is_boolean


@dataclass(frozen=True)
class Piece:
    """A part of the data: its moments of [S, X, Y], or its rows of them."""

    spec: dict[str, Any]
    label: str | None
    n: int
    moments: Moments | None
    centre: Array | None
    sample: Array | None

    @property
    def p(self) -> int:
        return len(self.spec["features"])

    @property
    def q(self) -> int:
        return len(self.spec["columns"])

    @property
    def x(self) -> Array:
        return self.rows[:, self.p : self.p + self.q]

    @property
    def y(self) -> Array:
        return self.rows[:, self.p + self.q :]

    @property
    def rows(self) -> Array:
        assert self.sample is not None
        return self.sample

    @cached_property
    def inputs(self) -> tuple[Array, npt.NDArray[np.bool_]]:
        """S as a model reads it, and which of it are indicators."""
        return as_inputs(self.rows[:, : self.p], self.spec["kinds"])

    def refuse(self, fault: str) -> PpduckError:
        where = f" where {self.label}" if self.label and self.label != "otherwise" else ""
        return Faults(self.spec["function"], self.spec["table"]).refuse(fault.replace("{where}", where))


def as_inputs(features: Array, kinds: Sequence[tuple[str, bool]]) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Features with the first level of each category, which a distance needs too; and which of them are indicators."""
    columns, indicators, names = [features], [flag for _, flag in kinds], [name for name, _ in kinds]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        of_name = [i for i, each in enumerate(names) if each == name]
        columns.append(1.0 - features[:, of_name].sum(axis=1, keepdims=True))
        indicators.append(True)
    return np.column_stack(columns), np.array(indicators, dtype=bool)


def refuse_infinite(spec: dict[str, Any], labels: Iterable[str], finite: npt.NDArray[np.bool_]) -> None:
    bad = listed(label for label, fine in zip(labels, finite, strict=True) if not fine)
    if bad:
        raise Faults(spec["function"], spec["table"]).refuse(
            f"NaN, infinity or a number too large to square is in {bad}; replace it by NULL."
        )


def both_sides(names: Sequence[str]) -> list[str]:
    """How columns of the original and of the release are called in messages."""
    return [*names, *(f"masked {name}" for name in names)]


def counted(spec: dict[str, Any], counts: Array | None) -> int:
    """The number of pairs, of which two at least are needed."""
    n = int(counts[0]) if counts is not None and len(counts) else 0
    if n < FEWEST:
        raise Faults(spec["function"], spec["table"]).refuse(
            f"{n} pairs without NULL are too few to measure by; {FEWEST} are needed."
        )
    return n


def pieces_of(
    specification: str,
    pieces: Array | None,
    counts: Array | None,
    sums: Array | None,
    products: Array | None,
    centres: Array | None,
    sample: Array | None,
    sizes: Array | None,
) -> list[Piece]:
    """What was told of each piece that has rows."""
    spec = json.loads(specification)
    if pieces is None or counts is None or not len(pieces):
        raise Faults(spec["function"], spec["table"]).refuse("there is no pair of rows without NULL to measure.")
    width = len(spec["features"]) + 2 * len(spec["columns"])
    labels = [spec["pieces"][int(i)] for i in pieces]
    found = []
    if sample is not None and sizes is not None:
        ends = np.cumsum(np.nan_to_num(sizes)).astype(int)
        parts = np.split(sample.reshape(-1, width), ends[:-1] // width)
        for label, n, rows in zip(labels, counts, parts, strict=True):
            found.append(Piece(spec, label, int(n), None, None, rows))
    else:
        assert sums is not None
        assert products is not None
        assert centres is not None
        triangle = width * (width + 1) // 2
        for i, (label, n) in enumerate(zip(labels, counts, strict=True)):
            own = slice(i * width, (i + 1) * width)
            moments = Moments.from_sums(int(n), sums[own], products[i * triangle : (i + 1) * triangle])
            found.append(Piece(spec, label, int(n), moments, centres[own], None))
    for piece in found:
        _refuse_unfit(piece)
    return found


def _refuse_unfit(piece: Piece) -> None:
    """Numbers that are none, and rows that are too few."""
    spec = piece.spec
    labels = [*spec["features"], *both_sides(spec["columns"])]
    if piece.moments is not None:
        finite = np.asarray(np.isfinite(piece.moments.mean) & np.isfinite(np.diag(piece.moments.cross)))
        needed, n = piece.p + 2 * piece.q + 2, piece.n
    else:
        finite = np.asarray(np.isfinite(piece.rows).all(axis=0))
        needed, n = FEWEST_ROWS, len(piece.rows)
    refuse_infinite(spec, labels, finite)
    if n < needed:
        raise piece.refuse(
            f"{n} pairs without NULL{{where}} are too few to measure by; {needed} are needed for {piece.p} open and "
            f"{piece.q} confidential columns."
        )
