"""A row that stands apart only in several columns together, judged as the masks judge it (``runtime.dominance``).

Its leverage in the terms of a regression is 1/n + d'(Σdd')⁻¹d, d from the mean; near 1, the row is predicted by itself.
A release tells of such a row where what it predicts of it is what the original does, as masks do that keep relations to
nonconf; and in the confidential columns too where it keeps what nonconf leaves of them, so that noise leaves the row
out. Dealing out values anew (shuffling, swapping) does neither. A column in which the row stands apart by itself is
judged by itself (``_apart``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ppduck.call.registry import Result
from ppduck.call.udf import row_type, told_udf
from ppduck.errors import listed
from ppduck.frozen import frozen
from ppduck.gate._apart import FEWEST, SAME
from ppduck.gate._parts import Parts
from ppduck.gate.rules import Limits, arm, nobody
from ppduck.kernels import leverage
from ppduck.kernels.linear import Blocks, independent, regress
from ppduck.kernels.threads import one_thread
from ppduck.pairs.of_model import shared_step, told_of, told_reach
from ppduck.pairs.one_to_one import CHECK, MATCHED
from ppduck.pairs.rows import SHARED, Pairs, PairSpec, Told
from ppduck.query import tree as sql
from ppduck.runtime.dominance import ALONE, REFUSED
from ppduck.values import Array, Moments

NAME = "leverage"
_PLACE = -130_001  # behind those of single columns
CURVES = ("cc_gain", "r2_gain")  # rules that sum up the same moments
NEAR = 0.05  # residual standard deviations by which a prediction may differ that tells of a row
RESULTS = (Result("value", "DOUBLE", ""), Result("why", "VARCHAR", ""))
LEVERS_STEP, AXES, FARTHEST = "_pp_levers", "_pp_axes", "_pp_farthest_row"
_WHY = "share of a single row in the variance of several columns together, where the release tells of it"


@frozen
class LeverSpec(PairSpec):
    """The column of each feature, the places of each category's levels, and the limit."""

    sources: list[str]
    levels: list[list[int]]
    limit: float


@frozen
class LeverTold(Told):
    """Moments of [S, X, Y], about centres, how far they reach; of the second look [S, X] of the farthest row."""

    counts: Array | None
    sums: Array | None
    products: Array | None
    centres: Array | None
    lows: Array | None
    highs: Array | None
    farthest: Array | None


def row(statement: sql.Statement, parts: Parts, limits: Limits) -> sql.Expr | None:
    """A SELECT of the rule; none where there are no two columns that a row could stand apart in together."""
    of = parts.columns
    size = len(of.features) + len(of.numbers)
    if not limits.asks(NAME) or not of.numbers or size < 2:
        return None
    own = of.part(of.function, numbers=of.numbers, categories=[], features=of.features)
    pairs = Pairs(own, within=statement)
    names = [feature.column for feature in of.features]
    levels = {
        name: [i for i, each in enumerate(of.features) if each.column == name and each.level]
        for name in names
    }
    limit = limits.numbers.get(NAME, REFUSED)
    spec = pairs.spec(
        LeverSpec, sources=names, levels=[each for each in levels.values() if each], limit=limit
    )
    model = "curve" if any(rule in limits.measured for rule in CURVES) else "linear"
    moments = sql.table(shared_step(pairs, model))
    told = {name: each for name, each in (told_of(model) | told_reach()).items() if name in _FIELDS}
    fields = {name: sql.column(f"_pp_told_{name}") for name in told} | {
        "pairs": sql.column(MATCHED)
    }
    nothing = {"farthest": sql.cast(sql.null(), "DOUBLE[]")}
    levers = sql.named(LEVERS.in_sql(spec, fields | nothing), "_pp_w")
    statement.step(
        LEVERS_STEP, sql.query([levers], sql.table(CHECK).cross(moments)), materialized=True
    )
    statement.step(AXES, _axes(size), materialized=True)
    statement.step(FARTHEST, _farthest(pairs, size), materialized=True)
    asked = JUDGE.in_sql(spec, fields | {"farthest": sql.column("_pp_row")})
    rows = sql.table(CHECK).cross(moments).cross(sql.table(FARTHEST))
    found = sql.derived(sql.query([sql.named(asked, "_pp_joint")], rows), "_pp_judged_joint")
    value, why = (sql.part(sql.column("_pp_joint"), result.name) for result in RESULTS)
    return sql.query(
        arm(
            sql.number(_PLACE),
            sql.text(NAME),
            column=nobody(),
            value=value,
            at_most=sql.number(limit),
            why=why,
        ),
        found,
    )


