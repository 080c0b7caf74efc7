"""attribute_disclosure(): the risk that an intruder who knows the quasi-identifiers learns a sensitive value.

Pr(S | QI) = π_{QI,S}/π_QI · Pr(QI → QI) · Pr(S → S | QI) (Guo 2010, 5.6 to 5.8), for every cell that occurs, every
record or the maximum, under the matrices by which columns would be randomized: the sensitive one (RR-S), the
quasi-identifiers (RR-QI) or both. ``unmasked`` is the risk without randomization, ``minimum`` what randomizing the same
columns cannot go below (Property 1).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import warn
from ppduck.designs.design import LEVELS, MATRIX, P, by_folded_name, is_stochastic, normalised
from ppduck.disclosure import linking_attack
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.estimators import cells, count_column
from ppduck.estimators.cells import Cells
from ppduck.kernels.randomized import uniform
from ppduck.query import tree as sql
from ppduck.values import Array, folded

NAME = "attribute_disclosure"
SOLVE = "ppduck_attribute_disclosure"
_NUMBERS = {"rows": "DOUBLE", "unmasked": "DOUBLE", "qi_reconstruction": "DOUBLE", "reconstruction": "DOUBLE",
            "risk": "DOUBLE", "minimum": "DOUBLE"}  # fmt: skip
_PLACES = ("qi", "attribute", "value")
_FIELDS = ", ".join([*(f'"{name}" BIGINT[]' for name in _PLACES), *(f'"{n}" {t}[]' for n, t in _NUMBERS.items())])
SOLVE_TYPES = ([*cells.ARGUMENTS, "BIGINT"], f"STRUCT({_FIELDS})")
_NEAR = 1e-6  # by which p may miss 1/d and still be meant as it


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    per = given.get("per", "cell")
    counted = linking_attack.cells_of(NAME, catalog, given)
    published = counted.release
    faults = published.faults()
    names = [column.name for column in published.columns]
    added = {"cell": [*_NUMBERS, "attribute", "value"], "record": ["risk"], "maximum": []}[per]
    shown = names[: len(given["qi"])] if per == "cell" else [column.name for column in published.source.columns or ()]
    if per == "record" and len(given["sensitive"]) > 1:
        added = [f"risk_{folded(name)}" for name in given["sensitive"]]
    taken = [name for name in shown if folded(name) in added]
    if taken:
        faults.add(f"column {listed(taken)} is called like a column of the result; rename it in tbl.")
    if per == "record" and published.source.columns is None:
        faults.add(catalog.unseen(published.source, "its records cannot be shown; ask per := 'cell'."))
    p, matrices = _design(given, names, faults)
    faults.raise_if_any()
    own = {"qi": len(given["qi"]), "p": p, "matrix": matrices, "on_null": given.get("on_null", "error")}
    before = sql.Statement()
    if per == "record" and not published.source.repeatable:
        # Read twice, for the cells and for the records, which must be the same.
        before.step("_pp_source", f"SELECT * FROM {published.source.sql}", materialized=True)
        kept = replace(published.source, sql='"_pp_source"')
        counted = replace(counted, release=replace(published, source=kept))
    statement = counted.statement(SOLVE, own, linking_attack.without_value(counted), before=before)
    statement.step("_pp_risks", _unnested(counted, len(given["qi"])), materialized=True)
    return statement.finish(_OUTPUTS[per](counted, len(given["qi"])))


def _design(given: dict[str, Any], names: Sequence[str], faults: Faults) -> tuple[list[float], list[Any]]:
    """p or matrix of every column; one that neither names is not randomized."""
    p, matrix = given.get("p"), by_folded_name(given.get("matrix", {}))
    ps = by_folded_name(p) if isinstance(p, dict) else {}
    own = {folded(name): name for name in names}
    for parameter, mapping in (("p", ps), ("matrix", matrix)):
        for name in mapping:
            if name not in own:
                faults.add(
                    f"{parameter} names column {quoted(name)}, which is neither in qi nor sensitive."
                    f"{near_miss(name, names)}"
                )
    for name in ps.keys() & matrix.keys():
        faults.add(f"column {quoted(own.get(name, name))} has both p and matrix; give one of them.")
    if (p is None or p == {}) and not matrix:
        faults.add("give p := {'column': 0.8, …} or matrix; a column that they do not name is not randomized.")
    rows = [matrix.get(name) for name in own]
    right = [
        each is not None and is_stochastic(name, each, None, faults.add) for name, each in zip(names, rows, strict=True)
    ]
    found = [ps.get(name, p if isinstance(p, float) else 1.0) for name in own]
    return found, [normalised(each) if each and is_right else None for each, is_right in zip(rows, right, strict=True)]


def _unnested(counted: Cells, qi: int) -> str:
    parts = ", ".join(f'unnest(struct_extract("_pp_r", \'{name}\')) AS "_pp_{name}"' for name in (*_PLACES, *_NUMBERS))
    # Cells are numbered by all columns; the first cell of a group of quasi-identifiers has its levels.
    others = " * ".join(f'len("_pp_l{i}")' for i in range(qi, len(counted.release.columns)))
    return (
        f'SELECT *, "_pp_qi" * ({others}) AS "_pp_first" FROM (SELECT {parts} FROM "_pp_solved") '
        'CROSS JOIN "_pp_levels"'
    )


def _names(counted: Cells, qi: int) -> list[str]:
    return [column.name for column in counted.release.columns[qi:]]


def _per_cell(counted: Cells, qi: int) -> str:
    attributes = ", ".join(sql.render(sql.text(name)) for name in _names(counted, qi))
    values = " ".join(
        f'WHEN {k} THEN CAST(list_extract("_pp_l{qi + k}", 1 + "_pp_value") AS VARCHAR)'
        for k in range(len(_names(counted, qi)))
    )
    shown = [
        *counted.decoded("_pp_first")[:qi],
        sql.named(sql.raw(f'list_extract([{attributes}], 1 + "_pp_attribute")'), "attribute"),
        sql.named(sql.raw(f'CASE "_pp_attribute" {values} END'), "value"),
        *(sql.named(_shown(name), name) for name in _NUMBERS),
    ]
    return sql.select(shown, '"_pp_risks"') + ' ORDER BY "_pp_attribute", "_pp_qi", "_pp_value"'


def _shown(name: str) -> sql.Expr:
    """Rows are counted in whole numbers."""
    value = sql.column(f"_pp_{name}")
    return sql.cast(value, "BIGINT") if name == "rows" else value


def _per_maximum(counted: Cells, qi: int) -> str:
    attributes = ", ".join(sql.render(sql.text(name)) for name in _names(counted, qi))
    return (
        f'SELECT list_extract([{attributes}], 1 + "_pp_attribute") AS "attribute", max("_pp_risk") AS "max_risk", '
        'max("_pp_unmasked") AS "unmasked", max("_pp_minimum") AS "minimum", '
        'sum("_pp_risk" * "_pp_rows") / sum("_pp_rows") AS "mean_risk", '
        'CAST(sum("_pp_rows") AS BIGINT) AS "rows", '
        'count(*) AS "cells" FROM "_pp_risks" GROUP BY "_pp_attribute" ORDER BY "_pp_attribute"'
    )


def _per_record(counted: Cells, qi: int) -> str:
    """Every row with its risks; NULL where one of its columns is NULL."""
    published = counted.release
    joins, shown = [], ['"_pp_row".*']
    whole = " AND ".join(f"{sql.render(sql.column(c.name, '_pp_row'))} IS NOT NULL" for c in published.columns)
    known = counted.decoded("_pp_first")[:qi]
    for k, name in enumerate(_names(counted, qi)):
        level = sql.named(sql.raw(f'list_extract("_pp_l{qi + k}", 1 + "_pp_value")'), "_pp_own")
        keys = [sql.named(each.this.copy(), f"_pp_k{i}") for i, each in enumerate(known)]
        risks = sql.select(
            [*keys, level, sql.column("_pp_risk")], '"_pp_risks"', where=sql.raw(f'"_pp_attribute" = {k}')
        )
        pairs = [
            (sql.column(c.name, "_pp_row"), sql.column(f"_pp_k{i}", f"_pp_j{k}"))
            for i, c in enumerate(published.columns[:qi])
        ]
        pairs.append((sql.column(name, "_pp_row"), sql.column("_pp_own", f"_pp_j{k}")))
        on = " AND ".join(f"{sql.render(left)} IS NOT DISTINCT FROM {sql.render(right)}" for left, right in pairs)
        joins.append(f'LEFT JOIN ({risks}) AS "_pp_j{k}" ON {on}')
        alias = "risk" if len(_names(counted, qi)) == 1 else f"risk_{name}"
        shown.append(f'CASE WHEN {whole} THEN "_pp_j{k}"."_pp_risk" END AS {sql.render(sql.name(alias))}')
    return f'SELECT {", ".join(shown)} FROM {published.source.sql} AS "_pp_row" {" ".join(joins)}'


_OUTPUTS = {"cell": _per_cell, "record": _per_record, "maximum": _per_maximum}


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int, missing: int,
) -> dict[str, list[Any]]:  # fmt: skip
    spec = json.loads(specification)
    places, weights, _ = linking_attack.cells_that_occur(spec, sizes, numbers, counts, strangers, missing)
    population = linking_attack.population(spec, sizes, places, weights)
    matrices = _matrices(spec, sizes)
    qi = spec["qi"]
    eta = population.reconstruction(matrices[:qi])
    hidden = [not np.array_equal(matrix, np.eye(len(matrix))) for matrix in matrices]
    columns: dict[str, list[Array]] = {name: [] for name in (*_PLACES, *_NUMBERS)}
    for which, own in enumerate(population.sensitive):
        matrix = matrices[qi + which]
        share, back = population.within(which, matrix)
        found = (
            population.groups[own.group], np.full(len(share), which), own.level, own.count, share, eta[own.group], back,
            share * eta[own.group] * back, population.minimum(which, qi=hidden[:qi], sensitive=hidden[qi + which]),
        )  # fmt: skip
        for name, values in zip(columns, found, strict=True):
            columns[name].append(np.asarray(values))
    return {
        name: np.concatenate(parts).astype(np.int64 if name in _PLACES else float).tolist()
        for name, parts in columns.items()
    }


def _matrices(spec: dict[str, Any], sizes: Sequence[int]) -> list[Array]:
    """The matrix of every column, once its number of levels is known."""
    faults = Faults(NAME, spec["table"])
    found = []
    for column, size, p, rows in zip(spec["columns"], sizes, spec["p"], spec["matrix"], strict=True):
        name = quoted(column["column"])
        if rows is not None and len(rows) != size:
            faults.add(f"matrix of column {name} is {len(rows)}×{len(rows)}, but {size} levels occur; they must agree.")
        elif rows is None and p < 1 / size - _NEAR:
            faults.add(
                f"p of column {name} is {p:g}, less than 1/{size}: below 1 over the number of levels, risk and "
                f"accuracy rise again. Take p above {1 / size:.4g}."
            )
        elif rows is None and p <= 1 / size + _NEAR:
            warn(faults, f"p of column {name} is 1/{size}: what is published tells nothing of the original.")
            found.append(uniform(1 / size, size))
            continue
        found.append(np.array(rows) if rows is not None else uniform(p, size))
    faults.raise_if_any()
    return found


FUNCTION = register(
    Function(
        NAME,
        (
            arguments.TBL,
            linking_attack.QI,
            linking_attack.SENSITIVE,
            P,
            MATRIX,
            Parameter(
                "per",
                arguments.choice("cell", "record", "maximum"),
                "every cell, every record or the maximum",
                "'cell'",
            ),
            count_column.COUNT,
            LEVELS,
            linking_attack.ON_NULL,
        ),
        plan,
        "The risk that somebody who knows the quasi-identifiers learns a sensitive value, under a design.",
        "Guo (2010), section 5.2.3, equations 5.6 to 5.8 and 5.14, Property 1",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
