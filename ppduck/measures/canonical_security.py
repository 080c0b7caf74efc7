"""canonical_security(): whether a release tells more of conf than what was open anyway, by canonical correlations.

CC(X|S) = CC(X|S,Y) and CC(X|S) ≥ CC(X|Y), S nonconf, X conf and Y conf as released (Al-Ahmadi 2006, 5.3 and 5.4); or
the same with û = E(X|S) in place of S (6.20, 6.21), which sees relations that are not linear. Where S determines a
combination of X, CC(X|S) is 1 and cannot rise; the partial canonical correlation of X and Y given S shows what Y adds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.kernels.prediction import (
    ROUNDING,
    canonical_correlation,
    canonical_gain_by_chance,
    partial_correlation,
    rank,
    root_by_chance,
)
from ppduck.kernels.relation import fit
from ppduck.measures._pieces import (
    Piece,
    PiecesSpec,
    PiecesTold,
    ToleratedCall,
    answered,
    choose,
    pieces_of,
)
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql
from ppduck.values import Moments

NAME = "canonical_security"
RESULTS = (
    Result("piece", "VARCHAR", "the condition of a piece", "with pieces"),
    Result("measure", "VARCHAR", "which canonical correlation, or which difference of two"),
    Result(
        "passed", "BOOLEAN", "whether a difference is within its tolerance; NULL of a correlation"
    ),
    Result("value", "DOUBLE", "the correlation or difference, from 0 to 1"),
    Result("tolerance", "DOUBLE", "what chance makes of so many rows, or what the call allows"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("meaning", "VARCHAR", "the measure in words"),
)


def answer(pairs: Pairs, call: ToleratedCall) -> sql.Expr:
    shown = [result for result in RESULTS if result.name != "piece" or pairs.columns.pieces]
    return answered(pairs, SOLVE, shown, call.model, call.tolerance)


def solve(spec: PiecesSpec, told: PiecesTold) -> list[dict[str, Any]]:
    return [row for piece in pieces_of(spec, told) for row in _conditions(piece)]


def _conditions(piece: Piece) -> list[dict[str, Any]]:
    """By lines, or by a curve of nonconf where it tells more, if one was asked for: it excuses what only lines miss,
    and finds what they do not see. Where a condition is missed, by what rows of uneven spread leave to chance.
    """
    q = piece.q
    if piece.moments is None:
        s, indicators = piece.inputs
        fitted = fit(s, piece.x, indicators=indicators).predict(s)
        moments = Moments.of(np.column_stack([fitted, piece.x, piece.y]))
        return _rows(piece, moments, q, len(s), "E(conf | nonconf)")
    curved = piece.curved
    by: tuple[Moments, int, int, str] = (piece.moments, piece.p, piece.n, "nonconf")
    if curved is not None:
        by = (curved.moments, curved.p, curved.n, "nonconf with E(conf | nonconf)")
    found = _rows(piece, *by)
    if _missed(found):
        wider = piece.wider(range(q), curved)
        found = _rows(piece, *by, wider) if wider > 1 else found
    return found


def _missed(found: list[dict[str, Any]]) -> bool:
    return any(row["passed"] is False for row in found)


def _rows(
    piece: Piece, moments: Moments, p: int, n: int, told: str, wider: float = 1.0
) -> list[dict[str, Any]]:
    return list(_measured(piece, moments, p, n, told, wider))


def _measured(
    piece: Piece, moments: Moments, p: int, n: int, told: str, wider: float
) -> Iterator[dict[str, Any]]:
    q = piece.q
    s_, x, y = range(p), range(p, p + q), range(p + q, p + 2 * q)
    by_s, by_sy, by_y = (canonical_correlation(moments, x, by) for by in (s_, [*s_, *y], y))
    asked = piece.spec.tolerance
    largest = root_by_chance(n, rank(moments, s_), q, q)
    if asked is None and largest == 1:
        raise piece.refuse(
            f"{n} pairs{{where}} are too few to tell what {q} confidential columns give away from chance; name fewer "
            "of them, or say by how much a condition may be missed: tolerance := 0.05."
        )
    tolerance = (
        canonical_gain_by_chance(n, by_s, rank(moments, s_), q, q, wider)
        if asked is None
        else asked
    )
    partial = partial_correlation(moments, x, y, s_)
    allowed = math.sqrt(min(1.0, wider * largest)) + ROUNDING if asked is None else asked

    def row(measure: str, value: float, meaning: str, most: float | None = None) -> dict[str, Any]:
        return {
            "piece": piece.label, "measure": measure, "value": value, "tolerance": most,
            "passed": None if most is None else value <= most, "rows": n, "meaning": meaning,
        }  # fmt: skip

    yield row("cc_x_s", by_s, f"how well {told} tells conf, before anything is released")
    yield row("cc_x_sy", by_sy, f"how well {told} and the masked columns tell it together")
    yield row("cc_x_y", by_y, "how well the masked columns alone tell it")
    gain, excess = by_sy - by_s, by_y - by_s
    yield row(
        "cc_gain",
        gain,
        f"cc_x_sy - cc_x_s: what the release adds to {told}; should be 0",
        tolerance,
    )
    yield row("cc_excess", excess, "cc_x_y - cc_x_s: should not be above 0", tolerance)
    yield row(
        "cc_partial",
        partial,
        f"correlation of conf and the release, {told} taken off; should be 0",
        allowed,
    )


SOLVE = told_udf("ppduck_canonical_security", solve, PiecesSpec, PiecesTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        ToleratedCall,
        "Canonical correlations of conf with nonconf, with the release and with both; whether the release adds any.",
        "Sarathy & Muralidhar 2002; Al-Ahmadi 2006, (5.3), (5.4), (6.20), (6.21)",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM canonical_security('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(SOLVE,),
    )
)
