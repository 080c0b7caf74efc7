"""equivalence_test(): do a model of the release and a model of the original predict alike?

E(y|x) is fitted on either table, both are evaluated at the original's x, and the fitted values are put to two one-sided
tests: mean of their differences, and intercept and slope of the regression of one on the other. The null hypothesis is
that they are *not* alike (Al-Ahmadi 2006, V.3). Intervals tell how the two differ over the rows of the original.

Linear models are made of all pairs; a bootstrap resamples up to 20,000 of them, and a kernel model learns from so many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, isnan
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels.equivalence import Tested, bootstrap, corrected, parametric
from ppduck.measures import _model_pair
from ppduck.measures._model_pair import ModelSpec, ModelTold
from ppduck.measures._pieces import FITTED_MODEL
from ppduck.pairs import moments
from ppduck.pairs.columns import KEY, Compared, ReleaseCall
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql

NAME = "equivalence_test"
RESULTS = (
    Result("test", "VARCHAR", "mean, intercept or slope"),
    Result("passed", "BOOLEAN", "whether the interval lies within the region"),
    Result("estimate", "DOUBLE", "what is tested; NULL of a slope that there is not"),
    Result("lower", "DOUBLE", "where its interval begins"),
    Result("upper", "DOUBLE", "where it ends"),
    Result("target", "DOUBLE", "what it would be if both models said the same"),
    Result("smallest_region", "DOUBLE", "the region by which the test would just be passed"),
    Result("region", "DOUBLE", "how far apart counts as alike"),
    Result("significance", "DOUBLE", "the size of this test"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("meaning", "VARCHAR", "the test in words"),
)
RESAMPLES = 1_000
_MEANING = {
    "mean": "masked model less original one, on average; should be 0 ± region · {base}",
    "intercept": "original's fitted values where the masked model's are average; target ± region · {base}",
    "slope": "of original on masked fitted values; 1 ± region if both rise and fall alike",
}
_BASE = {
    "mean": "|mean of the original's fitted values|",
    "sd": "sd of the original's fitted values",
}


@parameters
class EquivalenceTestCall(ReleaseCall):
    """A model of y by x, and how it is tested."""

    y: str = parameter(
        arguments.column, "what is predicted: a numeric column that both tables have"
    )
    x: Sequence[str] = parameter(
        arguments.columns, "what it is predicted by: numbers, booleans or categories of both tables"
    )
    key: Sequence[str] = KEY
    model: str = FITTED_MODEL
    region: float = parameter(
        arguments.number(Range(0, 1e9)),
        "how far apart counts as alike: a share of the scale, and for the slope of 1",
        0.25,
    )
    method: str = parameter(
        arguments.choice("parametric", "bootstrap"),
        "intervals by Student's t, or by resampling 20,000 pairs at most",
        "parametric",
    )
    significance: float = parameter(
        arguments.number(Range(0.001, 0.49)),
        "the size of the test of the mean, and of intercept and slope together",
        0.05,
    )
    scale: str = parameter(
        arguments.choice("mean", "sd"),
        "what a region is a share of: mean or standard deviation of the original's fitted values",
        "mean",
    )


@frozen
class EquivalenceSpec(ModelSpec):
    """How the models are tested."""

    region: float
    method: str
    significance: float
    scale: str


def choose(columns: Compared, call: EquivalenceTestCall) -> None:
    columns.use_numbers("y", [call.y])
    if not call.x:
        columns.faults.add(
            "x is empty; name the columns that y depends on, such as x := ['s1', 's2']."
        )
    columns.use_inputs("x", call.x, "y")


def answer(pairs: Pairs, call: EquivalenceTestCall) -> sql.Expr:
    kernel = call.model == "kernel"
    sampled = kernel or call.method == "bootstrap"
    if kernel:
        statement = pairs.statement()
        moments.sample(pairs, statement, _model_pair.values(pairs))
    else:
        statement = moments.moments(pairs, _model_pair.whole(pairs), sampled=sampled)
        if sampled:
            moments.draw(statement, _model_pair.values(pairs))
    spec = pairs.spec(
        EquivalenceSpec,
        inputs=_model_pair.labels(pairs.columns),
        kinds=_model_pair.kinds(pairs.columns),
        kernel=kernel,
        sampled=sampled,
        region=call.region,
        method=call.method,
        significance=call.significance,
        scale=call.scale,
    )
    return pairs.answer(
        statement, SOLVE, spec, _model_pair.told(moments=not kernel, sampled=sampled), RESULTS
    )


def solve(spec: EquivalenceSpec, told: ModelTold) -> list[dict[str, Any]]:
    whole, drawn = _model_pair.sides_of(spec, told)
    if whole is not None:
        models = whole.linear(0, whole.inputs, drawn)
    else:
        assert drawn is not None
        models = drawn.kernel([0], inputs=True)[0]
    if spec.method == "bootstrap":
        assert models.fitted is not None
        resamples = max(RESAMPLES, ceil(2 / corrected(spec.significance)))
        tests = bootstrap(
            *models.fitted, spec.region, spec.significance, spec.scale, resamples=resamples
        )
    else:
        tests = parametric(models.moments, spec.region, spec.significance, spec.scale)
    return list(_rows(tests, models.moments.n, spec))


def _rows(tests: list[Tested], n: int, spec: EquivalenceSpec) -> Iterator[dict[str, Any]]:
    for each in tests:
        found = {
            name: None if isnan(value := getattr(each, name)) else value
            for name in ("estimate", "lower", "upper")
        }
        meaning = _MEANING[each.test].format(base=_BASE[spec.scale])
        if each.test == "slope" and found["estimate"] is None:
            meaning = "the masked model says the same everywhere and so has no slope; it should have one of 1"
        yield {
            "test": each.test, **found, "target": each.target, "smallest_region": each.smallest_region,
            "region": spec.region, "passed": each.passed, "significance": each.alpha, "rows": n, "meaning": meaning,
        }  # fmt: skip


SOLVE = told_udf("ppduck_equivalence_test", solve, EquivalenceSpec, ModelTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        EquivalenceTestCall,
        "Whether models of y by x, fitted on the original and on the release, predict alike: equivalence tests.",
        "Robinson & Froese 2004; Robinson, Duursma & Marshall 2005; Al-Ahmadi 2006, V.3",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM equivalence_test('customers', 'released', y='x2', x=['x1','s1'], key='id')",
        udfs=(SOLVE,),
    )
)