def _axes(size: int) -> sql.Expr:
    """The weights of each axis, and where it begins; no row where no row of the table can reach the limit."""
    weights = sql.column("_pp_w")
    columns = [
        sql.named(
            sql.call(
                "list_slice",
                weights.copy(),
                sql.number(k * (size + 1) + 1),
                sql.number((k + 1) * (size + 1)),
            ),
            f"_pp_axis{k}",
        )
        for k in range(size)
    ]
    return sql.query(columns, sql.table(LEVERS_STEP), where=sql.present([weights]))


def _farthest(pairs: Pairs, size: int) -> sql.Expr:
    """The row of the largest leverage."""
    values = [sql.column(name) for name in pairs.value_names]
    before = [each.copy() for each in values[:size]]
    row = sql.named(sql.array([*before, sql.number(-1)], "DOUBLE"), "_pp_terms")
    rows = sql.query([row], sql.table(SHARED), where=sql.present(values))
    along = [
        sql.named(
            sql.call("list_inner_product", sql.column(f"_pp_axis{k}"), sql.column("_pp_terms")),
            f"_pp_along{k}",
        )
        for k in range(size)
    ]
    lengths = sql.query(
        [sql.column("_pp_terms"), *along],
        sql.derived(rows, "_pp_complete_rows").cross(sql.table(AXES)),
    )
    squares = [
        sql.product(sql.column(f"_pp_along{k}"), sql.column(f"_pp_along{k}")) for k in range(size)
    ]
    farthest = sql.call("arg_max", sql.column("_pp_terms"), sql.total(squares))
    return sql.query([sql.named(farthest, "_pp_row")], sql.derived(lengths, "_pp_lengths"))


