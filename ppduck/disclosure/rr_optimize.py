"""rr_optimize(): the keep probabilities that cost least accuracy while no risk of disclosure exceeds a limit.

Minimises Σ ln ‖P_i⁻¹‖²_F, the logarithm of the expected squared distance of the reconstructed table up to constants,
subject to max Pr(S | QI) ≤ τ (Guo 2010, Problem 1, Result 16). Limits: tau, 1/l, or a column of tbl with each record's
own; a ``quantile`` below 1 lets the rest of the records exceed theirs. Several sensitive attributes are each held to
them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, register
from ppduck.call.roles import resolve_columns
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS
from ppduck.disclosure import linking_attack
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.estimators import cells, count_column
from ppduck.kernels import optimal
from ppduck.kernels.disclosure import Population
from ppduck.kernels.optimal import InfeasibleError, Problem
from ppduck.kernels.threads import one_thread
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "rr_optimize"
SOLVE = "ppduck_rr_optimize"
_ROW = (
    'STRUCT("column_name" VARCHAR, "role" VARCHAR, "levels" BIGINT, "p" DOUBLE, "norm" DOUBLE, "max_risk" DOUBLE, '
    '"tau" DOUBLE, "beyond" DOUBLE, "objective" DOUBLE, "seconds" DOUBLE)'
)
# Beside the cells: rows with NULL, the levels as texts, the limit of each cell where a column tells it.
SOLVE_TYPES = (
    [*cells.ARGUMENTS, "BIGINT", "VARCHAR[][]", "DOUBLE[]"],
    f"{_ROW}[]",
)


_OR = "give l or tau, one of them"
_RISK = arguments.number(Range(0, 1, above=True))


@arguments.reader(f"{_RISK.takes}, or the name of a column of them", _RISK.within)
def _limit(value: Any) -> float | str:
    return value if isinstance(value, str) and value else float(_RISK(value))


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    faults = Faults(NAME, given["tbl"])
    if ("l" in given) == ("tau" in given):
        raise faults.refuse("give l, such as l := 3 for a risk of at most 1/3, or tau; one of them.")
    tau = given.get("tau", 1 / given.get("l", 1.0))
    also: tuple[tuple[str, sql.Expr], ...] = ()
    if isinstance(tau, str):
        source = catalog.source(NAME, given["tbl"])
        named = resolve_columns(faults, source, "tau", [tau])
        faults.raise_if_any()
        [column] = named
        limit = f"TRY_CAST({sql.render(sql.column(column.name))} AS DOUBLE)"
        # The strictest of a cell's records decides; one without a limit spoils the cell, and is refused.
        least = f"CASE WHEN count({limit}) = count(*) THEN min({limit}) ELSE 'nan'::DOUBLE END"
        also = (("_pp_limit", sql.raw(least)),)
    counted = linking_attack.cells_of(NAME, catalog, given, also)
    own = {
        "qi": len(given["qi"]),
        "tau": tau,
        "randomize": given.get("randomize", "both"),
        "quantile": given.get("quantile", 1.0),
        "on_null": given.get("on_null", "error"),
    }
    texts = ", ".join(f'CAST("_pp_l{i}" AS VARCHAR[])' for i in range(len(counted.release.columns)))
    limits = 'list("_pp_limit" ORDER BY "_pp_cell")' if also else "CAST([] AS DOUBLE[])"
    statement = counted.statement(SOLVE, own, linking_attack.without_value(counted), f"any_value([{texts}])", limits)
    return statement.finish('SELECT unnest("_pp_row") FROM (SELECT unnest("_pp_r") AS "_pp_row" FROM "_pp_solved")')


def solve(
    specification: str, sizes: Sequence[int], numbers: Sequence[float | None] | None,
    counts: Sequence[float | None] | None, strangers: int, missing: int, levels: Sequence[Sequence[str | None]],
    limits: Sequence[float | None],
) -> list[dict[str, Any]]:  # fmt: skip
    began = time.perf_counter()
    spec = json.loads(specification)
    places, weights, kept = linking_attack.cells_that_occur(spec, sizes, numbers, counts, strangers, missing)
    limits = [limits[place] for place in kept] if limits else []
    population = linking_attack.population(spec, sizes, places, weights)
    qi = spec["qi"]
    who = spec["randomize"]
    free = (who in ("both", "qi"),) * qi + (who in ("both", "s"),) * (len(sizes) - qi)
    problem = Problem(population, free, tuple(_limits(spec, population, places, limits)))
    spared = 1.0 - spec["quantile"]
    try:
        with one_thread():
            found = optimal.optimum(problem, spared)
    except InfeasibleError as infeasible:
        raise _infeasible(spec, problem, infeasible, levels) from None
    beyond = optimal.beyond(problem, found)
    if not max(beyond) <= spared + optimal.TOLERANCE:
        raise Faults(NAME, spec["table"]).refuse(
            f"no parameters were found that hold the limit ({max(beyond):.3g} of the records are beyond it); this is a "
            "failure of the search. Try another limit, or fewer columns."
        )
    seconds = time.perf_counter() - began
    rows = []
    for i, (column, size) in enumerate(zip(spec["columns"], sizes, strict=True)):
        # A quasi-identifier concerns all sensitive attributes, a sensitive attribute itself.
        own = range(len(beyond)) if i < qi else [i - qi]
        rows.append({
            "column_name": column["column"],
            "role": "quasi-identifier" if i < qi else "sensitive",
            "levels": size,
            "p": float(found.ps[i]),
            "norm": float((size - 1) ** 3 / (size * found.ps[i] - 1) ** 2 + 1),
            "max_risk": max(float(found.risks[k].max()) for k in own),
            "tau": None if isinstance(spec["tau"], str) else spec["tau"],
            "beyond": max(beyond[k] for k in own),
            "objective": found.objective,
            "seconds": seconds,
        })  # fmt: skip
    return rows


def _limits(
    spec: dict[str, Any],
    population: Population,
    places: Sequence[linking_attack.Places],
    limits: Sequence[float | None],
) -> list[Array]:
    """The limit of every cell of every sensitive attribute: one for all, or the least of its records'."""
    if not isinstance(spec["tau"], str):
        return [np.full(len(own.count), float(spec["tau"])) for own in population.sensitive]
    given = np.array([np.nan if limit is None else limit for limit in limits], dtype=float)
    if not np.all((given > 0) & (given <= 1)):
        raise Faults(NAME, spec["table"]).refuse(
            f"tau names column {quoted(spec['tau'])}, which holds NULL or a number that is not above 0 and at most 1."
        )
    qi = spec["qi"]
    known = np.ravel_multi_index(tuple(p.astype(np.int64) for p in places[:qi]), population.shape)
    group = np.searchsorted(population.groups, known)
    found = []
    for own, level in zip(population.sensitive, places[qi:], strict=True):
        least = np.ones(len(own.count))
        cell = np.searchsorted(own.group * own.size + own.level, group * own.size + level)
        np.minimum.at(least, cell, given)
        found.append(least)
    return found


