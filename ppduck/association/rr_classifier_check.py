"""rr_classifier_check(): trees and naive Bayes classifiers must not be learned from randomized rows as they are.

The attribute with the smallest gini of its split, Σ_a π_a (1 - Σ_c Pr(c|a)²), and the class of the largest naive Bayes
probability Pr(c) Π Pr(a_i|c), may be others before and after randomization (Guo 2010, Results 13 and 14). Both are
shown as published and, where p or matrix is known, as reconstructed, each line with whether it would be chosen.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import DesignWords
from ppduck.errors import Faults, PpduckWarning, quoted
from ppduck.estimators import cells, count_column, count_table
from ppduck.kernels.independence import gini_split, naive_bayes
from ppduck.values import Array

NAME = "rr_classifier_check"
SOLVE = "ppduck_rr_classifier_check"
MOST_CELLS = 100_000
_ROW = (
    "STRUCT(task VARCHAR, item VARCHAR, class VARCHAR, published DOUBLE, reconstructed DOUBLE, chosen BOOLEAN, "
    "chosen_before BOOLEAN, preserved BOOLEAN, warning VARCHAR)"
)
SOLVE_TYPES = (["VARCHAR", "BIGINT[]", "DOUBLE[]", "DOUBLE[]", "BIGINT", "VARCHAR[][]"], f"{_ROW}[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    names = [*given["columns"], given["class"]]
    table = count_table.read_table(NAME, catalog, given["tbl"], names, DesignWords.of(given), given.get("randomized"))
    if len(names) < 2:
        raise table.release.faults().refuse("columns is empty; name the attributes that a class is predicted by.")
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=given.get("on_null") == "level", count=given.get("count")
    )
    own = {"randomized": table.places, "knows_design": table.knows_design}
    texts = [f'CAST("_pp_l{i}" AS VARCHAR[])' for i in range(len(names))]
    statement = counted.statement(SOLVE, own, f"any_value([{', '.join(texts)}])")
    return statement.finish('SELECT unnest("_pp_row") FROM (SELECT unnest("_pp_r") AS "_pp_row" FROM "_pp_solved")')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int, levels: Sequence[Sequence[str | None]],
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    found = cells.reconstruction(spec, sizes, numbers, counts, strangers)
    names = [column["column"] for column in spec["columns"]]
    before = None
    if spec["randomized"] and spec["knows_design"]:
        before = np.maximum(cells.estimated(spec, found, "mle"), 0.0)
    randomized = [names[i] for i in spec["randomized"]]
    preserved = not randomized
    text = _warning(randomized)
    if randomized:
        warnings.warn(f"{Faults(NAME, spec['table']).where}: {text}", PpduckWarning, stacklevel=2)
    rows: list[dict[str, Any]] = []
    attributes = range(len(names) - 1)
    ginis = [
        [gini_split(_pair(table, i)) for i in attributes] for table in (found.observed, before) if table is not None
    ]
    for i in attributes:
        rows.append(_row("gini", names[i], None, [each[i] for each in ginis], [each[i] == min(each) for each in ginis]))
    chances = [naive_bayes([_pair(t, i) for i in attributes]) for t in (found.observed, before) if t is not None]
    for place in np.ndindex(*found.observed.shape[:-1]):
        item = ", ".join(f"{names[i]} = {_text(levels[i][place[i]])}" for i in attributes)
        for c, level in enumerate(levels[-1]):
            values = [float(each[(*place, c)]) for each in chances]
            first = [
                c == int(np.nanargmax(each[place])) if np.isfinite(v) else None
                for each, v in zip(chances, values, strict=True)
            ]
            rows.append(_row("naive_bayes", item, _text(level), values, first))
    return [row | {"preserved": preserved, "warning": text} for row in rows]


def _text(level: str | None) -> str:
    return "NULL" if level is None else level


def _row(
    task: str, item: str, of: str | None, values: Sequence[float], chosen: Sequence[bool | None]
) -> dict[str, Any]:
    known = [None if np.isnan(value) else value for value in values]
    return {
        "task": task,
        "item": item,
        "class": of,
        "published": known[0],
        "reconstructed": known[1] if len(known) > 1 else None,
        "chosen": chosen[0],
        "chosen_before": chosen[1] if len(chosen) > 1 else None,
    }


def _pair(table: Array, attribute: int) -> Array:
    """The table of one attribute by the class, which is last."""
    others = tuple(axis for axis in range(table.ndim - 1) if axis != attribute)
    return np.asarray(table.sum(axis=others))


def _warning(randomized: Sequence[str]) -> str:
    if not randomized:
        return "no column is known to be randomized"
    return (
        f"{', '.join(map(quoted, randomized))} is randomized: the order of gini values and of naive Bayes "
        "probabilities need not be that of the original (Results 13, 14); learn from reconstructed tables"
    )


FUNCTION = register(
    Function(
        NAME,
        (
            count_table.TBL,
            Parameter("columns", arguments.columns, "the attributes that a class is predicted by"),
            Parameter("class", arguments.words, "the column of the class"),
            count_table.RANDOMIZED,
            count_column.COUNT,
            *cells.DESIGN,
        ),
        plan,
        "Warns that trees and naive Bayes learned from randomized rows are not those of the original, and shows both.",
        "Guo (2010), section 4.4, Results 13 and 14",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
