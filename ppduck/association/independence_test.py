"""independence_test(): χ² and G² of two columns, within the levels of others, on original or randomized rows.

Columns that are randomized each by itself stay independent where the originals are, so that the test on the rows as
published has its level, and less power (Guo 2010, Result 9). Given other columns this holds if and only if none of
those is randomized (Result 10): rows of one published stratum come from several, and look dependent. The same holds
for |partial correlation|, which randomization of the two columns can only lessen (Result 11).

Where p or matrix is known, ``efficiency`` is the share of its rows that the original table would have needed for the
same test (exact for two levels each, else on average over the kinds of dependence), and ``power_lost`` what a test of
the given ``power`` on the original loses by it. Both follow from the design and the shares of the levels, not from
what the test has found.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords
from ppduck.errors import Faults, quoted
from ppduck.estimators import cells, count_column, count_table
from ppduck.kernels import independence
from ppduck.kernels.randomized import Reconstruction

NAME = "independence_test"
SOLVE = "ppduck_independence_test"
MOST_CELLS = 1_000_000
_MOST_TO_RECONSTRUCT = 100_000
_ROW = {
    "p_value": "DOUBLE", "valid": "BOOLEAN", "chi2": "DOUBLE", "g2": "DOUBLE", "df": "BIGINT", "p_value_g2": "DOUBLE",
    "rows": "DOUBLE", "least_expected": "DOUBLE", "partial_correlation": "DOUBLE",
    "efficiency": "DOUBLE", "power_original": "DOUBLE", "power": "DOUBLE", "power_lost": "DOUBLE", "why": "VARCHAR",
}  # fmt: skip
_FIELDS = ", ".join(f'"{name}" {kind}' for name, kind in _ROW.items())
SOLVE_TYPES = (cells.ARGUMENTS, f"STRUCT({_FIELDS})")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    names = [given["a"], given["b"], *given.get("given", [])]
    table = count_table.read_table(NAME, catalog, given["tbl"], names, DesignWords.of(given), given.get("randomized"))
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    own = {
        "randomized": table.places,
        "knows_design": table.knows_design,
        "significance": given.get("significance", 0.05),
        "power": given.get("power", 0.8),
    }
    statement = counted.statement(SOLVE, own)
    shown = ", ".join(f'struct_extract("_pp_r", \'{name}\') AS "{name}"' for name in _ROW)
    return statement.finish(f'SELECT {shown} FROM "_pp_solved"')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int,
) -> dict[str, Any]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    names = [column["column"] for column in spec["columns"]]
    for name, size in zip(names[:2], sizes, strict=False):
        if size < 2:
            raise Faults(NAME, spec["table"]).refuse(f"column {quoted(name)} has a single level; there is no test.")
    test = independence.conditional(found.counts)
    valid, why = _validity(spec, names)
    kept = _efficiency(spec, found) if valid and test.df else None
    power = None if kept is None else independence.power_left(kept, test.df, spec["significance"], spec["power"])
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
        "power_original": None if power is None else spec["power"],
        "power": power,
        "power_lost": None if power is None else spec["power"] - power,
    }


def _validity(spec: dict[str, Any], names: Sequence[str]) -> tuple[bool, str]:
    randomized = spec["randomized"]
    if not randomized:
        return True, "no column is known to be randomized"
    within = [names[i] for i in randomized if i >= 2]
    if within:
        return False, (
            f"{', '.join(within)} is randomized, so that rows of one stratum come from several: the test may reject "
            "too often (Result 10); loglinear_fit with reconstruct := 'mle' tests it where p is known"
        )
    own = ", ".join(names[i] for i in randomized)
    result = "Result 10" if len(names) > 2 else "Result 9"
    return True, f"{own} is randomized: the test keeps its level and has less power ({result})"


def _efficiency(spec: dict[str, Any], found: Reconstruction) -> float | None:
    """Of tables of known design that are small enough to be reconstructed."""
    if not spec["randomized"] or not spec["knows_design"] or found.counts.size > _MOST_TO_RECONSTRUCT:
        return None
    original = np.maximum(cells.estimated(spec, found, "mle"), 0.0)
    return independence.efficiency(original, found.matrices)


FUNCTION = register(
    Function(
        NAME,
        (
            count_table.TBL,
            Parameter("a", arguments.words, "the first column"),
            Parameter("b", arguments.words, "the second column"),
            Parameter("given", arguments.columns, "columns within whose levels independence is tested", "NULL"),
            count_table.RANDOMIZED,
            count_column.COUNT,
            Parameter("significance", arguments.number(Range(1e-6, 0.5)), "the level of the test", "0.05"),
            Parameter(
                "power",
                arguments.number(Range(0.1, 0.999)),
                "the power on the original to lose from",
                "0.8",
            ),
            *cells.DESIGN,
        ),
        plan,
        "Independence of two columns, given others or not; on randomized rows whether it is valid, and power lost.",
        "Guo (2010), Results 9 to 11; Korn (1981), JASA 76",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
