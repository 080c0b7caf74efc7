"""rr_optimize(): the keep probabilities that cost least accuracy under a limit on disclosure.

Minimises Σ ln ‖P_i⁻¹‖²_F, the logarithm of the expected squared distance of the reconstructed table
up to constants, subject to max Pr(S | QI) ≤ τ (Guo 2010, Problem 1, Result 16). Limits: tau, 1/l,
or a column of tbl with each record's own; a ``quantile`` below 1 lets the rest of the records
exceed theirs. Several sensitive attributes are each held to them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import ColumnNames, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.roles import resolve_columns
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.disclosure import linking_attack
from ppduck.disclosure.linking_attack import LinkingCall, LinkingCells, LinkingSpec, Occurring
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.estimators import cells, count_column
from ppduck.frozen import frozen
from ppduck.kernels import optimal_design
from ppduck.kernels.disclosure import Population
from ppduck.kernels.optimal_design import InfeasibleError, Problem
from ppduck.kernels.threads import one_thread
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Array

NAME = "rr_optimize"
RESULTS = (
    Result("column_name", "VARCHAR", "the column"),
    Result("role", "VARCHAR", "quasi-identifier or sensitive"),
    Result("levels", "BIGINT", "how many levels it has"),
    Result("p", "DOUBLE", "the probability to keep a value"),
    Result("norm", "DOUBLE", "‖P⁻¹‖²_F of its matrix: how much it magnifies errors"),
    Result(
        "max_risk",
        "DOUBLE",
        "the largest risk that the column is concerned with, under all p together",
    ),
    Result("tau", "DOUBLE", "the limit; NULL where a column of tbl tells each record's own"),
    Result(
        "beyond",
        "DOUBLE",
        "the share of records beyond their limit, of the worst attribute concerned",
    ),
    Result(
        "objective",
        "DOUBLE",
        "the sum of ln norm over all columns, which is the least that the limit allows",
    ),
    Result("seconds", "DOUBLE", "how long the search took"),
)
_OR = "give l or tau, one of them"
_RISK = arguments.number(Range(0, 1, above=True))
_LIMIT = "_pp_limit"


@arguments.reader(
    f"{_RISK.takes}, or the name of a column of them", _RISK.within, columns=ColumnNames.LISTED
)
def _limit(value: Any) -> float | str:
    return value if isinstance(value, str) and value else float(_RISK(value))


@parameters
class RrOptimizeCall(LinkingCall):
    l: float | None = parameter(  # noqa: E741
        arguments.number(Range(1, 1e9)),
        f"the risk is to be at most 1/l, as for l-diversity; {_OR}",
        None,
    )
    randomize: str = parameter(
        arguments.choice("both", "qi", "s"), "quasi-identifiers, sensitive columns or both", "both"
    )
    tau: float | str | None = parameter(
        _limit, f"the most that a risk may be, or a column with each record's limit; {_OR}", None
    )
    quantile: float = parameter(
        arguments.number(Range(0.5, 1)), "the share of records that must be within the limit", 1
    )


@frozen
class RrOptimizeSpec(LinkingSpec):
    tau: float | None
    limits_in: str | None  # a column of limits, in place of tau
    randomize: str
    quantile: float


@frozen
class LimitedCells(LinkingCells):
    """The cells, the levels as texts, and the limit of each cell where a column tells it."""

    levels: list[list[str | None]]
    limits: Array


def plan(catalog: Catalog, call: RrOptimizeCall) -> sql.Expr:
    if (call.l is None) == (call.tau is None):
        raise Faults(NAME, call.tbl).refuse(
            "give l, such as l := 3 for a risk of at most 1/3, or tau; one of them."
        )
    tau, limits_in = (
        (None, call.tau) if isinstance(call.tau, str) else (call.tau or 1 / (call.l or 1), None)
    )
    limit = None if limits_in is None else _least_limit(catalog, call.tbl, limits_in)
    counted = linking_attack.cells_of(NAME, catalog, call)
    limits = sql.array([], "DOUBLE")
    if limit is not None:
        counted = replace(counted, also=((_LIMIT, limit),))
        limits = sql.in_order("list", sql.column(_LIMIT), [sql.column(cells.CELL)])
    spec = counted.spec(
        RrOptimizeSpec,
        qi=len(call.qi),
        on_null=call.on_null,
        tau=tau,
        limits_in=limits_in,
        randomize=call.randomize,
        quantile=call.quantile,
    )
    more = {
        "missing": linking_attack.rows_without_value(counted),
        "levels": counted.level_texts(),
        "limits": limits,
    }
    return counted.solve(SOLVE, spec, more).query(each_row(cells.SOLVED, cells.ANSWER))


def _least_limit(catalog: Catalog, tbl: str, name: str) -> sql.Expr:
    """The strictest limit of a cell's records; NaN where one has none, which is refused."""
    faults = Faults(NAME, tbl)
    named = resolve_columns(faults, catalog.source(NAME, tbl), "tau", [name])
    faults.raise_if_any()
    limit = exp.TryCast(this=sql.column(named[0].name), to=exp.DataType.build("DOUBLE"))
    all_told = sql.equal(sql.call("count", limit), aggregates.rows())
    return sql.cases(
        (all_told, sql.call("min", limit.copy())), otherwise=sql.double(sql.text("nan"))
    )