@frozen(kw_only=True)
class Joint:
    """The moments of [S, X] and of [S, Y], and the terms that are judged as one."""

    spec: LeverSpec
    before: Blocks
    after: Blocks
    low: Array  # of [S, X], from the mean
    high: Array

    @classmethod
    def of(cls, spec: LeverSpec, told: LeverTold) -> Joint | None:
        """None where there are too few rows, or numbers that cannot be summed up."""
        known = (told.counts, told.sums, told.products, told.centres, told.lows, told.highs)
        if any(each is None or not len(each) for each in known):
            return None
        counts, sums, products, centres, lows, highs = (np.asarray(each) for each in known)
        n, p, q = int(counts[0]), len(spec.features), len(spec.columns)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = Moments.from_sums(n, sums, products)
        if n < FEWEST or not np.isfinite(moments.cross).all():
            return None
        mean = centres + moments.mean
        size = p + q

        def blocks(of: list[int]) -> Blocks:
            own = Moments(n, mean[of], moments.cross[np.ix_(of, of)])
            return Blocks.from_moments(own, p, q)

        return cls(
            spec=spec,
            before=blocks([*range(size)]),
            after=blocks([*range(p), *range(size, size + q)]),
            low=(lows - mean)[:size],
            high=(highs - mean)[:size],
        )

    @cached_property
    def terms(self) -> list[int]:
        """Those in which no row stands apart by itself, and that are no combination of the others."""
        blocks = self.before
        shares = leverage.shares(blocks, self.low, self.high)
        s, x = (
            [i for i in places if shares[i] <= REFUSED]
            for places in (range(blocks.p), range(blocks.p, blocks.p + blocks.q))
        )
        chosen = s + x if self._keeps_what_is_left and not self._few else s
        cov = blocks.cov[np.ix_(chosen, chosen)]
        return [chosen[i] for i in independent(cov)]

    @property
    def _few(self) -> bool:
        """Whether there are so few rows for the terms that most have a high leverage."""
        terms = self.before.p + self.before.q
        return leverage.from_share(REFUSED, terms, self.before.n) > ALONE

    @cached_property
    def _keeps_what_is_left(self) -> bool:
        """Whether what S leaves of Y varies as what it leaves of X does, so that a single row of it is told."""
        before, after = (each.regression_of_x()[1] for each in (self.before, self.after))
        unit = self.after.x_scale / self.before.x_scale
        allowed = SAME * np.sqrt(np.outer(np.diag(before), np.diag(before)))
        return bool((np.abs(after * np.outer(unit, unit) - before) <= allowed).all())

    def share(self, h: float) -> float:
        """What is ``REFUSED`` at the leverage that masks refuse: how far h is beyond what is high by chance."""
        high = self.reached_at(0.0)
        return max(h - high, 0.0) / (self.reached_at(1.0) - high)

    def reached_at(self, share: float) -> float:
        if self._few:
            return share * ALONE / REFUSED
        return leverage.from_share(share, len(self.terms), self.before.n)

    @cached_property
    def largest(self) -> float:
        """No row has more."""
        blocks = self.before
        h = leverage.largest(blocks, self.terms, self.low, self.high, self.spec.levels)
        return self.share(min(h, 1.0))

    def weights(self) -> list[float]:
        """Axis by axis its weights and where it begins."""
        axes = leverage.axes(self.before, self.terms)
        return np.column_stack([axes, axes @ self.before.mean]).ravel().tolist()

    def tells(self, row: Array, involved: Sequence[int]) -> bool:
        """Whether the release tells of a row, given from the mean, that stands apart in some terms."""
        p = self.before.p
        if any(i >= p for i in involved):
            return True
        predicted = [
            each.mean[p:] + (row[:p] / each.scale[:p]) @ regress(each.ss, each.sx) * each.x_scale
            for each in (self.before, self.after)
        ]
        residual = np.diag(self.before.regression_of_x()[1])
        left = np.sqrt(np.maximum(residual, 0.0)) * self.before.x_scale
        return bool((np.abs(predicted[1] - predicted[0]) <= NEAR * left).any())


def levers(spec: LeverSpec, told: LeverTold) -> list[float] | None:
    """What the leverage of each row is computed with; None where no row can reach the limit."""
    with one_thread():
        joint = Joint.of(spec, told)
        if joint is None or len(joint.terms) < 2 or joint.largest <= spec.limit:
            return None
        return joint.weights()


def judge(spec: LeverSpec, told: LeverTold) -> dict[str, Any]:
    with one_thread():
        value, why = _judged(spec, told)
    return {"value": value, "why": why}


def _judged(spec: LeverSpec, told: LeverTold) -> tuple[float | None, str]:
    joint = Joint.of(spec, told)
    if joint is None:
        return None, f"{_WHY}: too few rows without NULL, or numbers too large to sum up"
    if told.farthest is None or not len(told.farthest):
        return joint.largest if len(joint.terms) > 1 else 0.0, f"{_WHY}; no row has more"
    row, terms = told.farthest[:-1] - joint.before.mean, joint.terms
    value = joint.share(min(leverage.leverage(joint.before, terms, row), 1.0))
    if value <= spec.limit:
        return value, _WHY
    involved = leverage.involved(joint.before, terms, row, joint.reached_at(spec.limit))
    if not joint.tells(row, involved):
        return 0.0, f"{_WHY}; what it tells of the farthest is another's"
    names = [*spec.sources, *spec.columns]
    together = listed(dict.fromkeys(names[i] for i in involved))
    why = f"{_WHY}: {together}; leave the row out, correct it in a SELECT, or drop one of these columns"
    return value, why


_FIELDS = ("counts", "sums", "products", "centres", "lows", "highs")
LEVERS = told_udf("ppduck_release_levers", levers, LeverSpec, LeverTold, "DOUBLE[]")
JUDGE = told_udf("ppduck_release_leverage", judge, LeverSpec, LeverTold, row_type(RESULTS))
