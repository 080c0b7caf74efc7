"""rr_classifier_check(): trees and naive Bayes must not be learned from randomized rows.

The attribute with the smallest gini of its split, Σ_a π_a (1 - Σ_c Pr(c|a)²), and the class of the
largest naive Bayes probability Pr(c) Π Pr(a_i|c), may be others before and after randomization (Guo
2010, Results 13 and 14). Both are shown as published and, where p or matrix is known, as
reconstructed, each line with whether it would be chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.association.table_call import TableCall
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import PpduckWarning, quoted
from ppduck.estimators import cells, count_column, count_table
from ppduck.estimators.cells import CellCounts, CellsSpec
from ppduck.frozen import frozen
from ppduck.kernels.independence import gini_split, naive_bayes
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Array

NAME = "rr_classifier_check"
MOST_CELLS = 100_000
RESULTS = (
    Result("task", "VARCHAR", "gini, of the split by an attribute, or naive_bayes, of a class"),
    Result("item", "VARCHAR", "the attribute, or the levels of all attributes"),
    Result("class", "VARCHAR", "the class whose probability is told; NULL for gini"),
    Result("published", "DOUBLE", "gini or probability on the rows as published"),
    Result(
        "reconstructed",
        "DOUBLE",
        "the same before randomization; NULL where p and matrix are not known",
    ),
    Result("chosen", "BOOLEAN", "whether the published rows choose this attribute or class"),
    Result(
        "chosen_before", "BOOLEAN", "whether the rows before randomization do; NULL where not known"
    ),
    Result(
        "preserved",
        "BOOLEAN",
        "whether what is learned is that of the original: no column is randomized",
    ),
    Result("warning", "VARCHAR", "which columns are randomized, and what follows"),
)


@parameters
class RrClassifierCheckCall(TableCall):
    columns: Sequence[str] = parameter(
        arguments.columns, "the attributes that a class is predicted by"
    )
    class_: str = parameter(arguments.column, "the column of the class")
    randomized: Sequence[str] | None = count_table.RANDOMIZED
    count: str | None = count_column.COUNT


@frozen
class ClassifierSpec(CellsSpec):
    randomized: tuple[int, ...]  # places of columns, the class last
    knows_design: bool


@frozen
class NamedCells(CellCounts):
    """The cells, and the levels of each column as texts, for the answer."""

    levels: list[list[str | None]]


def plan(catalog: Catalog, call: RrClassifierCheckCall) -> sql.Expr:
    names = [*call.columns, call.class_]
    table = count_table.read_table(NAME, catalog, call.tbl, names, call.words, call.randomized)
    if len(names) < 2:
        raise table.release.faults().refuse(
            "columns is empty; name the attributes that a class is predicted by."
        )
    counted = count_table.cells_of(
        catalog, table, MOST_CELLS, null_is_level=call.null_is_level, count=call.count
    )
    spec = counted.spec(
        ClassifierSpec, randomized=tuple(table.places), knows_design=table.knows_design
    )
    statement = counted.solve(SOLVE, spec, {"levels": counted.level_texts()})
    return statement.query(each_row(cells.SOLVED, cells.ANSWER))


def solve(spec: ClassifierSpec, told: NamedCells) -> list[dict[str, Any]]:
    found = cells.table_of(spec, told, "population")
    names = [column.name for column in spec.columns]
    tables = [found.observed]
    if spec.randomized and spec.knows_design:
        tables.append(np.maximum(cells.estimate_by("mle", found, spec.faults()), 0.0))
    randomized = [names[i] for i in spec.randomized]
    text = _warning(randomized)
    if randomized:
        warnings.warn(f"{spec.faults().where}: {text}", PpduckWarning, stacklevel=2)
    rows = [*_splits(names[:-1], tables), *_classes(names[:-1], tables, told.levels)]
    return [row | {"preserved": not randomized, "warning": text} for row in rows]


def _splits(attributes: Sequence[str], tables: Sequence[Array]) -> list[dict[str, Any]]:
    """How mixed the classes are after a split by each attribute."""
    ginis = [[gini_split(_pair(table, i)) for i in range(len(attributes))] for table in tables]
    return [
        _row(
            "gini",
            name,
            None,
            [each[i] for each in ginis],
            [each[i] == min(each) for each in ginis],
        )
        for i, name in enumerate(attributes)
    ]


def _classes(
    attributes: Sequence[str], tables: Sequence[Array], levels: Sequence[Sequence[str | None]]
) -> list[dict[str, Any]]:
    """The probability of each class at each combination of the attributes' levels."""
    chances = [naive_bayes([_pair(table, i) for i in range(len(attributes))]) for table in tables]
    rows = []
    for place in np.ndindex(*tables[0].shape[:-1]):
        item = ", ".join(
            f"{name} = {_text(levels[i][place[i]])}" for i, name in enumerate(attributes)
        )
        for c, level in enumerate(levels[-1]):
            values = [float(each[(*place, c)]) for each in chances]
            first = [
                c == int(np.nanargmax(each[place])) if np.isfinite(v) else None
                for each, v in zip(chances, values, strict=True)
            ]
            rows.append(_row("naive_bayes", item, _text(level), values, first))
    return rows


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
        "probabilities need not be that of the original (Guo 2010, Results 13, 14); learn from reconstructed tables"
    )


SOLVE = told_udf(
    "ppduck_rr_classifier_check", solve, ClassifierSpec, NamedCells, rows_type(RESULTS)
)
FUNCTION = register(
    Function(
        NAME,
        RrClassifierCheckCall,
        plan,
        "Warns that trees and naive Bayes learned from randomized rows are not those of the original, and shows both.",
        "Guo (2010), section 4.4, Results 13 and 14",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM rr_classifier_check('survey_rr', ['gender','smoker'], class='disease')",
        udfs=(SOLVE, count_column.UDF),
    )
)