def solve(spec: RrOptimizeSpec, told: LimitedCells) -> list[dict[str, Any]]:
    began = time.perf_counter()
    occurring = linking_attack.cells_that_occur(spec, told)
    population = occurring.population(spec.qi)
    sensitive = len(spec.columns) - spec.qi
    free = (spec.randomize in ("both", "qi"),) * spec.qi + (
        spec.randomize in ("both", "s"),
    ) * sensitive
    problem = Problem(population, free, tuple(_limits(spec, population, occurring, told)))
    spared = 1.0 - spec.quantile
    try:
        with one_thread():
            found = optimal_design.optimum(problem, spared)
    except InfeasibleError as infeasible:
        raise _infeasible(spec, problem, infeasible, told.levels) from None
    beyond = optimal_design.beyond(problem, found)
    if not max(beyond) <= spared + optimal_design.TOLERANCE:
        raise spec.refuse(
            f"no parameters were found that hold the limit ({max(beyond):.3g} of the records are beyond it); this is a "
            "failure of the search. Try another limit, or fewer columns."
        )
    seconds = time.perf_counter() - began
    rows = []
    for i, (name, size) in enumerate(zip(spec.names, occurring.sizes, strict=True)):
        # A quasi-identifier concerns all sensitive attributes, a sensitive attribute itself.
        own = range(len(beyond)) if i < spec.qi else [i - spec.qi]
        rows.append({
            "column_name": name,
            "role": "quasi-identifier" if i < spec.qi else "sensitive",
            "levels": size,
            "p": float(found.ps[i]),
            "norm": float((size - 1) ** 3 / (size * found.ps[i] - 1) ** 2 + 1),
            "max_risk": max(float(found.risks[k].max()) for k in own),
            "tau": spec.tau,
            "beyond": max(beyond[k] for k in own),
            "objective": found.objective,
            "seconds": seconds,
        })  # fmt: skip
    return rows


def _limits(
    spec: RrOptimizeSpec, population: Population, occurring: Occurring, told: LimitedCells
) -> list[Array]:
    """The limit of each cell of each sensitive attribute: one for all, or its records' least."""
    if spec.tau is not None:
        return [np.full(len(own.count), spec.tau) for own in population.sensitive]
    given = told.limits[occurring.kept]
    if not np.all((given > 0) & (given <= 1)):
        raise spec.refuse(
            f"tau names column {quoted(spec.limits_in or '')}, which holds NULL or a number that is not above 0 and at "
            "most 1."
        )
    known = np.ravel_multi_index(occurring.places[: spec.qi], population.shape)
    group = np.searchsorted(population.groups, known)
    found = []
    for own, level in zip(population.sensitive, occurring.places[spec.qi :], strict=True):
        least = np.ones(len(own.count))
        cell = np.searchsorted(own.group * own.size + own.level, group * own.size + level)
        np.minimum.at(least, cell, given)
        found.append(least)
    return found


def _infeasible(
    spec: RrOptimizeSpec,
    problem: Problem,
    infeasible: InfeasibleError,
    levels: Sequence[Sequence[str | None]],
) -> PpduckError:
    """Names the group by its quasi-identifiers, and not the value that is told of it."""
    cell, which = infeasible.cell, 0
    while cell >= len(problem.population.sensitive[which].count):
        cell -= len(problem.population.sensitive[which].count)
        which += 1
    own = problem.population.sensitive[which]
    group = int(own.group[cell])
    place = np.unravel_index(int(problem.population.groups[group]), problem.population.shape)
    name = ", ".join(f"{spec.names[i]} = {levels[i][int(at)]}" for i, at in enumerate(place))
    sensitive = quoted(spec.names[spec.qi + which])
    alone = (
        "a single value"
        if own.count[cell] == problem.population.counts[group]
        else "a very frequent value"
    )
    remedies = ["take a higher limit"]
    both = Problem(problem.population, (True,) * len(problem.free), problem.limits)
    if spec.randomize != "both" and float(both.least().max()) < 0:
        remedies.insert(0, "randomize all of the columns: randomize := 'both'")
    if spec.randomize == "s":
        remedies.append(
            "merge levels of the quasi-identifiers in tbl, so that groups are more mixed"
        )
    if spec.quantile == 1:
        remedies.append("let some records exceed it by quantile := 0.99")
    return spec.refuse(
        f"no parameters reach a risk of {float(problem.limits[which][cell]):.4g}: the group {name} "
        f"({int(problem.population.counts[group])} records) has {alone} of {sensitive}, whose "
        f"risk is at least {infeasible.least:.4g} when randomize is '{spec.randomize}' (Guo 2010, Property 1). You can "
        f"{', or '.join(remedies)}."
    )


SOLVE = told_udf("ppduck_rr_optimize", solve, RrOptimizeSpec, LimitedCells, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        RrOptimizeCall,
        plan,
        "The keep probabilities with the least loss of accuracy under a limit on attribute disclosure.",
        "Guo (2010), section 5.2.4, Problem 1 and Result 16",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM rr_optimize('survey', qi=['gender','smoker'], sensitive='disease', l=2)",
        udfs=(SOLVE, count_column.UDF),
    )
)
