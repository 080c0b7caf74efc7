"""E(X|S), E(X|S,Y) and E(X|Y) of each confidential column, linear or by LS-SVM, and how far they miss it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.prediction import CHANCE, ROUNDING, explained, gain_by_chance, rank
from ppduck.kernels.relation import left_out_errors
from ppduck.libraries import stats
from ppduck.measures._pieces import Piece
from ppduck.values import Array, Moments

BY = ("s", "sy", "y")


@frozen
class Predicted:
    """Mean squared errors of one column, its variance, and the gain in MSE over S that chance explains."""

    column: str
    n: int
    variance: float
    mse: dict[str, float]
    chance: float

    @property
    def gains(self) -> bool:
        """Whether Y adds more to S than chance explains."""
        return self.mse["s"] - self.mse["sy"] > self.chance

    def r2(self, by: str) -> float:
        return 1 - self.mse[by] / self.variance if self.variance > 0 else 0.0


def predicted(pieces: Sequence[Piece]) -> list[Predicted]:
    """Each confidential column over all pieces, which have models of their own."""
    per_piece = [
        list(_by_moments(piece) if piece.moments is not None else _by_rows(piece))
        for piece in pieces
    ]
    found: list[Predicted] = []
    for of_column in zip(*per_piece, strict=True):
        n = sum(each.n for each in of_column)
        shares = [each.n / n for each in of_column]
        between = _between(pieces, len(found))
        found.append(
            Predicted(
                of_column[0].column,
                n,
                sum(share * each.variance for share, each in zip(shares, of_column, strict=True))
                + between,
                {
                    by: sum(s * each.mse[by] for s, each in zip(shares, of_column, strict=True))
                    for by in BY
                },
                math.sqrt(
                    sum((s * each.chance) ** 2 for s, each in zip(shares, of_column, strict=True))
                ),
            )
        )
    return found


def _between(pieces: Sequence[Piece], j: int) -> float:
    """Variance of the means of the pieces."""
    means, sizes = [], []
    for piece in pieces:
        if piece.moments is not None and piece.centre is not None:
            means.append(piece.centre[piece.p + j] + piece.moments.mean[piece.p + j])
            sizes.append(piece.n)
        else:
            means.append(piece.x[:, j].mean())
            sizes.append(len(piece.x))
    total = float(np.average(means, weights=sizes))
    return float(np.average((np.array(means) - total) ** 2, weights=sizes))


def _by_moments(piece: Piece) -> Iterator[Predicted]:
    """By lines; a column that a curve of S tells more of, by that curve too, if one was asked for.

    A curve excuses what a line seems to gain, and finds what a line does not see: of c + r and c - r, c a curve of S,
    lines may say that they have nothing to do with each other. Where a release tells more even then, by what rows of
    uneven spread leave to chance.
    """
    assert piece.moments is not None
    by_curves = (
        list(_by_lines(piece, piece.curved.moments, piece.curved.p, piece.curved.n))
        if piece.curved
        else []
    )
    for j, found in enumerate(_by_lines(piece, piece.moments, piece.p, piece.n)):
        curved = piece.curved if piece.curved is not None and j in piece.curved.columns else None
        if curved is not None:
            found = by_curves[j]
        if found.gains:
            found = replace(
                found, chance=min(found.chance * piece.wider([j], curved), found.mse["s"])
            )
        yield found


def _by_lines(piece: Piece, moments: Moments, p: int, n: int) -> Iterator[Predicted]:
    q = piece.q
    s, x, y = range(p), range(p, p + q), range(p + q, p + 2 * q)
    r2 = {
        by: explained(moments, x, columns) for by, columns in (("s", s), ("sy", [*s, *y]), ("y", y))
    }
    for j, name in enumerate(piece.spec.columns):
        variance = float(max(moments.cross[p + j, p + j], 0.0)) / n
        chance = gain_by_chance(n, float(r2["s"][j]), rank(moments, s), q) * variance
        yield Predicted(
            name, n, variance, {by: variance * (1 - float(r2[by][j])) for by in BY}, chance
        )


def _by_rows(piece: Piece) -> Iterator[Predicted]:
    """Each row is predicted by the others; the gain's error is that of the mean of the rows' gains."""
    s, indicators = piece.inputs
    x, y = piece.x, piece.y
    numbers = np.zeros(y.shape[1], dtype=bool)
    inputs = {
        "s": (s, indicators),
        "sy": (np.column_stack([s, y]), np.append(indicators, numbers)),
        "y": (y, numbers),
    }
    errors: dict[str, Array] = {
        by: left_out_errors(rows, x, indicators=flags) ** 2 for by, (rows, flags) in inputs.items()
    }
    for j, name in enumerate(piece.spec.columns):
        variance = float(x[:, j].var())
        gains = errors["s"][:, j] - errors["sy"][:, j]
        chance = (
            float(stats.norm.isf(CHANCE)) * float(gains.std()) / math.sqrt(len(gains))
            + ROUNDING * variance
        )
        yield Predicted(
            name, len(x), variance, {by: float(errors[by][:, j].mean()) for by in BY}, chance
        )