def _infeasible(
    spec: dict[str, Any], problem: Problem, infeasible: InfeasibleError, levels: Sequence[Sequence[str | None]]
) -> PpduckError:
    """Names the group by its quasi-identifiers, and not the value that is told of it."""
    cell, which = infeasible.cell, 0
    while cell >= len(problem.population.sensitive[which].count):
        cell -= len(problem.population.sensitive[which].count)
        which += 1
    own = problem.population.sensitive[which]
    group = int(own.group[cell])
    place = np.unravel_index(int(problem.population.groups[group]), problem.population.shape)
    columns = [column["column"] for column in spec["columns"]]
    name = ", ".join(f"{columns[i]} = {levels[i][int(at)]}" for i, at in enumerate(place))
    sensitive = quoted(columns[spec["qi"] + which])
    alone = "a single value" if own.count[cell] == problem.population.counts[group] else "a very frequent value"
    remedies = ["take a higher limit"]
    both = Problem(problem.population, (True,) * len(problem.free), problem.limits)
    if spec["randomize"] != "both" and float(both.least().max()) < 0:
        remedies.insert(0, "randomize all of the columns: randomize := 'both'")
    if spec["randomize"] == "s":
        remedies.append("merge levels of the quasi-identifiers in tbl, so that groups are more mixed")
    if spec["quantile"] == 1:
        remedies.append("let some records exceed it by quantile := 0.99")
    return Faults(NAME, spec["table"]).refuse(
        f"no parameters reach a risk of {float(problem.limits[which][cell]):.4g}: the group {name} "
        f"({int(problem.population.counts[group])} records) has {alone} of {sensitive}, whose "
        f"risk is at least {infeasible.least:.4g} when randomize is '{spec['randomize']}' (Property 1). You can "
        f"{', or '.join(remedies)}."
    )


FUNCTION = register(
    Function(
        NAME,
        (
            arguments.TBL,
            linking_attack.QI,
            linking_attack.SENSITIVE,
            Parameter(
                "l",
                arguments.number(Range(1, 1e9)),
                f"the risk is to be at most 1/l, as for l-diversity; {_OR}",
                "NULL",
            ),
            Parameter(
                "randomize",
                arguments.choice("both", "qi", "s"),
                "quasi-identifiers, sensitive columns or both",
                "'both'",
            ),
            Parameter(
                "tau", _limit, f"the most that a risk may be, or a column with each record's limit; {_OR}", "NULL"
            ),
            Parameter(
                "quantile",
                arguments.number(Range(0.5, 1)),
                "the share of records that must be within the limit",
                "1",
            ),
            count_column.COUNT,
            LEVELS,
            linking_attack.ON_NULL,
        ),
        plan,
        "The keep probabilities with the least loss of accuracy under a limit on attribute disclosure.",
        "Guo (2010), section 5.2.4, Problem 1 and Result 16",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"), count_column.UDF),
    )
)
