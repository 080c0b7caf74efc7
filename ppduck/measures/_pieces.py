"""What measures of conf given nonconf share: the pairs of each piece of the data, by moments or by a sample of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Result
from ppduck.call.udf import Udf
from ppduck.errors import PpduckError, listed
from ppduck.frozen import frozen
from ppduck.kernels.prediction import explained
from ppduck.kernels.relation import fit
from ppduck.kernels.uneven_spread import wider_by_chance
from ppduck.pairs import moments as sums
from ppduck.pairs.columns import NONCONF, Compared, ConfCall
from ppduck.pairs.of_model import shared_step, statement_of, told_of
from ppduck.pairs.rows import Pairs, PairSpec, Told, unnested
from ppduck.query import tree as sql
from ppduck.runtime.relation import FEWEST_ROWS
from ppduck.values import Array, Moments

FITTED_MODEL = parameter(
    arguments.choice("linear", "kernel"),
    "'linear', or 'kernel' for the LS-SVM of nm_egadp_mask; on 20,000 rows at most",
    "linear",
)
MODEL = parameter(
    arguments.choice("linear", "curve", "kernel"),
    "'linear'; 'curve', where one tells more, for E(conf | nonconf) by the LS-SVM of nm_egadp_mask beside nonconf; or "
    "'kernel' for that LS-SVM instead of lines; on 20,000 rows at most",
    "linear",
)


@arguments.reader("a condition or a list of conditions, such as ['s1 < 40', 's1 < 60']")
def _conditions(value: Any) -> list[str]:
    return list(arguments.columns(value))


PIECES = parameter(
    _conditions,
    "conditions on the original that part its rows, such as 's1 < 40', each with a regression of its own",
    (),
)
TOLERANCE = parameter(
    arguments.number(Range(0, 1)),
    "by how much a condition may be missed; by default what chance makes of so many rows",
    None,
)
FEWEST = 2  # pairs
CURVED = 0.01  # share of a column's variance that a curve must tell beyond a line to be believed


@parameters
class PiecesCall(ConfCall):
    """A measure of conf, given nonconf."""

    nonconf: Sequence[str] | None = NONCONF
    model: str = MODEL
    pieces: Sequence[str] = PIECES


@parameters
class ToleratedCall(PiecesCall):
    """One that judges."""

    tolerance: float | None = TOLERANCE


@frozen
class PiecesSpec(PairSpec):
    """For each feature its column and whether it is an indicator; and what is allowed, where the call says it."""

    kinds: list[tuple[str, bool]]
    tolerance: float | None


@frozen
class PiecesTold(Told):
    """Number, count, sums, products and centres of each piece, one after the other; its sample, and its length."""

    pieces: Array | None
    counts: Array | None
    sums: Array | None
    products: Array | None
    centres: Array | None
    sample: Array | None
    sizes: Array | None


def choose(columns: Compared, call: PiecesCall) -> None:
    columns.use_numbers("conf", call.conf)
    columns.use_nonconf(call.nonconf)
    columns.use_pieces(call.pieces)


def answered(
    pairs: Pairs, udf: Udf, results: Iterable[Result], model: str, tolerance: float | None = None
) -> sql.Expr:
    """The rows that a UDF makes of the moments of the pairs, with a kernel model of a sample of them, or of both."""
    spec = pairs.spec(PiecesSpec, kinds=_kinds(pairs.columns), tolerance=tolerance)
    told = told_of(model)
    if pairs.within is None:
        return pairs.answer(statement_of(pairs, model), udf, spec, told, results)
    return unnested(udf, spec, told, sql.table(shared_step(pairs, model)), results)


def _kinds(columns: Compared) -> list[tuple[str, bool]]:
    return [
        (
            feature.column,
            feature.level is not None or columns.original.column(feature.column).is_boolean,
        )
        for feature in columns.features
    ]


@frozen
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


@frozen
class Piece:
    """A part of the data: its moments of [S, X, Y], or rows of them, or both."""

    spec: PiecesSpec
    label: str | None
    n: int
    moments: Moments | None
    centre: Array | None
    sample: Array | None

    @property
    def p(self) -> int:
        return len(self.spec.features)

    @property
    def q(self) -> int:
        return len(self.spec.columns)

    @property
    def x(self) -> Array:
        return self.spec.parts(self.rows)[1]

    @property
    def y(self) -> Array:
        return self.spec.parts(self.rows)[2]

    @property
    def rows(self) -> Array:
        assert self.sample is not None
        return self.sample

    @cached_property
    def inputs(self) -> tuple[Array, npt.NDArray[np.bool_]]:
        """S as a model reads it, and which of it are indicators."""
        return as_inputs(self.rows[:, : self.p], self.spec.kinds)

    @cached_property
    def curved(self) -> Curved | None:
        """[S, û, X, Y] of the sample, û = E(X|S) for the columns of X of which a curve of S tells more than its line.

        The curve is the one that nm_egadp_mask releases by. It is a function of S, so that it belongs to what was open
        anyway; lines stand as they are where it tells nothing more, for they are known from all rows.
        """
        if (
            self.moments is None
            or not self.p
            or self.sample is None
            or len(self.sample) < FEWEST_ROWS
        ):
            return None
        s, indicators = self.inputs
        fitted = fit(s, self.x, indicators=indicators).predict(s)
        by_line = explained(Moments.of(self.rows), range(self.p, self.p + self.q), range(self.p))
        beside = np.column_stack([self.rows[:, : self.p], fitted, self.x])
        own = [
            explained(Moments.of(beside), [self.p + self.q + j], [*range(self.p), self.p + j])
            for j in range(self.q)
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
        return self.spec.refuse(fault.replace("{where}", where))


def as_inputs(
    features: Array, kinds: Sequence[tuple[str, bool]]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Features with the first level of each category, which a distance needs too; and which of them are indicators."""
    columns, indicators, names = (
        [features],
        [flag for _, flag in kinds],
        [name for name, _ in kinds],
    )
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        of_name = [i for i, each in enumerate(names) if each == name]
        columns.append(1.0 - features[:, of_name].sum(axis=1, keepdims=True))
        indicators.append(True)
    return np.column_stack(columns), np.array(indicators, dtype=bool)


