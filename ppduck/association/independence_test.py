"""independence_test(): χ² and G² of two columns, given others or not, on rows randomized or not.

Columns that are randomized each by itself stay independent where the originals are, so that the
test on the rows as published has its level, and less power (Guo 2010, Result 9). Given other
columns this holds if and only if none of those is randomized (Guo 2010, Result 10): rows of one published
stratum come from several, and look dependent. The same holds for |partial correlation|, which
randomization of the two columns can only lessen (Guo 2010, Result 11).

Where p or matrix is known, ``efficiency`` is the share of its rows that the original table would
have needed for the same test (exact for two levels each, else on average over the kinds of
dependence), and ``power_lost`` what a test of the given ``power`` on the original loses by it. Both
follow from the design and the shares of the levels, not from what the test has found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.association.table_call import TableCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import row_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.estimators import cells, count_column, count_table
from ppduck.estimators.cells import CellCounts, CellsSpec
from ppduck.frozen import frozen
from ppduck.kernels import independence
from ppduck.kernels.distortion import Reconstruction
from ppduck.query import tree as sql

NAME = "independence_test"
MOST_CELLS = 1_000_000
_MOST_TO_RECONSTRUCT = 100_000
RESULTS = (
    Result(
        "p_value",
        "DOUBLE",
        "the chance of such a χ² or a larger one where the columns are independent",
    ),
    Result("valid", "BOOLEAN", "whether the test keeps its level on these rows"),
    Result("chi2", "DOUBLE", "Pearson's χ², summed over the strata"),
    Result("g2", "DOUBLE", "the likelihood ratio G², summed over the strata"),
    Result("df", "BIGINT", "the degrees of freedom of both"),
    Result("p_value_g2", "DOUBLE", "the chance of such a G² or a larger one"),
    Result("rows", "DOUBLE", "the rows that were tested"),
    Result("least_expected", "DOUBLE", "the least count that independence expects of a cell"),
    Result(
        "partial_correlation",
        "DOUBLE",
        "the correlation given the other columns, of columns of two levels",
    ),
    Result(
        "efficiency", "DOUBLE", "the share of its rows that the original table would have needed"
    ),
    Result("power_original", "DOUBLE", "the power on the original, as given"),
    Result("power", "DOUBLE", "what is left of it on the randomized rows"),
    Result("power_lost", "DOUBLE", "the difference of both"),
    Result("why", "VARCHAR", "why the test is valid, or is not"),
)


@parameters
class IndependenceTestCall(TableCall):
    a: str = parameter(arguments.column, "the first column")
    b: str = parameter(arguments.column, "the second column")
    given: Sequence[str] = parameter(
        arguments.columns, "columns within whose levels independence is tested", ()
    )
    randomized: Sequence[str] | None = count_table.RANDOMIZED
    count: str | None = count_column.COUNT
    significance: float = parameter(
        arguments.number(Range(1e-6, 0.5)), "the level of the test", 0.05
    )
    power: float = parameter(
        arguments.number(Range(0.1, 0.999)), "the power on the original to lose from", 0.8
    )


@frozen
class IndependenceSpec(CellsSpec):
    randomized: tuple[int, ...]  # places of columns
    knows_design: bool
    significance: float
    power: float


def plan(catalog: Catalog, call: IndependenceTestCall) -> sql.Expr:
    names = [call.a, call.b, *call.given]
    table = count_table.read_table(NAME, catalog, call.tbl, names, call.words, call.randomized)
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=call.null_is_level, count=call.count
    )
    spec = counted.spec(
        IndependenceSpec,
        randomized=tuple(table.places),
        knows_design=table.knows_design,
        significance=call.significance,
        power=call.power,
    )
    answer = sql.call("unnest", sql.column(cells.ANSWER))
    return counted.solve(SOLVE, spec).query(sql.query([answer], sql.table(cells.SOLVED)))


def solve(spec: IndependenceSpec, told: CellCounts) -> dict[str, Any]:
    found = cells.table_of(spec, told, "population")
    sizes = found.counts.shape
    for column, size in zip(spec.columns[:2], sizes, strict=False):
        if size < 2:
            raise spec.refuse(f"column {quoted(column.name)} has a single level; there is no test.")
    test = independence.conditional(found.counts)
    valid, why = _validity(spec)
    kept = _efficiency(spec, found) if valid and test.df else None
    power = (
        None
        if kept is None
        else independence.power_left(kept, test.df, spec.significance, spec.power)
    )
    binary = max(sizes[:2]) == 2 and (len(sizes) == 2 or max(sizes[2:]) <= 2)
    return {
        "chi2": test.chi2,
        "g2": test.g2,
        "df": test.df,
        "p_value": test.p_value,
        "p_value_g2": test.p_value_g2,
        "rows": found.n,
        "least_expected": test.least_expected,
        "partial_correlation": independence.partial_correlation(found.counts) if binary else None,
        "valid": valid,
        "why": why,
        "efficiency": kept,
        "power_original": None if power is None else spec.power,
        "power": power,
        "power_lost": None if power is None else spec.power - power,
    }


def _validity(spec: IndependenceSpec) -> tuple[bool, str]:
    names = [column.name for column in spec.columns]
    if not spec.randomized:
        return True, "no column is known to be randomized"
    within = [names[i] for i in spec.randomized if i >= 2]
    if within:
        return False, (
            f"{', '.join(within)} is randomized, so that rows of one stratum come from several: the test may reject "
            "too often (Guo 2010, Result 10); loglinear_fit with reconstruct := 'mle' tests it where p is known"
        )
    own = ", ".join(names[i] for i in spec.randomized)
    result = f"Guo 2010, Result {10 if len(names) > 2 else 9}"
    return True, f"{own} is randomized: the test keeps its level and has less power ({result})"


def _efficiency(spec: IndependenceSpec, found: Reconstruction) -> float | None:
    """Of tables of known design that are small enough to be reconstructed."""
    if not spec.randomized or not spec.knows_design or found.counts.size > _MOST_TO_RECONSTRUCT:
        return None
    original = np.maximum(cells.estimate_by("mle", found, spec.faults()), 0.0)
    return independence.efficiency(original, found.matrices)


SOLVE = told_udf("ppduck_independence_test", solve, IndependenceSpec, CellCounts, row_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        IndependenceTestCall,
        plan,
        "Independence of two columns, given others or not; on randomized rows whether it is valid, and power lost.",
        "Guo (2010), Results 9 to 11; Korn (1981), JASA 76",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM independence_test('survey_rr', 'gender', 'disease')",
        udfs=(SOLVE, count_column.UDF),
    )
)
