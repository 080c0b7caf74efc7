"""Rank swapping: values change places with others whose rank is at most ``reach`` % of the rows away.

See the kernel for which do. (Moore 1996; Pont-Tuset et al. 2007, section 6.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import fixed, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.call.roles import numeric
from ppduck.call.udf import Unsigned, told_udf
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels import nearness
from ppduck.kernels.rank_swapping import FEWEST_PLACES, SHORTEST_REACH, swapped
from ppduck.masks._promises import REORDERED, UNUSED, VALUES_RELEASED
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.runtime.group_lists import judge_of, noise_of
from ppduck.runtime.nearness import Judge
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.group_lists import ConfCall, group_mask, group_told, in_order_of_names, looking
from ppduck.stages.look import specification
from ppduck.stages.masking import KEY, LOOK, ROW, SOURCE, Masking
from ppduck.stages.plan import Plan, Sorted
from ppduck.stages.projection import joined_back
from ppduck.stages.terms import own_terms
from ppduck.values import Array, folded

TIED = "_pp_tied"
MOST_ROWS = 500_000_000  # a place is eight bytes, and all places of a column are in memory at once


_per_cent = arguments.number(
    Range(1, 100), ": reach is in per cent of the ranks, such as reach := 14"
)


@parameters
class SwapCall(ConfCall):
    reach: float = parameter(
        _per_cent, "how far a value may move, in % of the ranks, such as reach := 14"
    )
    round: bool = fixed(False)  # values keep their type


@frozen
class Places:
    """A column of a group: how many values it has, and the places whose value is also that of the place before."""

    group: str | None
    secret: str
    query: Unsigned
    column: str
    n: int
    tied: Array | None

    @property
    def where(self) -> str:
        return f" in the group {self.group}" if self.group else ""


def stages(masking: Masking) -> Plan:
    """Each column is sorted once; what is swapped are places, so that values keep their type and never leave SQL."""
    found = looking(masking)
    for j in in_order_of_names(masking):
        found.append(Sorted(_sorted_name(j), True, _sorted(masking, j)))
        found.append(Sorted(_swapped_name(j), True, _swapped(masking, j)))
    results = [(_taken(masking, j), ranks.VALUE) for j in range(masking.q)]
    return Plan(tuple(found), joined_back(masking, results))


def _sorted_name(j: int) -> str:
    return f"_pp_sorted{j}"


def _swapped_name(j: int) -> str:
    return f"_pp_swapped{j}"


def _sorted(masking: Masking, j: int) -> sql.Expr:
    """Rows with their value and its place; NULL comes last. Equal values stand in an order that tells nothing."""
    column, by = masking.roles.conf[j], masking.roles.strata
    value: sql.Expr = sql.column(column.name)
    number = value if column.type else numeric(column)
    ties = [sql.column(KEY), sql.column(ROW)]
    groups: list[sql.Expr] = [sql.column(name) for name in by]
    before = ranks.neighbour("lag", groups, number, ties)
    kept = [
        sql.column(ROW),
        sql.named(value.copy(), ranks.VALUE),
        sql.named(sql.equal(number.copy(), before), TIED),
    ]
    return ranks.ordered(sql.table(SOURCE), by, number, ties, kept)


def _swapped(masking: Masking, j: int) -> sql.Expr:
    """For each place the one that its value comes from."""
    groups = [sql.named(value.copy(), alias) for alias, value in masking.groups]
    present = sql.named(sql.call("count", sql.column(ranks.VALUE)), "_pp_n")
    tied = sql.only(sql.call("list", sql.double(sql.column(ranks.PLACE))), sql.column(TIED))
    counted = sql.query(
        [*groups, present, sql.named(tied, TIED)],
        sql.table(_sorted_name(j)),
        group=[value.copy() for _, value in masking.groups],
    )
    told = {
        **group_told(masking),
        "column": sql.text(masking.roles.conf[j].name),
        "n": sql.column("_pp_n"),
        "tied": sql.column(TIED),
    }
    asked = sql.named(SOLVE.in_sql(specification(masking, own_terms(masking)), told), "_pp_places")
    tables = sql.derived(counted, "_pp_counted").matched(
        sql.table(LOOK), masking.same_group("_pp_counted", LOOK)
    )
    places = sql.query([*masking.groups_of("_pp_counted"), asked], tables)
    counting = sql.call("generate_series", sql.number(1), sql.call("len", sql.column("_pp_places")))
    rows = [
        *masking.groups_of(),
        sql.named(sql.call("unnest", sql.column("_pp_places")), "_pp_from"),
        sql.named(sql.call("unnest", counting), "_pp_to"),
    ]
    return sql.query(rows, sql.derived(places, "_pp_asked"))


def _taken(masking: Masking, j: int) -> sql.Expr:
    """(row, value): to each row goes the value that stands where its place takes it from; NULL stays NULL."""
    given, way, taken = "_pp_given", "_pp_way", "_pp_taken"
    rows = sql.named_table(_sorted_name(j), given)
    rows = rows.join(
        sql.named_table(_swapped_name(j), way), _at(masking, given, "_pp_to"), outer=True
    )
    rows = rows.join(
        sql.named_table(_sorted_name(j), taken), _at(masking, taken, "_pp_from"), outer=True
    )
    return sql.query([sql.column(ROW, given), sql.column(ranks.VALUE, taken)], rows)


def _at(masking: Masking, table: str, place: str) -> sql.Expr:
    same = sql.equal(sql.column(ranks.PLACE, table), sql.column(place, "_pp_way"))
    groups = [exp.NullSafeEQ(this=a, expression=b) for a, b in masking.to_rows(table, "_pp_way")]
    return exp.and_(same, *groups)


def solve(spec: MaskSpec, told: Places) -> Any:
    """Where each place of a column takes its value from, counted from 1."""
    where, column, n, reach = told.where, told.column, told.n, spec.call.reach
    ranks = int(reach * n / 100 + 1e-9)
    faults = spec.faults()
    if n > MOST_ROWS:
        raise faults.refuse(
            f"{n:,} rows{where} are too many to swap at once; mask within groups: strata := […]."
        )
    if n < FEWEST_PLACES:
        raise faults.refuse(
            f"conf column {quoted(column)} has {n} values{where}, and fewer than {FEWEST_PLACES} cannot be swapped so "
            "that nobody knows how."
        )
    if ranks < SHORTEST_REACH:
        raise faults.refuse(
            f"reach = {reach:g} % of the {n} values of conf column {quoted(column)}{where} is {ranks} ranks, in "
            f"which there is too little to draw; take a reach of at least {100 * SHORTEST_REACH / n:.3g}."
        )
    places = swapped(n, ranks, noise_of(f"{told.secret} {folded(column)}"))
    _judge(judge_of(spec, told.group, told.query), column, places, told.tied)
    return 1 + places


def _judge(judge: Judge, column: str, places: npt.NDArray[np.int64], tied: Array | None) -> None:
    """Of ranks, as values never come here: how near the swapped ones are, and how many values meet an equal one."""
    n = len(places)
    noted: list[str] = []
    if tied is not None:
        is_new = np.ones(n)
        is_new[tied.astype(np.int64) - 1] = 0
        values = np.cumsum(is_new)
        noted = judge.shares(
            [column], np.array([nearness.staying(values, values[places])]), " because they repeat"
        )
    ranks = np.arange(n, dtype=float)
    judge.correlations(
        [column], np.array([nearness.correlation(ranks, ranks[places])]), noted=noted
    )


SOLVE = told_udf("ppduck_swapped_places", solve, MaskSpec, Places, "BIGINT[]")
MASK = register(
    group_mask(
        "rank_swap_mask",
        SwapCall,
        stages=stages,
        summary="Rank swapping: values change places with others at most reach % of the ranks away, column by column.",
        reference="Moore 1996; Domingo-Ferrer & Torra 2001",
        keeps=(
            REORDERED,
            Guarantee(Promise.NEARBY, "no value moves by more than reach % of the ranks"),
        ),
        loses=(
            Loss(
                LossKind.MOMENTS,
                "correlations, which shrink the more the larger reach is; information_loss() tells by how much",
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection against one who knows reach: the original is within the 2·reach % around the masked one",
            ),
            Loss(
                LossKind.NEARNESS,
                "protection of values that repeat: one that changes places with an equal one stays as it is",
            ),
            Loss(
                LossKind.SEVERAL_RELEASES,
                "protection by several releases: the windows around their values have few values in common",
            ),
            VALUES_RELEASED,
            UNUSED,
        ),
        remedy="a longer reach, shuffle_mask, or pram_mask if the column is a category",
        udfs=(SOLVE,),
        example="FROM rank_swap_mask('customers', conf=['x1','x2'], reach=14, key='id')",
    )
)
