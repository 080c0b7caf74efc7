"""The frame of the rank-based masks: normal scores, EGADP on them, and back by ranks.

z = Φ⁻¹((mid-rank - ½)/n) for X and every numeric S, categories as indicators; Y* = S*·B + e with the
correlations of a normal copula and e orthogonal to S* and X*. (000, section II.2.3; Sarathy,
Muralidhar & Parsa 2002; Muralidhar & Sarathy 2006.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck import notes
from ppduck.call.linear_mask import LinearMask, Request
from ppduck.call.roles import Roles
from ppduck.errors import quoted
from ppduck.kernels import copula, nearness
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.masks._regression import DETERMINED, refuse_few, refuse_inexact
from ppduck.query import aggregates, normals
from ppduck.query import ranks as shuffling
from ppduck.query import tree as sql
from ppduck.stages.narrow import NarrowFrame, in_sample, sample
from ppduck.values import Array, Moments


def solve(blocks: Blocks, request: Request) -> LinearForm:
    refuse_few(blocks, request, noise_ranks=2)
    wanted = _rank_correlations(blocks, request)
    _refuse_determined(blocks, request, wanted)
    rows = request.sample.reshape(-1, blocks.p + 2 * blocks.q)
    scored = [feature in request.measured for feature in request.features]
    form, missed = copula.calibrated(blocks, wanted, rows, scored)
    _warn_of_missed(request, missed, blocks.n)
    on_regressors, _ = blocks.residual_noise(blocks.p + blocks.q)
    refuse_inexact(request, *blocks.noise_equations(blocks.p + blocks.q, on_regressors))
    return form


def _rank_correlations(blocks: Blocks, request: Request) -> Array:
    """Correlations of mid-ranks (indicators as they are) from their sums of products about the middle."""
    size = blocks.p + blocks.q
    sums, products = request.ranks[:size], request.ranks[size:]
    moments = Moments.from_sums(blocks.n, sums, products)
    sd = np.where(moments.sd > 0, moments.sd, 1.0)
    return np.asarray(moments.covariance / np.outer(sd, sd))


def _refuse_determined(blocks: Blocks, request: Request, wanted: Array) -> None:
    """A column that follows nonconf in every rank would come out as it is."""
    _, residual = blocks.regression_of_x()
    faults = request.faults()
    for j, name in enumerate(request.conf):
        alone = np.abs(wanted[: blocks.p, blocks.p + j]).max(initial=0.0)
        if residual[j, j] < DETERMINED or alone > 1 - DETERMINED:
            faults.add(
                f"conf column {quoted(name)} follows the nonconf columns{request.where} in every rank, so its masked "
                "values would be the originals; leave the columns that determine it out of nonconf and drop them."
            )
    faults.raise_if_any()


def _warn_of_missed(request: Request, missed: Array, n: int) -> None:
    """Rank correlations that no normal copula gives, such as some of columns with many equal values."""
    worst = np.unravel_index(int(np.abs(missed).argmax()), missed.shape) if missed.size else (0, 0)
    if missed.size and abs(missed[worst]) > max(3 / math.sqrt(n), 0.005):
        names = [*request.features, *request.conf]
        sentence = (
            f"the rank correlation of {quoted(names[worst[0]])} and {{columns}} does not come out{{groups}}: equal "
            "values or the shape of the relation allow no better."
        )
        off = float(abs(missed[worst]))
        notes.add(request.note(sentence, request.conf[worst[1]], f"{off:.3f} off", off))


def staying(blocks: Blocks, request: Request, form: LinearForm) -> Array:
    """The share of rows of the sample whose value, put into the order of masked scores, is the one they had."""
    p, q = blocks.p, blocks.q
    rows = request.sample.reshape(-1, p + 2 * q)
    masked = rows @ np.vstack([form.on_s, form.on_x, form.on_v])
    found = np.empty(q)
    for j, (score, own) in enumerate(zip(masked.T, rows[:, p : p + q].T, strict=True)):
        shuffled = np.empty_like(own)
        shuffled[np.argsort(score, kind="stable")] = np.sort(own)
        found[j] = nearness.staying(own, shuffled)
    return found


class ScoreFrame(NarrowFrame):
    """Writes the statement of one call; its kinds say how masked scores become values again."""

    def __init__(self, mask: LinearMask, roles: Roles, given: dict[str, Any], *, keep_noise: bool = True) -> None:
        super().__init__(mask, roles, given, keep_noise=keep_noise)
        # Which terms of the form are scores, by place; the others are indicators.
        self.scored = [i for i, feature in enumerate(roles.features) if feature.level is None]
        self.scored += range(self.p, self.p + self.q)
        self.raw = self.values
        self.values = [sql.column(f"_pp_z{i}") if i in self.scored else v for i, v in enumerate(self.values)]

    def _centres(self) -> list[sql.Expr]:
        """Scores lie about 0; what their ranks need is how many values there are."""
        found = super()._centres()
        for i in self.scored:
            found[i] = sql.named(sql.number(0.0), self.centres[i])
        present = [sql.named(sql.call("count", self.raw[i].copy()), f"_pp_n{i}") for i in self.scored]
        return [*found, *present, sql.named(aggregates.rows(), "_pp_rows")]

    def _prepare(self, statement: sql.Statement) -> None:
        tables = ['"_pp_source"']
        columns: list[sql.Expr] = [sql.column(name, "_pp_source") for name in [*self._own_columns(), "_pp_key"]]
        columns.append(sql.column(shuffling.ROW, "_pp_source"))
        for i in self.scored:
            alias = f"_pp_s{i}"
            statement.step(alias, self._shares(i), materialized=True)
            on = exp.EQ(this=sql.column(shuffling.ROW, alias), expression=sql.column(shuffling.ROW, "_pp_source"))
            tables.append(f'JOIN "{alias}" ON {sql.render(on)}')
            columns.append(sql.column(f"_pp_p{i}", alias))
        shares = sql.select(columns, " ".join(tables))
        scores = {f"_pp_p{i}": f"_pp_z{i}" for i in self.scored}
        statement.step(self.rows, normals.with_scores(shares, scores), materialized=False)

    def _shares(self, i: int) -> str:
        """(row, share of ranks) of the values of one column; those of conf also at their places."""
        by: list[sql.Expr] = [sql.column(name) for name in self.roles.strata]
        kept = self._kept(by, sql.column(self.roles.conf[i - self.p].name)) if i >= self.p else {}
        named = [sql.named(value, name) for name, value in kept.items()]
        ranks = shuffling.ranks('"_pp_source"', by, self._sortable(i), named)
        source = sql.joined(f'({ranks}) AS "_pp_ranked"', '"_pp_first"', self._matching("_pp_ranked"))
        share = shuffling.share(sql.column(f"_pp_n{i}", "_pp_first"), sql.column("_pp_rows", "_pp_first"))
        columns: list[sql.Expr] = [sql.column(shuffling.ROW), sql.named(share, f"_pp_p{i}")]
        if kept:
            own = [*self.roles.strata, shuffling.POSITION, *kept]
            columns += [sql.column(name, "_pp_ranked") for name in own]
        return sql.select(columns, source)

    def _sortable(self, i: int) -> sql.Expr:
        """The column itself where it is known to be a number: as DOUBLE large integers would tie."""
        name = self.roles.conf[i - self.p].name if i >= self.p else self.roles.features[i].column
        column = self.roles.source.find(name)
        return sql.column(name) if column is not None and column.is_numeric else self.raw[i]

    def _kept(self, by: list[sql.Expr], value: sql.Expr) -> dict[str, sql.Expr]:
        """What the way back wants to know of each value, beside its place."""
        return {shuffling.OUT: value}

    def places(self, j: int) -> str:
        """The values of a conf column at their places, which the sort for its scores has found."""
        return f'FROM "_pp_s{self.p + j}"'

    def _ranks(self) -> list[sql.Expr]:
        """Ranks about their middle, and indicators about their mean: what rank correlations are made of."""
        found = []
        for i in range(self.p + self.q):
            rank = sql.column(self.deviations[i])
            if i in self.scored:
                rank = sql.minus(sql.column(f"_pp_p{i}"), sql.number(0.5))
                rank = sql.call("coalesce", rank, sql.number(0.0))
            found.append(rank)
        return found

    def _beside_deviations(self) -> list[sql.Expr]:
        return [*super()._beside_deviations(), *(sql.column(f"_pp_p{i}") for i in self.scored)]

    def _more_moments(self) -> list[sql.Expr]:
        ranks = self._ranks()
        return [sql.named(sql.call("list_concat", aggregates.sums(ranks), aggregates.products(ranks)), "_pp_ranks")]

    def _sampled(self) -> tuple[str, sql.Expr]:
        rows = sample([sql.column(name) for name in [*self.deviations, *self.noise]])
        group = [sql.column(alias) for alias in self.by]
        renamed = [sql.named(each.copy(), f"_pp_g{i}") for i, each in enumerate(group)]
        chosen = self._complete_rows([sql.column("_pp_key")], in_sample())
        sampled = sql.select([*renamed, sql.named(rows, "_pp_sample")], f"({chosen})", group=group)
        on = [(sql.column(alias, "_pp_moments"), sql.column(f"_pp_g{i}")) for i, alias in enumerate(self.by)]
        return sql.joined('"_pp_moments"', f'({sampled}) AS "_pp_sampled"', on), sql.column("_pp_sample")
