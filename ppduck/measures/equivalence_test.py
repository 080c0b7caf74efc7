"""equivalence_test(): do a model of the release and a model of the original predict alike?

E(y|x) is fitted on either table, both are evaluated at the original's x, and the fitted values are put to two one-sided
tests: mean of their differences, and intercept and slope of the regression of one on the other. The null hypothesis is
that they are *not* alike (Al-Ahmadi 2006, V.3). Intervals tell how the two differ over the rows of the original.

Linear models are made of all pairs; a bootstrap resamples up to 20,000 of them, and a kernel model learns from so many.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, isnan
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.kernels.equivalence import Tested, bootstrap, corrected, parametric
from ppduck.measures import _model_pair
from ppduck.measures._measure import FITTED_MODEL
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import KEY, ORIGINAL, RELEASE, Pairs
from ppduck.values import Array

NAME = "equivalence_test"
SOLVE = "ppduck_equivalence_test"
COLUMNS = {
    "test": "VARCHAR",
    "passed": "BOOLEAN",
    "estimate": "DOUBLE",
    "lower": "DOUBLE",
    "upper": "DOUBLE",
    "target": "DOUBLE",
    "smallest_region": "DOUBLE",
    "region": "DOUBLE",
    "significance": "DOUBLE",
    "rows": "BIGINT",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)
TAKES = _model_pair.TAKES
RESAMPLES = 1_000
_MEANING = {
    "mean": "masked model less original one, on average; should be 0 ± region · {base}",
    "intercept": "original's fitted values where the masked model's are average; target ± region · {base}",
    "slope": "of original on masked fitted values; 1 ± region if both rise and fall alike",
}
_BASE = {"mean": "|mean of the original's fitted values|", "sd": "sd of the original's fitted values"}


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    given = given | {"y": [given["y"]]}
    pairs = Pairs(NAME, catalog, given)
    pairs.use_numbers("y")
    if not given["x"]:
        pairs.faults.add("x is empty; name the columns that y depends on, such as x := ['s1', 's2'].")
    pairs.use_inputs("x", "y")
    pairs.faults.raise_if_any()
    kernel, method = given.get("model") == "kernel", given.get("method", "parametric")
    sampled = kernel or method == "bootstrap"
    if kernel:
        statement = pairs.statement()
        pairs.sample(statement, _model_pair.values(pairs))
    else:
        statement = pairs.moments(_model_pair.whole(pairs), sampled=sampled)
        if sampled:
            pairs.draw(statement, _model_pair.values(pairs))
    told = _model_pair.told(moments=not kernel, sampled=sampled)
    options = {
        "region": given.get("region", 0.25),
        "significance": given.get("significance", 0.05),
        "scale": given.get("scale", "mean"),
    }
    described = _model_pair.described(pairs, kernel=kernel, sampled=sampled)
    return pairs.rows(statement, SOLVE, told, COLUMNS, **described, method=method, **options)


def solve(specification: str, _: int, *told: Array | None) -> list[dict[str, Any]]:
    whole, drawn = _model_pair.sides_of(specification, *told)
    if whole is not None:
        spec, models = whole.spec, whole.linear(0, whole.inputs, drawn)
    else:
        assert drawn is not None
        spec, models = drawn.spec, drawn.kernel([0], inputs=True)[0]
    region, alpha, scale = spec["region"], spec["significance"], spec["scale"]
    if spec["method"] == "bootstrap":
        assert models.fitted is not None
        resamples = max(RESAMPLES, ceil(2 / corrected(alpha)))
        tests = bootstrap(*models.fitted, region, alpha, scale, resamples)
    else:
        tests = parametric(models.moments, region, alpha, scale)
    return list(_rows(tests, models.moments.n, spec))


def _rows(tests: list[Tested], n: int, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for each in tests:
        found = {
            name: None if isnan(value := getattr(each, name)) else value for name in ("estimate", "lower", "upper")
        }
        meaning = _MEANING[each.test].format(base=_BASE[spec["scale"]])
        if each.test == "slope" and found["estimate"] is None:
            meaning = "the masked model says the same everywhere and so has no slope; it should have one of 1"
        yield {
            "test": each.test, **found, "target": each.target, "smallest_region": each.smallest_region,
            "region": spec["region"], "passed": each.passed, "significance": each.alpha, "rows": n, "meaning": meaning,
        }  # fmt: skip


FUNCTION = register(
    Function(
        NAME,
        (
            ORIGINAL,
            RELEASE,
            Parameter("y", arguments.words, "what is predicted: a numeric column that both tables have"),
            Parameter(
                "x", arguments.columns, "what it is predicted by: numbers, booleans or categories of both tables"
            ),
            KEY,
            FITTED_MODEL,
            Parameter(
                "region",
                arguments.number(Range(0, 1e9)),
                "how far apart counts as alike: a share of the scale, and for the slope of 1",
                "0.25",
            ),
            Parameter(
                "method",
                arguments.choice("parametric", "bootstrap"),
                "intervals by Student's t, or by resampling 20,000 pairs at most",
                "'parametric'",
            ),
            Parameter(
                "significance",
                arguments.number(Range(0.001, 0.49)),
                "the size of the test of the mean, and of intercept and slope together",
                "0.05",
            ),
            Parameter(
                "scale",
                arguments.choice("mean", "sd"),
                "what a region is a share of: mean or standard deviation of the original's fitted values",
                "'mean'",
            ),
        ),
        plan,
        "Whether models of y by x, fitted on the original and on the release, predict alike: equivalence tests.",
        "Robinson & Froese 2004; Robinson, Duursma & Marshall 2005; Al-Ahmadi 2006, V.3",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES), row_pairs.UDF),
    )
)
