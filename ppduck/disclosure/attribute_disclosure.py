"""attribute_disclosure(): the risk that who knows the quasi-identifiers learns a sensitive value.

Pr(S | QI) = π_{QI,S}/π_QI · Pr(QI → QI) · Pr(S → S | QI) (Guo 2010, 5.6 to 5.8), for every cell
that occurs, every record or the maximum, under the matrices by which columns would be randomized:
the sensitive one (RR-S), the quasi-identifiers (RR-QI) or both. ``unmasked`` is the risk without
randomization, ``minimum`` what randomizing the same columns cannot go below (Guo 2010, Property 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import row_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.conditioning import warn
from ppduck.designs.design import (
    MATRIX,
    Matrix,
    P,
    Probability,
    by_folded_name,
    is_stochastic,
    normalised,
)
from ppduck.disclosure import linking_attack
from ppduck.disclosure.linking_attack import LinkingCall, LinkingCells, LinkingSpec
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.estimators import cells, count_column
from ppduck.estimators.cells import CellColumn, Cells
from ppduck.frozen import frozen
from ppduck.kernels.distortion import uniform
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.arithmetic import products, quotient
from ppduck.values import Array, folded

NAME = "attribute_disclosure"
RESULTS = (
    Result("attribute", "VARCHAR", "the sensitive column; the levels of the quasi-identifiers come before it. With "
           "per := 'record' each row of tbl has its risk beside it, with 'maximum' each attribute its largest risks"),
    Result("value", "VARCHAR", "the sensitive value"),
    Result("rows", "BIGINT", "the rows that have both"),
    Result("unmasked", "DOUBLE", "the risk without randomization: the share of the value in its group"),
    Result("qi_reconstruction", "DOUBLE", "the chance that the published quasi-identifiers are drawn back"),
    Result("reconstruction", "DOUBLE", "the chance that the published sensitive value is drawn back"),
    Result("risk", "DOUBLE", "the product of the three"),
    Result("minimum", "DOUBLE", "what no matrix of the randomized columns can bring the risk below"),
)  # fmt: skip
_RISKS = tuple(each for each in RESULTS if each.name not in ("attribute", "value"))
# What Python tells of each risk by numbers: the group of quasi-identifiers, attribute and level.
_PLACES = ("group", "attribute", "level")
_NEAR = 1e-6  # by which p may miss 1/d and still be meant as it


@parameters
class AttributeDisclosureCall(LinkingCall):
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    per: str = parameter(
        arguments.choice("cell", "record", "maximum"),
        "every cell, every record or the maximum",
        "cell",
    )


@frozen
class AttributeDisclosureSpec(LinkingSpec):
    design: tuple[CellColumn, ...]  # by which the columns would be randomized


def plan(catalog: Catalog, call: AttributeDisclosureCall) -> sql.Expr:
    counted = linking_attack.cells_of(NAME, catalog, call)
    release = counted.release
    faults = release.faults()
    names = [column.name for column in release.columns]
    _refuse_taken_names(call, counted, faults)
    if call.per == "record" and release.source.columns is None:
        faults.add(
            catalog.unseen(release.source, "its records cannot be shown; ask per := 'cell'.")
        )
    design = _design(call, names, faults)
    faults.raise_if_any()
    before = sql.Statement()
    if call.per == "record" and not release.source.repeatable:
        # Read twice, for the cells and for the records, which must be the same.
        every = sql.query([exp.Star()], sql.source(release.source.sql))
        before.step("_pp_source", every, materialized=True)
        kept = replace(release.source, sql='"_pp_source"')
        counted = replace(counted, release=replace(release, source=kept))
    spec = counted.spec(
        AttributeDisclosureSpec, qi=len(call.qi), on_null=call.on_null, design=design
    )
    missing = {"missing": linking_attack.rows_without_value(counted)}
    statement = counted.solve(SOLVE, spec, missing, before)
    statement.step("_pp_risks", _risks(counted, len(call.qi)), materialized=True)
    return statement.query(_SHOWN[call.per](counted, len(call.qi)))


def _refuse_taken_names(call: AttributeDisclosureCall, counted: Cells, faults: Faults) -> None:
    """Columns of tbl that are shown must not be called like those that are added."""
    if call.per == "maximum":
        return
    if call.per == "cell":
        shown = [column.name for column in counted.release.columns[: len(call.qi)]]
        added = {result.name for result in RESULTS}
    else:
        shown = [column.name for column in counted.release.source.columns or ()]
        added = {folded(_risk_name(name, call.sensitive)) for name in call.sensitive}
    taken = [name for name in shown if folded(name) in added]
    if taken:
        faults.add(
            f"column {listed(taken)} is called like a column of the result; rename it in tbl."
        )


def _risk_name(attribute: str, attributes: Sequence[str]) -> str:
    return "risk" if len(attributes) == 1 else f"risk_{attribute}"


def _design(
    call: AttributeDisclosureCall, names: Sequence[str], faults: Faults
) -> tuple[CellColumn, ...]:
    """p or matrix of every column; one that neither names is not randomized."""
    matrix = by_folded_name(call.matrix or {})
    ps = by_folded_name(call.p) if isinstance(call.p, Mapping) else {}
    own = {folded(name): name for name in names}
    for given, mapping in (("p", ps), ("matrix", matrix)):
        for name in mapping:
            if name not in own:
                faults.add(
                    f"{given} names column {quoted(name)}, which is neither in qi nor sensitive."
                    f"{near_miss(name, names)}"
                )
    for name in ps.keys() & matrix.keys():
        faults.add(f"column {quoted(own.get(name, name))} has both p and matrix; give one of them.")
    if (call.p is None or call.p == {}) and not matrix:
        faults.add(
            "give p := {'column': 0.8, …} or matrix; a column that they do not name is not randomized."
        )
    found = []
    for name in names:
        rows = matrix.get(folded(name))
        right = rows is not None and is_stochastic(name, rows, None, faults.add)
        p = ps.get(folded(name), call.p if isinstance(call.p, float) else 1.0)
        found.append(CellColumn(name, p, normalised(rows) if rows and right else None))
    return tuple(found)


def _risks(counted: Cells, qi: int) -> sql.Expr:
    """A row for each risk, with the levels of all columns beside it."""
    answer = sql.column(cells.ANSWER)
    lists = [
        sql.named(sql.call("unnest", sql.part(answer.copy(), name)), f"_pp_{name}")
        for name in (*_PLACES, *(each.name for each in _RISKS))
    ]
    # Cells are numbered by all columns; the first one of a group of quasi-identifiers has its levels.
    others = [sql.call("len", counted.levels(i)) for i in range(qi, len(counted.release.columns))]
    first = sql.product(sql.column("_pp_group"), products(others))
    rows = sql.derived(sql.query(lists, sql.table(cells.SOLVED)), "_pp_unnested")
    return sql.query(
        [sql.star("_pp_unnested"), sql.star(cells.LEVELS_STEP), sql.named(first, "_pp_first_cell")],
        rows.cross(sql.table(cells.LEVELS_STEP)),
    )


def _attributes(counted: Cells, qi: int) -> list[str]:
    return [column.name for column in counted.release.columns[qi:]]


def _from_one(number: str) -> sql.Expr:
    """A place in a list, from a number that counts from 0."""
    return sql.total([sql.number(1), sql.column(number)])


def _attribute(counted: Cells, qi: int) -> sql.Expr:
    names = sql.item(sql.texts(_attributes(counted, qi)), _from_one("_pp_attribute"))
    return sql.named(names, "attribute")


def _is_of(attribute: int) -> sql.Expr:
    return sql.equal(sql.column("_pp_attribute"), sql.number(attribute))


def _per_cell(counted: Cells, qi: int) -> sql.Expr:
    known = list(counted.levels_at("_pp_first_cell").items())[:qi]
    values = [
        (_is_of(k), sql.cast(sql.item(counted.levels(qi + k), _from_one("_pp_level")), "VARCHAR"))
        for k in range(len(_attributes(counted, qi)))
    ]
    shown = [
        *(sql.named(level, name) for name, level in known),
        _attribute(counted, qi),
        sql.named(sql.cases(*values), "value"),
        *(
            sql.named(sql.cast(sql.column(f"_pp_{each.name}"), each.type), each.name)
            for each in _RISKS
        ),
    ]
    order = [sql.column(f"_pp_{name}") for name in ("attribute", "group", "level")]
    return sql.query(shown, sql.table("_pp_risks"), order=order)


def _per_maximum(counted: Cells, qi: int) -> sql.Expr:
    risk, rows, attribute = (sql.column(f"_pp_{name}") for name in ("risk", "rows", "attribute"))
    all_rows = sql.call("sum", rows)
    weighed = quotient(sql.call("sum", sql.product(risk, rows)), all_rows)
    shown = {
        "max_risk": sql.call("max", risk),
        "unmasked": sql.call("max", sql.column("_pp_unmasked")),
        "minimum": sql.call("max", sql.column("_pp_minimum")),
        "mean_risk": weighed,
        "rows": sql.cast(all_rows, "BIGINT"),
        "cells": aggregates.rows(),
    }
    return sql.query(
        [_attribute(counted, qi), *(sql.named(value, name) for name, value in shown.items())],
        sql.table("_pp_risks"),
        group=[attribute],
        order=[attribute.copy()],
    )


def _per_record(counted: Cells, qi: int) -> sql.Expr:
    """Every row with its risks; NULL where one of its columns is NULL."""
    release = counted.release
    own = [sql.column(column.name, "_pp_record") for column in release.columns]
    shown = [sql.star("_pp_record")]
    rows = sql.source(release.source.sql, "_pp_record")
    known = list(counted.levels_at("_pp_first_cell").values())[:qi]
    attributes = _attributes(counted, qi)
    for k, name in enumerate(attributes):
        alias = f"_pp_risk_of{k}"
        level = sql.item(counted.levels(qi + k), _from_one("_pp_level"))
        keys = {
            **{f"_pp_qi{i}": each.copy() for i, each in enumerate(known)},
            "_pp_sensitive": level,
        }
        risks = sql.query(
            [*(sql.named(each, key) for key, each in keys.items()), sql.column("_pp_risk")],
            sql.table("_pp_risks"),
            where=_is_of(k),
        )
        pairs = list(
            zip([*own[:qi], own[qi + k]], [sql.column(key, alias) for key in keys], strict=True)
        )
        rows = rows.matched(sql.derived(risks, alias), pairs, outer=True)
        whole = sql.present(own)
        assert whole is not None
        risk = sql.cases((whole, sql.column("_pp_risk", alias)))
        shown.append(sql.named(risk, _risk_name(name, attributes)))
    return sql.query(shown, rows)


_SHOWN: dict[str, Callable[[Cells, int], sql.Expr]] = {
    "cell": _per_cell, "record": _per_record, "maximum": _per_maximum,
}  # fmt: skip


def solve(spec: AttributeDisclosureSpec, told: LinkingCells) -> dict[str, Array]:
    occurring = linking_attack.cells_that_occur(spec, told)
    population = occurring.population(spec.qi)
    matrices = _matrices(spec, occurring.sizes)
    eta = population.reconstruction(matrices[: spec.qi])
    hidden = [not np.array_equal(matrix, np.eye(len(matrix))) for matrix in matrices]
    found = []
    for which, own in enumerate(population.sensitive):
        share, back = population.within(which, matrices[spec.qi + which])
        least = population.minimum(which, qi=hidden[: spec.qi], sensitive=hidden[spec.qi + which])
        found.append({
            "group": population.groups[own.group],
            "attribute": np.full(len(share), which),
            "level": own.level,
            "rows": own.count,
            "unmasked": share,
            "qi_reconstruction": eta[own.group],
            "reconstruction": back,
            "risk": share * eta[own.group] * back,
            "minimum": least,
        })  # fmt: skip
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def _matrices(spec: AttributeDisclosureSpec, sizes: Sequence[int]) -> list[Array]:
    """The matrix of every column, once its number of levels is known."""
    faults = spec.faults()
    found = []
    for column, size in zip(spec.design, sizes, strict=True):
        name, p, rows = quoted(column.name), column.p or 1.0, column.matrix
        if rows is not None and len(rows) != size:
            faults.add(
                f"matrix of column {name} is {len(rows)}×{len(rows)}, but {size} levels occur; they must agree."
            )
        elif rows is None and p < 1 / size - _NEAR:
            faults.add(
                f"p of column {name} is {p:g}, less than 1/{size}: below 1 over the number of levels, risk and "
                f"accuracy rise again. Take p above {1 / size:.4g}."
            )
        elif rows is None and p <= 1 / size + _NEAR:
            warn(
                faults,
                f"p of column {name} is 1/{size}: what is published tells nothing of the original.",
            )
            found.append(uniform(1 / size, size))
            continue
        found.append(np.array(rows) if rows is not None else uniform(p, size))
    faults.raise_if_any()
    return found


_LISTS = (
    *(Result(name, "BIGINT[]", "") for name in _PLACES),
    *(Result(each.name, "DOUBLE[]", each.meaning) for each in _RISKS),
)
SOLVE = told_udf(
    "ppduck_attribute_disclosure", solve, AttributeDisclosureSpec, LinkingCells, row_type(_LISTS)
)
FUNCTION = register(
    Function(
        NAME,
        AttributeDisclosureCall,
        plan,
        "The risk that somebody who knows the quasi-identifiers learns a sensitive value, under a design.",
        "Guo (2010), section 5.2.3, equations 5.6 to 5.8 and 5.14, Property 1",
        kind=Kind.MEASURE,
        results=RESULTS,
        example=(
            "FROM attribute_disclosure('survey', qi=['gender','smoker'], sensitive='disease', p={'gender': 0.9})"
        ),
        udfs=(SOLVE, count_column.UDF),
    )
)
