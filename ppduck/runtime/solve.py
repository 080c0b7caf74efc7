"""The small solve of a linear mask, from the sums that a statement has taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ppduck.call.linear_mask import Request, flatten
from ppduck.call.udf import Unsigned, told_udf
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks
from ppduck.kernels.threads import one_thread
from ppduck.runtime import digits, dominance
from ppduck.runtime.nearness import Column, judge_form
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array, Moments


@frozen
class Summed:
    """Sums over the rows of a group in which every conf column is present, about the centres of the first look."""

    group: str | None
    n: int
    sums: Array  # of [S, X], and of V where the solve needs it
    products: Array  # of all pairs of these
    lows: Array  # the smallest and the largest value of each term in which a row may stand apart
    highs: Array
    base_rows: list[int]  # rows of each first level, which has no indicator
    centres: Array  # what X is measured from


@frozen
class Solvable(Summed):
    """All that a solve is told."""

    farthest: Array | None  # the row that stands farthest apart in several terms together
    rank_sums: Array | None  # of the ranks of [S, X], for the masks that work on ranks
    rank_products: Array | None
    sample: Array | None  # rows of [S, X, V], one after the other
    least: Array  # of conf over all rows
    most: Array
    mean: Array
    whole: Array  # 1 where all values are whole numbers
    query: Unsigned
    tweak: Unsigned  # not needed here; but of a mask without noise nothing else reads the check


def levers(spec: MaskSpec, summed: Summed) -> list[float] | None:
    """What the leverage of a row is computed with: the limit, then axis by axis its weights and where it begins.

    None where the farthest values show that no row can reach the limit, so that none needs to be looked at.
    """
    request, blocks = _read(spec, summed)
    reach = dominance.Reach(summed.lows, summed.highs, summed.base_rows)
    with one_thread(), np.errstate(all="raise", under="ignore"):
        return dominance.levers(dominance.Judged.of(spec, request, blocks, reach))


def solve(spec: MaskSpec, told: Solvable) -> list[float]:
    """The coefficients of a call's linear form."""
    mask = spec.linear_mask
    request, blocks = _read(spec, told)
    request = replace(request, query=told.query, ranks=_ranks(told))
    if told.sample is not None:
        request = replace(request, sample=blocks.rows(told.sample))
    column = Column(told.least, told.most, told.mean, told.whole)
    reach = dominance.Reach(told.lows, told.highs, told.base_rows, told.centres, column)
    with one_thread(), np.errstate(all="raise", under="ignore"):
        judged = dominance.Judged.of(spec, request, blocks, reach)
        dominance.refuse(judged, told.farthest)
        if spec.exact:
            digits.refuse_far_from_zero(request, blocks, told.centres)
        form = mask.solve(blocks, replace(request, heavy=judged.heavy))
        dominance.warn(judged, told.farthest)
        judge_form(spec, request, blocks, form, column)
    return flatten(mask, form)


def _ranks(told: Solvable) -> Moments | None:
    if told.rank_sums is None or told.rank_products is None:
        return None
    return Moments.from_sums(told.n, told.rank_sums, told.rank_products)


def _read(spec: MaskSpec, summed: Summed) -> tuple[Request, Blocks]:
    """What a mask has to know of the call, and the moments; refused where these say nothing."""
    request = Request(
        spec.function,
        spec.table,
        summed.group,
        spec.conf,
        spec.features,
        spec.call,
        spec.places,
        spec.measured,
    )
    p, q = len(spec.features), len(spec.conf)
    moments = Moments.from_sums(summed.n, summed.sums, summed.products)
    _refuse_few_or_constant(request, moments, p, q)
    return request, Blocks.from_moments(moments, p, q)


def _refuse_few_or_constant(request: Request, moments: Moments, p: int, q: int) -> None:
    """What is left to refuse once rows that lack a conf column are out."""
    if moments.n < 3:
        raise request.refuse(
            f"only {moments.n} rows{request.where} have every conf column present; at least 3 are needed."
        )
    faults = request.faults()
    for name, sd, mean in zip(
        request.conf, moments.sd[p : p + q], moments.mean[p : p + q], strict=True
    ):
        # Equal values leave only the rounding of their sums, which shows against how far they lie from the centre.
        if not sd > 1e-5 * abs(mean):
            faults.add(
                f"conf column {quoted(name)} is constant{request.where} over the rows that have every conf column; "
                "there is nothing to mask in it."
            )
    faults.raise_if_any()


LEVERS = told_udf("ppduck_levers", levers, MaskSpec, Summed, "DOUBLE[]")
SOLVE = told_udf("ppduck_solve", solve, MaskSpec, Solvable, "DOUBLE[]")
