"""What the measures of a release share: its pairs planned, and what SQL told of them read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError, listed
from ppduck.kernels.prediction import explained
from ppduck.kernels.relation import fit
from ppduck.kernels.uneven import wider_by_chance
from ppduck.pairs.moments import CENTRES, COUNT, PIECE, PRODUCTS, SAMPLED, SAMPLED_SIZES, SUMS, Pairs
from ppduck.query import tree as sql
from ppduck.runtime.relation import FEWEST_ROWS
from ppduck.values import Array, Moments

FITTED_MODEL = Parameter(
    "model",
    arguments.choice("linear", "kernel"),
    "'linear', or 'kernel' for the LS-SVM of nm_egadp_mask; on 20,000 rows at most",
    "'linear'",
)
MODEL = Parameter(
    "model",
    arguments.choice("linear", "curve", "kernel"),
    "'linear'; 'curve', where one tells more, for E(conf | nonconf) by the LS-SVM of nm_egadp_mask beside nonconf; or "
    "'kernel' for that LS-SVM instead of lines; on 20,000 rows at most",
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
CURVED = 0.01  # share of a column's variance that a curve must tell beyond a line to be believed
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
    return answered(pairs, udf, shown, model=given.get("model", "linear"), tolerance=given.get("tolerance"))


def answered(pairs: Pairs, udf: str, columns: Iterable[str], *, model: str, **more: Any) -> str:
    """The rows that a UDF makes of the moments of the pairs, with a kernel model of a sample of them, or of both."""
    nothing = "NULL::DOUBLE[]"
    rows = [sql.column(name) for name in pairs.value_names]
    of_all, of_sample = [SUMS, PRODUCTS, CENTRES], [SAMPLED, SAMPLED_SIZES]
    if model == "kernel":
        statement = pairs.statement()
        pairs.sample(statement, rows)
        of_all = [nothing] * 3
    elif model == "curve":
        statement = pairs.moments(sampled=True)
        pairs.draw(statement, rows)
    else:
        statement = pairs.moments()
        of_sample = [nothing] * 2
    told = [PIECE, COUNT, *of_all, *of_sample]
    kinds = [
        [feature.column, feature.level is not None or _boolean(pairs, feature.column)] for feature in pairs.features
    ]
    return pairs.rows(statement, udf, told, columns, kinds=kinds, model=model, **more)


def _boolean(pairs: Pairs, name: str) -> bool:
    column = pairs.original.find(name)
    return column is not None and column.is_boolean


@dataclass(frozen=True)
class Curved:
    """A sample of [S, û, X, Y]: the first ``p`` of their columns were open anyway."""

    rows: Array
    p: int
    columns: frozenset[int]  # which columns of X a curve tells more of

    @property
    def n(self) -> int:
        return len(self.rows)

    @cached_property
    def moments(self) -> Moments:
        return Moments.of(self.rows)


@dataclass(frozen=True)
class Piece:
    """A part of the data: its moments of [S, X, Y], or rows of them, or both."""

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

    @cached_property
    def curved(self) -> Curved | None:
        """[S, û, X, Y] of the sample, û = E(X|S) for the columns of X of which a curve of S tells more than its line.

        The curve is the one that nm_egadp_mask releases by. It is a function of S, so that it belongs to what was open
        anyway; lines stand as they are where it tells nothing more, for they are known from all rows.
        """
        if self.moments is None or not self.p or self.sample is None or len(self.sample) < FEWEST_ROWS:
            return None
        s, indicators = self.inputs
        fitted = fit(s, self.x, indicators=indicators).predict(s)
        by_line = explained(Moments.of(self.rows), range(self.p, self.p + self.q), range(self.p))
        beside = np.column_stack([self.rows[:, : self.p], fitted, self.x])
        own = [
            explained(Moments.of(beside), [self.p + self.q + j], [*range(self.p), self.p + j]) for j in range(self.q)
        ]
        more = np.array([float(r2[0]) for r2 in own]) - by_line
        columns = [j for j in range(self.q) if more[j] > CURVED]
        if not columns:
            return None
        rows = np.column_stack([self.rows[:, : self.p], fitted[:, columns], self.x, self.y])
        return Curved(rows, self.p + len(columns), frozenset(columns))

    def wider(self, of: Sequence[int], curved: Curved | None) -> float:
        """How many times as far as among rows of one spread chance moves these columns, where a sample tells."""
        if self.sample is None or len(self.sample) < FEWEST_ROWS:
            return 1.0
        rows, p = (curved.rows, curved.p) if curved else (self.sample, self.p)
        return wider_by_chance(rows, p, self.q, of)

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
    drawn: list[Array | None] = [None] * len(labels)
    if sample is not None and sizes is not None:
        ends = np.cumsum(np.nan_to_num(sizes)).astype(int)
        drawn = list(np.split(sample.reshape(-1, width), ends[:-1] // width))
    found = []
    triangle = width * (width + 1) // 2
    for i, (label, n, rows) in enumerate(zip(labels, counts, drawn, strict=True)):
        moments, centre = None, None
        if sums is not None and products is not None and centres is not None:
            own = slice(i * width, (i + 1) * width)
            moments = Moments.from_sums(int(n), sums[own], products[i * triangle : (i + 1) * triangle])
            centre = centres[own]
        found.append(Piece(spec, label, int(n), moments, centre, rows))
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
