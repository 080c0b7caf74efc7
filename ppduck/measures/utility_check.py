"""utility_check(): what a release keeps of its original: moments, regressions, quantiles, and the shape of relations.

Differences need no scale: of means and quantiles they are in standard deviations of the original, of sds relative, of
correlations and R² plain, and of a coefficient b · sd(s) / sd(x), sds of the original: by how many sds x rises as s
rises by one. They hold within ``tolerance`` beyond chance, which is two standard errors of the difference between two
independent samples of so many rows, taken as normal: a mask that draws anew can come no nearer.

Relations are the classes of Al-Ahmadi (2006, VI.3): a confidential X given S, given the other X, given both; two X make
six. One holds where the slope test of ``equivalence_test`` would pass a region of 0.25, or where there is no relation
in either table: then slopes are but noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels.equivalence import parametric
from ppduck.kernels.prediction import gain_by_chance
from ppduck.libraries import stats
from ppduck.measures import _model_pair
from ppduck.measures._model_pair import Drawn, Looked, Models, ModelSpec, ModelTold, Whole
from ppduck.measures._pieces import FITTED_MODEL
from ppduck.measures.equivalence_test import EquivalenceTestCall
from ppduck.pairs import moments
from ppduck.pairs.columns import Compared, ConfCall
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "utility_check"
RESULTS = (
    Result("kind", "VARCHAR", "moment, regression, quantile or relationship"),
    Result("item", "VARCHAR", "which one"),
    Result("passed", "BOOLEAN", "whether it is within its tolerance"),
    Result("original", "DOUBLE", "its value in the original"),
    Result("release", "DOUBLE", "its value in the release"),
    Result(
        "slope_region", "DOUBLE", "the smallest region of the slope test; only of a relationship"
    ),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("tolerance", "DOUBLE", "how far apart they may be, chance included"),
    Result(
        "difference", "DOUBLE", "how far apart they are, without a scale; NULL where there is none"
    ),
    Result("meaning", "VARCHAR", "the difference in words"),
)
QUANTILES = (0.01, 0.05, 0.25, 0.50, 0.75, 0.95, 0.99)
REGION = EquivalenceTestCall.region
CHANCE = 2.0  # standard errors
Row = dict[str, Any]


@parameters
class UtilityCheckCall(ConfCall):
    """Relations of conf, and how far they may move."""

    nonconf: Sequence[str] | None = parameter(
        arguments.columns,
        "S, which relations start from; by default what both tables have beside conf and key",
        None,
    )
    model: str = FITTED_MODEL
    tolerance: float = parameter(
        arguments.number(Range(0, 1)),
        "how far moments, coefficients and quantiles may be apart beyond what chance makes of so many rows",
        0.05,
    )


@frozen
class UtilitySpec(ModelSpec):
    """What is allowed beyond chance."""

    tolerance: float


@frozen
class UtilityTold(ModelTold):
    """QUANTILES of each number before, then of each after."""

    quantiles: Array | None


def choose(columns: Compared, call: UtilityCheckCall) -> None:
    columns.use_numbers("conf", call.conf)
    columns.use_inputs("nonconf", call.nonconf, "conf")


def answer(pairs: Pairs, call: UtilityCheckCall) -> sql.Expr:
    kernel = call.model == "kernel"
    asked = _model_pair.whole(pairs) | {"_pp_quantiles": _quantiles(len(pairs.columns.numbers))}
    statement = moments.moments(pairs, asked, sampled=kernel)
    if kernel:
        moments.draw(statement, _model_pair.values(pairs))
    told = _model_pair.told(moments=True, sampled=kernel) | {
        "quantiles": moments.any_of("_pp_quantiles")
    }
    spec = pairs.spec(
        UtilitySpec,
        inputs=_model_pair.labels(pairs.columns),
        kinds=_model_pair.kinds(pairs.columns),
        kernel=kernel,
        sampled=kernel,
        tolerance=call.tolerance,
    )
    return pairs.answer(statement, SOLVE, spec, told, RESULTS)


def _quantiles(q: int) -> sql.Expr:
    """Of each number before, then of each after, one after the other."""
    levels = sql.array(map(sql.number, QUANTILES), "DOUBLE")
    sides = [sql.column(f"_pp_{side}{j}") for side in "xy" for j in range(q)]
    return sql.flat(sql.call("quantile_cont", x, levels.copy()) for x in sides)


def solve(spec: UtilitySpec, told: UtilityTold) -> list[Row]:
    whole, drawn = _model_pair.sides_of(spec, told)
    assert whole is not None
    assert told.quantiles is not None
    quantiles = told.quantiles.reshape(2, whole.q, -1)
    apart = [*_moments(whole), *_regressions(whole), *_quantile_rows(whole, quantiles)]
    return [*(each.row(whole.n, spec.tolerance) for each in apart), *_relations(drawn or whole)]


@frozen
class Apart:
    """A figure of both tables, how far apart it is, and how far chance alone would take it.

    A difference that is None has nothing to be measured by: it holds only where nothing changed.
    """

    kind: str
    item: str
    values: tuple[float, float]
    difference: float | None
    chance: float
    meaning: str

    def row(self, n: int, tolerance: float) -> Row:
        limit = tolerance + CHANCE * self.chance
        original, release = self.values
        difference = 0.0 if self.difference is None and original == release else self.difference
        return {
            "kind": self.kind, "item": self.item, "original": original, "release": release, "difference": difference,
            "slope_region": None, "tolerance": limit, "passed": difference is not None and abs(difference) <= limit,
            "rows": n, "meaning": self.meaning,
        }  # fmt: skip


def _moments(sides: Whole) -> Iterator[Apart]:
    a, b, names = sides.original, sides.masked, [*sides.spec.columns, *sides.spec.inputs]
    for j in range(sides.q):
        sd, twice = a.sd[j], sqrt(2 / sides.n)
        values = (float(a.mean[j]), float(b.mean[j]))
        moved = float(b.mean[j] - a.mean[j]) / sd if sd > 0 else None
        yield Apart(
            "moment",
            f"mean of {names[j]}",
            values,
            moved,
            twice,
            "difference in standard deviations",
        )
        grown = float(b.sd[j] / sd) - 1 if sd > 0 else None
        values = (float(sd), float(b.sd[j]))
        yield Apart(
            "moment",
            f"sd of {names[j]}",
            values,
            grown,
            twice / sqrt(2),
            "difference as a share of the sd",
        )
    r, masked_r = a.correlation, b.correlation
    for j in range(sides.q):
        for i in [*range(j + 1, sides.q), *sides.inputs]:
            values = (float(r[j, i]), float(masked_r[j, i]))
            chance = sqrt(2 / sides.n) * (1 - min(values[0] ** 2, 1.0))
            item = f"correlation of {names[j]}, {names[i]}"
            yield Apart(
                "moment",
                item,
                values,
                values[1] - values[0],
                chance,
                "plain difference; 0 of a constant",
            )


def _regressions(sides: Whole) -> Iterator[Apart]:
    """Least squares of each X on S, whatever the model of the relations."""
    if not sides.p:
        return
    names, by = sides.spec.columns, sides.inputs
    spare = max(sides.n - sides.p - 1, 1)
    for j, name in enumerate(names):
        lines = sides.lines(j, by)
        sd = sides.original.sd
        # Errors of standardised coefficients: √((1 - R²) · inverse correlation of the inputs / spare rows).
        inverse = np.diag(
            np.linalg.pinv(sides.original.correlation[np.ix_(by, by)], rcond=1e-10, hermitian=True)
        )
        for i, label in enumerate(sides.spec.inputs):
            values = (float(lines[0].slopes[i]), float(lines[1].slopes[i]))
            unit = sd[by[i]] / sd[j] if sd[j] > 0 else None
            chance = sqrt(2 * (1 - lines[0].r2) * max(float(inverse[i]), 0.0) / spare)
            moved = None if unit is None else (values[1] - values[0]) * float(unit)
            meaning = f"coefficient; difference in sds of {name} for one sd of {label}"
            yield Apart("regression", f"{name} on nonconf: {label}", values, moved, chance, meaning)
        r2 = (lines[0].r2, lines[1].r2)
        chance = sqrt(2 / sides.n) * 2 * sqrt(r2[0]) * (1 - r2[0])
        yield Apart(
            "regression",
            f"{name} on nonconf: R²",
            r2,
            r2[1] - r2[0],
            chance,
            "plain difference, linear model",
        )


def _quantile_rows(sides: Whole, found: Array) -> Iterator[Apart]:
    for j, name in enumerate(sides.spec.columns):
        sd = sides.original.sd[j]
        for k, level in enumerate(QUANTILES):
            values = (float(found[0, j, k]), float(found[1, j, k]))
            moved = float((values[1] - values[0]) / sd) if sd > 0 else None
            # √(2 p (1 - p) / n) / φ: two sample quantiles of a normal column, in its sds.
            chance = sqrt(2 * level * (1 - level) / sides.n) / float(
                stats.norm.pdf(stats.norm.ppf(level))
            )
            item = f"{name} at {100 * level:g} %"
            yield Apart(
                "quantile", item, values, moved, chance, "difference in standard deviations"
            )


def _relations(sides: Whole | Drawn) -> Iterator[Row]:
    # One LS-SVM learns all X from S.
    by_s = sides.kernel(range(sides.q), inputs=True) if isinstance(sides, Drawn) and sides.p else []
    for j, name in enumerate(sides.spec.columns):
        for given, s, x in _classes(sides, j):
            if isinstance(sides, Whole):
                models = sides.linear(j, [*s, *x])
            else:
                models = sides.kernel([j], x, inputs=bool(s))[0] if x else by_s[j]
            yield _relation(sides, f"{name} | {given}", models, [*s, *x])


def _classes(sides: Looked, j: int) -> Iterator[tuple[str, list[int], list[int]]]:
    """Name, S and X of each class that there is: without S only the other X can tell of one, without them only S."""
    s, others = sides.inputs, [i for i in range(sides.q) if i != j]
    if s:
        yield "S", s, []
    if others:
        yield "other X", [], others
    if s and others:
        yield "S, other X", s, others


def _relation(sides: Looked, item: str, models: Models, by: Sequence[int]) -> Row:
    usual = EquivalenceTestCall
    slope = parametric(models.moments, REGION, usual.significance, usual.scale)[2]
    none = max(models.r2) <= gain_by_chance(sides.n, 0.0, 0, len(by))
    meaning = "R² of rows left out" if sides.spec.kernel else "R²"
    if none:
        meaning += "; no relation in either table, so that there is no slope to keep"
    else:
        meaning += "; slope_region: how far original fitted values are from rising one to one with masked ones"
    return {
        "kind": "relationship", "item": item, "original": models.r2[0], "release": models.r2[1],
        "difference": models.r2[1] - models.r2[0], "slope_region": slope.smallest_region, "tolerance": REGION,
        "passed": none or slope.passed, "rows": sides.n, "meaning": meaning,
    }  # fmt: skip


SOLVE = told_udf("ppduck_utility_check", solve, UtilitySpec, UtilityTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        UtilityCheckCall,
        "What a release keeps: moments, regressions, quantiles and relations of conf to nonconf and to each other.",
        "Al-Ahmadi 2006, V.3 and VI.3; Robinson, Duursma & Marshall 2005",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM utility_check('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(SOLVE,),
    )
)