def refuse_infinite(spec: PairSpec, labels: Iterable[str], finite: npt.NDArray[np.bool_]) -> None:
    bad = listed(label for label, fine in zip(labels, finite, strict=True) if not fine)
    if bad:
        raise spec.refuse(
            f"NaN, infinity or a number too large to square is in {bad}; replace it by NULL."
        )


def both_sides(names: Sequence[str]) -> list[str]:
    """How columns of the original and of the release are called in messages."""
    return [*names, *(f"masked {name}" for name in names)]


def counted(spec: PairSpec, counts: Array | None) -> int:
    """The number of pairs, of which two at least are needed."""
    n = int(counts[0]) if counts is not None and len(counts) else 0
    if n < FEWEST:
        raise spec.refuse(f"{n} pairs without NULL are too few to measure by; {FEWEST} are needed.")
    return n


def pieces_of(spec: PiecesSpec, told: PiecesTold) -> list[Piece]:
    """What was told of each piece that has rows."""
    if told.pieces is None or told.counts is None or not len(told.pieces):
        raise spec.refuse("there is no pair of rows without NULL to measure.")
    labels, counts = [spec.pieces[int(i)] for i in told.pieces], [int(n) for n in told.counts]
    drawn: list[Array | None] = [None] * len(labels)
    if told.sample is not None and told.sizes is not None:
        drawn = [spec.rows(values) for values in sums.apart_by(told.sample, told.sizes)]
    summed: list[tuple[Moments | None, Array | None]] = [(None, None)] * len(labels)
    if told.sums is not None and told.products is not None and told.centres is not None:
        parts = (sums.apart(each, len(labels)) for each in (told.sums, told.products, told.centres))
        summed = [
            (Moments.from_sums(n, own, products), centre)
            for n, own, products, centre in zip(counts, *parts, strict=True)
        ]
    found = [
        Piece(spec, label, n, *of_all, rows)
        for label, n, of_all, rows in zip(labels, counts, summed, drawn, strict=True)
    ]
    for piece in found:
        _refuse_unfit(piece)
    return found


def _refuse_unfit(piece: Piece) -> None:
    """Numbers that are none, and rows that are too few."""
    spec = piece.spec
    labels = [*spec.features, *both_sides(spec.columns)]
    if piece.moments is not None:
        finite = np.asarray(
            np.isfinite(piece.moments.mean) & np.isfinite(np.diag(piece.moments.cross))
        )
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
