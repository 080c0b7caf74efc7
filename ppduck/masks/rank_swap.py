"""Rank swapping: values change places with others whose rank is at most ``reach`` % of the rows away.

See the kernel for which do. (004, section 6; Moore 1996.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.call.udf import Udf
from ppduck.errors import Faults, quoted
from ppduck.kernels import nearness
from ppduck.kernels.rank_swapping import FEWEST_PLACES, SHORTEST_REACH, swapped
from ppduck.masks._promises import UNUSED, VALUES_RELEASED
from ppduck.query import ranks as shuffling
from ppduck.query import tree as sql
from ppduck.runtime.nearness import Judge
from ppduck.stages.group_lists import WITHOUT, Told, WholeFrame, noise_of, whole_mask
from ppduck.stages.look import QUERY
from ppduck.values import Array, folded

SOLVE = "ppduck_swapped_places"
# Specification, name of the group, secret of the release, number of the query, which column, how many values it has,
# and the places whose value is also that of the place before.
TAKES = ["VARCHAR", "VARCHAR", "VARCHAR", "UBIGINT", "VARCHAR", "BIGINT", "DOUBLE[]"]
GIVES = "BIGINT[]"
TIED = "_pp_tied"
MOST_ROWS = 500_000_000  # a place is eight bytes, and all places of a column are in memory at once


_per_cent = arguments.number(Range(1, 100), ": reach is in per cent of the ranks, such as reach := 14")


class SwapFrame(WholeFrame):
    """Each column is sorted once; what is swapped are places, so that values keep their type and never leave SQL."""

    def statement(self) -> str:
        statement = self.looking()
        for j in self.columns:
            statement.step(f"_pp_s{j}", self._sorted(j), materialized=True)
            statement.step(f"_pp_w{j}", self._swapped(j), materialized=True)
        return statement.finish(self._joined_back())

    def _sorted(self, j: int) -> str:
        """Rows with their value and its place; NULL comes last. Equal values stand in an order that tells nothing."""
        column = self.roles.conf[j]
        value: sql.Expr = sql.column(column.name)
        kept = [sql.column(shuffling.ROW), sql.named(value.copy(), shuffling.OUT)]
        number = value if column.type else self.values[j]
        ties = [sql.column("_pp_key"), sql.column(shuffling.ROW)]
        groups: list[sql.Expr] = [sql.column(name) for name in self.roles.strata]
        before = shuffling.neighbour("lag", groups, number, ties)
        kept.append(sql.named(exp.EQ(this=number.copy(), expression=before), TIED))
        return shuffling.ordered("_pp_source", self.roles.strata, number, ties, kept)

    def _swapped(self, j: int) -> str:
        """For each place the one that its value comes from."""
        group: list[sql.Expr] = [sql.column(name) for name in self.roles.strata]
        named = [sql.named(each.copy(), f"_pp_g{i}") for i, each in enumerate(group)]
        present = sql.call("count", sql.column(shuffling.OUT))
        tied = sql.raw(f'list("{shuffling.POSITION}"::DOUBLE) FILTER ("{TIED}") AS "{TIED}"')
        counts = sql.select([*named, sql.named(present, "_pp_n"), tied], f'"_pp_s{j}"', group=group)
        source = sql.joined(f'({counts}) AS "_pp_values"', f'({self.told()}) AS "_pp_told"', self._same_group())
        name = sql.text(self.roles.conf[j].name)
        told = [sql.text(self.specification()), sql.column("_pp_label"), sql.column("_pp_secret"), sql.call(QUERY)]
        asked = sql.named(sql.call(SOLVE, *told, name, sql.column("_pp_n"), sql.column(TIED)), "_pp_places")
        groups = [sql.column(f"_pp_g{i}") for i in range(len(group))]
        places = sql.select([*groups, asked], source)
        rows = [
            *groups,
            sql.named(sql.call("unnest", sql.column("_pp_places")), "_pp_from"),
            sql.named(sql.raw('unnest(generate_series(1, len("_pp_places")))'), "_pp_to"),
        ]
        return sql.select(rows, f"({places})")

    def _results(self) -> list[tuple[str, sql.Expr]]:
        return [(f"({self._taken(j)})", sql.column(shuffling.OUT)) for j in range(self.q)]

    def _taken(self, j: int) -> str:
        """(row, value): to each row goes the value that stands where its place takes it from; NULL stays NULL."""
        tables = f'"_pp_s{j}" AS "_pp_given" LEFT JOIN "_pp_w{j}" AS "_pp_way" ON '
        tables += sql.render(self._on("_pp_given", "_pp_way", "_pp_to"))
        tables += f' LEFT JOIN "_pp_s{j}" AS "_pp_taken" ON '
        tables += sql.render(self._on("_pp_taken", "_pp_way", "_pp_from"))
        return sql.select([sql.column(shuffling.ROW, "_pp_given"), sql.column(shuffling.OUT, "_pp_taken")], tables)

    def _on(self, table: str, way: str, place: str) -> sql.Expr:
        same = exp.EQ(this=sql.column(shuffling.POSITION, table), expression=sql.column(place, way))
        groups = (
            exp.NullSafeEQ(this=sql.column(name, table), expression=sql.column(f"_pp_g{i}", way))
            for i, name in enumerate(self.roles.strata)
        )
        return exp.and_(same, *groups)


def solve(
    specification: str, group: str | None, secret: str, query: int, column: str, n: int, tied: Array | None
) -> Any:
    """Where each place of a column takes its value from, counted from 1."""
    told = Told(specification, group, secret, query, None)
    where = told.where
    reach = float(told.parameters["reach"])
    ranks = int(reach * n / 100 + 1e-9)
    faults = Faults(told.spec["function"], told.spec["table"])
    if n > MOST_ROWS:
        raise faults.refuse(f"{n:,} rows{where} are too many to swap at once; mask within groups: strata := […].")
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
    places = swapped(n, ranks, noise_of(f"{secret} {folded(column)}"))
    _judge(told.judge, column, places, tied)
    return 1 + places


def _judge(judge: Judge, column: str, places: npt.NDArray[np.int64], tied: Array | None) -> None:
    """Of ranks, as values never come here: how near the swapped ones are, and how many values meet an equal one."""
    n = len(places)
    noted: list[str] = []
    if tied is not None:
        is_new = np.ones(n)
        is_new[tied.astype(np.int64) - 1] = 0
        values = np.cumsum(is_new)
        noted = judge.shares([column], np.array([nearness.staying(values, values[places])]), " because they repeat")
    ranks = np.arange(n, dtype=float)
    judge.correlations([column], np.array([nearness.correlation(ranks, ranks[places])]), noted=noted)


MASK = register(
    whole_mask(
        "rank_swap_mask",
        frame=SwapFrame,
        summary="Rank swapping: values change places with others at most reach % of the ranks away, column by column.",
        reference="Moore 1996; Domingo-Ferrer & Torra 2001",
        keeps=(
            "every conf column has exactly its original values, reordered: its mean, quantiles and extremes too",
            "no value moves by more than reach % of the ranks",
        ),
        loses=(
            "correlations, which shrink the more the larger reach is; information_loss() tells by how much",
            "protection against one who knows reach: the original is within the 2·reach % around the masked one",
            "protection of values that repeat: one that changes places with an equal one stays as it is",
            "protection by several releases: the windows around their values have few values in common",
            VALUES_RELEASED,
            UNUSED,
        ),
        parameters=(Parameter("reach", _per_cent, "how far a value may move, in % of the ranks, such as reach := 14"),),
        without=(*WITHOUT, "round"),
        permutes=True,
        remedy="a longer reach, shuffle_mask, or pram_mask if the column is a category",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES),),
    )
)
