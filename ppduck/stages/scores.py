"""The plan of the rank-based masks: normal scores, EGADP on them, and back by ranks.

z = Φ⁻¹((mid-rank - ½)/n) for X and every numeric S, categories as indicators; Y* = S*·B + e with the
correlations of a normal copula and e orthogonal to S* and X*. (Al-Ahmadi 2006, section II.2.3; Sarathy,
Muralidhar & Parsa 2002; Muralidhar & Sarathy 2006.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from ppduck.call.linear_mask import LinearMask
from ppduck.frozen import frozen
from ppduck.query import normals, ranks
from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.look import look, specification
from ppduck.stages.masking import KEY, LOOK, ROW, SOURCE, Masking
from ppduck.stages.moments import Measured
from ppduck.stages.narrow_table import (
    MASKED,
    NARROW,
    masked,
    own_columns,
    sample_of_terms,
    sampled_upto,
)
from ppduck.stages.noise import noisy
from ppduck.stages.plan import Plan, Rows, Sorted, Stage
from ppduck.stages.projection import joined_back
from ppduck.stages.solve import column_figures, outputs, solving
from ppduck.stages.source import source
from ppduck.stages.terms import Terms, own_terms

SAMPLE_SIZE = 200_000  # rows of a group that Python looks at one by one
ALL_ROWS = "_pp_all_rows"

Kept = dict[str, sql.Expr]


def _value_only(by: list[sql.Expr], value: sql.Expr) -> Kept:
    return {ranks.VALUE: value}


@frozen
class RankedPlan(Plan):
    """A plan that sorts, beside what it sorts by: an engine that has no table in one piece ranks in its own way."""

    scores: Scores


@frozen
class Scores:
    """How masked scores become values again: what is kept of each value at its place, and beside each masked score."""

    masking: Masking
    back: Callable[[Scores, int], sql.Expr]  # (row, value) of a conf column
    kept: Callable[[list[sql.Expr], sql.Expr], Kept] = _value_only
    beside: Callable[[Masking], Sequence[sql.Expr]] = lambda masking: ()

    @cached_property
    def own(self) -> Terms:
        return own_terms(self.masking)

    @cached_property
    def scored(self) -> list[int]:
        """Which terms are scores, by place; the others are indicators."""
        features = self.masking.roles.features
        found = [i for i, feature in enumerate(features) if feature.level is None]
        return [*found, *range(self.own.p, self.own.p + self.own.q)]

    @cached_property
    def terms(self) -> Terms:
        """Scores lie about 0; what their ranks need is how many values there are."""
        own = self.own
        values = [
            sql.column(f"_pp_z{i}") if i in self.scored else v for i, v in enumerate(own.values)
        ]

        def centre(i: int, name: str) -> Aggregate | None:
            return None if i in self.scored else own.centre(i, name)

        present = [aggregates.present(f"_pp_n{i}", own.values[i]) for i in self.scored]
        also = [sampled_upto(SAMPLE_SIZE), *present, aggregates.rows(ALL_ROWS)]
        return replace(own, values=values, centre=centre, also=also)

    @cached_property
    def measured(self) -> Measured:
        mask, call = self.masking.mask, self.masking.call
        assert isinstance(mask, LinearMask)
        return Measured(
            self.masking,
            self.terms,
            NARROW,
            True,
            mask.weighs_x(call),
            columns=[sql.column(f"_pp_p{i}") for i in self.scored],
            also=self._ranks(),
        )

    def looked(self) -> list[Stage]:
        """The stages of the first look."""
        return [*look(self.masking, self.terms, column_figures(self.masking))]

    def solved(self) -> list[Stage]:
        """The stages from rows with their scores to the form."""
        masking = self.masking
        sample = sample_of_terms(self.measured)
        return [
            noisy(masking, NARROW, kept=True),
            *solving(self.measured, specification(masking, self.terms), masking.q, sample),
        ]

    def masked_scores(self) -> list[sql.Expr]:
        return outputs(self.measured, self.masking.q)

    def plan(self) -> RankedPlan:
        masking, beside = self.masking, self.beside(self.masking)
        stages = [
            source(masking, numbered=True),
            *self.looked(),
            *(self._shares(i) for i in self.scored),
            self._narrow(),
            *self.solved(),
            masked(self.measured, self.masked_scores(), masking.q, beside),
        ]
        results = [(self.back(self, j), ranks.VALUE) for j in range(masking.q)]
        return RankedPlan(tuple(stages), joined_back(masking, results), self)

    def places(self, j: int) -> sql.Expr:
        """The values of a conf column at their places, which the sort for its scores has found."""
        return sql.query(
            [sql.star(self._ranked(self.own.p + j))], sql.table(self._ranked(self.own.p + j))
        )

    def shuffled(self, j: int) -> sql.Expr:
        """To rank k of the masked score goes the value of rank k."""
        by = self.masking.roles.strata
        return ranks.shuffled(MASKED, by, f"_pp_x{j}", f"_pp_y{j}", KEY, self.places(j))

    @staticmethod
    def _ranked(i: int) -> str:
        return f"_pp_ranked{i}"

    def _shares(self, i: int) -> Sorted:
        """(row, share of ranks) of the values of one column; those of conf also at their places."""
        masking, p = self.masking, self.own.p
        by: list[sql.Expr] = [sql.column(name) for name in masking.roles.strata]
        kept = self.kept(by, sql.column(masking.roles.conf[i - p].name)) if i >= p else {}
        named = [sql.named(value, name) for name, value in kept.items()]
        found = ranks.ranks(sql.table(SOURCE), by, self.sortable(i), named)
        rows = sql.derived(found, "_pp_sorted").matched(
            sql.table(LOOK), masking.to_rows("_pp_sorted")
        )
        share = ranks.share(sql.column(f"_pp_n{i}", LOOK), sql.column(ALL_ROWS, LOOK))
        columns: list[sql.Expr] = [sql.column(ROW), sql.named(share, f"_pp_p{i}")]
        if kept:
            own = [*masking.roles.strata, ranks.PLACE, *kept]
            columns += [sql.column(name, "_pp_sorted") for name in own]
        return Sorted(self._ranked(i), True, sql.query(columns, rows))

    def sortable(self, i: int) -> sql.Expr:
        """The column itself where it is known to be a number: as DOUBLE large integers would tie."""
        roles, p = self.masking.roles, self.own.p
        name = roles.conf[i - p].name if i >= p else roles.features[i].column
        column = roles.source.find(name)
        return sql.column(name) if column is not None and column.is_numeric else self.own.values[i]

    def _narrow(self) -> Rows:
        """Every row with its scores."""
        names = [*own_columns(self.masking), KEY, ROW]
        columns: list[sql.Expr] = [sql.column(name, SOURCE) for name in names]
        rows = sql.table(SOURCE)
        for i in self.scored:
            ranked = self._ranked(i)
            rows = rows.join(
                sql.table(ranked), sql.equal(sql.column(ROW, ranked), sql.column(ROW, SOURCE))
            )
            columns.append(sql.column(f"_pp_p{i}", ranked))
        return self.scoring(sql.query(columns, rows))

    def scoring(self, rows: sql.Expr) -> Rows:
        """Rows that have their shares of ranks, with their scores."""
        scores = {f"_pp_p{i}": f"_pp_z{i}" for i in self.scored}
        return Rows(NARROW, False, normals.with_scores(rows, scores))

    def _ranks(self) -> list[Aggregate]:
        """Ranks about their middle, and indicators about their mean: what rank correlations are made of."""
        found = []
        for i in range(len(self.terms.values)):
            rank = sql.column(self.terms.deviations[i])
            if i in self.scored:
                rank = sql.minus(sql.column(f"_pp_p{i}"), sql.number(0.5))
                rank = sql.call("coalesce", rank, sql.number(0.0))
            found.append(rank)
        return [
            aggregates.sums("_pp_rank_sums", found),
            aggregates.products("_pp_rank_products", found),
        ]
