"""The terms of a mask that has learnt E(X|S): S, û(S), and products of û and X for its noise to be free of.

A sample of each group trains a model, and every row is evaluated by it, once, into a narrow table.
"""

from __future__ import annotations

from functools import cached_property

from sqlglot import exp

from ppduck.call.linear_mask import TermPlaces
from ppduck.call.roles import numeric
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.runtime.relation import EVALUATE, LEARN
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.look import specification
from ppduck.stages.masking import KEY, LOOK, ROW, SOURCE, TWEAK, Masking
from ppduck.stages.narrow_table import NARROW, in_sample, own_columns, sampled_upto
from ppduck.stages.plan import Groups, Rows, Totals
from ppduck.stages.terms import Terms, own_terms

TRAINING, MODELS, MODEL = "_pp_training", "_pp_models", "_pp_model"
SAMPLE_SIZE = 20_000
PRODUCTS = 3  # u·u, u·x and x·x of each conf column


@frozen
class Input:
    """What a model reads: a number from its centre, or an indicator of a level."""

    column: str
    value: sql.Expr
    is_indicator: bool


@frozen
class Relation:
    """The learnt relation of one call."""

    masking: Masking
    sample_size: int = SAMPLE_SIZE

    @cached_property
    def own(self) -> Terms:
        return own_terms(self.masking)

    @cached_property
    def inputs(self) -> list[Input]:
        """In the order of the columns; the features leave out a first level, a distance needs it too."""
        roles = self.masking.roles
        # Of a boolean with an indicator of NULL, the first is its value.
        features = {
            feature.column: (i, feature) for i, feature in reversed(list(enumerate(roles.features)))
        }
        found: list[Input] = []
        for name in roles.nonconf:
            i, feature = features[name]
            if name in roles.levels:
                found += [
                    Input(name, _indicator(name, level), True) for level in roles.levels[name]
                ]
            else:
                deviation = sql.minus(feature.value.copy(), sql.column(self.own.centres[i], LOOK))
                column = roles.source.find(name)
                is_boolean = column is not None and column.is_boolean
                found.append(
                    Input(name, sql.call("coalesce", deviation, sql.number(0.0)), is_boolean)
                )
            if name in roles.null_levels:
                found.append(Input(name, sql.double(sql.column(name).is_(exp.null())), True))
        return found

    @cached_property
    def terms(self) -> Terms:
        """û is learnt from deviations, so it lies about 0 as they do; a spread gives the products a scale.

        Sums depend on the order of rows in their last digits, and a model might magnify these. Centres
        are therefore rounded, to a small part of the column's range.
        """
        own, q = self.own, self.own.q
        names = [column.name for column in self.masking.roles.conf]
        fitted = [f"_pp_u{j}" for j in range(q)]
        products = [f"_pp_t{j}" for j in range(PRODUCTS * q)]
        s, x = own.values[: own.p], own.values[own.p :]
        values = [*s, *map(sql.column, [*fitted, *products]), *x]
        places = TermPlaces(
            own.p,
            tuple(range(own.p, own.p + q)),
            tuple(tuple(own.p + q + PRODUCTS * j + k for k in range(PRODUCTS)) for j in range(q)),
        )
        learnt = range(own.p, own.p + len(fitted) + len(products))

        def centre(i: int, name: str) -> Aggregate | None:
            return None if i in learnt else rounded_mean(name, values[i])

        spreads = [spread(_spread(j), x[j]) for j in range(q)]
        return Terms(
            [
                *own.labels,
                *(f"E({name} | nonconf)" for name in names),
                *(f"square or product of {name}" for name in names for _ in range(PRODUCTS)),
            ],
            values,
            places,
            centre,
            also=[sampled_upto(self.sample_size), *spreads],
            indicators=[each.is_indicator for each in self.inputs],
            inputs=[each.column for each in self.inputs],
        )

    def training(self) -> Totals:
        """``_pp_training``: rows of each group that its model is trained on: inputs, and deviations of conf."""
        masking = self.masking
        # DuckDB leaves out what nothing reads: asking for the tweak makes it run the checks of the first look.
        needed = [
            *(sql.column(column.name) for column in masking.roles.conf),
            sql.column(TWEAK, LOOK),
        ]
        values = [
            *(each.value.copy() for each in self.inputs),
            *(self._deviation(j) for j in range(masking.q)),
        ]
        rows = aggregates.in_order_of("_pp_sample", values, sql.column(KEY))
        tables = sql.table(SOURCE).matched(sql.table(LOOK), masking.to_rows(SOURCE))
        where = exp.and_(sql.present(needed), in_sample())
        return Totals(TRAINING, True, masking.small_groups(LOOK), [rows], tables, where)

    def models(self) -> Groups:
        """``_pp_models``: the model of each group."""
        masking = self.masking
        told = {"group": masking.label(), "sample": sql.column("_pp_sample")}
        learnt = LEARN.in_sql(specification(masking, self.terms), told)
        columns = [*masking.groups_of(), sql.named(learnt, MODEL)]
        return Groups(MODELS, True, sql.query(columns, sql.table(TRAINING)))

    def narrow(self) -> Rows:
        """``_pp_narrow``: every row with û, and with the products that noise is to be free of."""
        masking, q = self.masking, self.masking.q
        names = [*own_columns(masking), KEY, ROW]
        inputs = sql.array([each.value.copy() for each in self.inputs], "DOUBLE")
        evaluated = sql.call(EVALUATE.name, sql.column(MODEL, MODELS), inputs)
        tables = sql.table(SOURCE).matched(sql.table(LOOK), masking.to_rows(SOURCE))
        tables = tables.matched(sql.table(MODELS), masking.to_rows(SOURCE, MODELS))
        scaled = [
            sql.named(
                exp.Div(this=self.where_complete(self._deviation(j)), expression=_scale(j)),
                f"_pp_scaled_x{j}",
            )
            for j in range(q)
        ]
        columns = [
            *(sql.column(name, SOURCE) for name in names),
            *scaled,
            *(_scale(j) for j in range(q)),
        ]
        rows = sql.query([*columns, sql.named(evaluated, "_pp_fitted")], tables)
        fitted = [
            sql.named(sql.item(sql.column("_pp_fitted"), j + 1), f"_pp_u{j}") for j in range(q)
        ]
        rows = sql.query(
            [sql.star("_pp_evaluated", ["_pp_fitted"]), *fitted], sql.derived(rows, "_pp_evaluated")
        )
        products = []
        for j in range(q):
            x = sql.column(f"_pp_scaled_x{j}")
            u = sql.paren(exp.Div(this=sql.column(f"_pp_u{j}"), expression=sql.column(_spread(j))))
            pairs = ((u, u), (u, x), (x, x))
            products += [
                sql.named(sql.product(*pair), f"_pp_t{PRODUCTS * j + k}")
                for k, pair in enumerate(pairs)
            ]
        helpers = [name for j in range(q) for name in (f"_pp_scaled_x{j}", _spread(j))]
        made = sql.query(
            [sql.star("_pp_scaled", helpers), *products], sql.derived(rows, "_pp_scaled")
        )
        return Rows(NARROW, True, made)  # evaluating is the dearest step, so it is done once

    def x_terms(self) -> list[sql.Expr]:
        """X has a part in the noise only, and there in rows that the moments know: in others it would only show."""
        return [
            self.where_complete(sql.column(name)) for name in self.terms.deviations[self.terms.p :]
        ]

    def where_complete(self, value: sql.Expr) -> sql.Expr:
        complete = [
            sql.column(column.name).is_(exp.null()).not_() for column in self.masking.roles.conf
        ]
        return sql.cases((exp.and_(*complete), value), otherwise=sql.number(0.0))

    def _deviation(self, j: int) -> sql.Expr:
        centre = self.terms.centres[self.terms.p + j]
        return sql.minus(numeric(self.masking.roles.conf[j]), sql.column(centre, LOOK))


def _indicator(name: str, level: str) -> sql.Expr:
    text = sql.cast(sql.column(name), "VARCHAR")
    return sql.call("coalesce", sql.double(sql.equal(text, sql.text(level))), sql.number(0.0))


def _spread(j: int) -> str:
    return f"_pp_sd{j}"


def _scale(j: int) -> sql.Expr:
    return sql.column(_spread(j), LOOK)


def _grid(value: sql.Expr) -> sql.Expr:
    """2^(⌊log2 range⌋ - 14): a small part of a column's range; NULL where it has none."""
    span = sql.call("nullif", _range(value), sql.number(0))
    finite = sql.cases((sql.call("isfinite", span), span.copy()))
    power = exp.Sub(this=sql.call("floor", sql.call("log2", finite)), expression=sql.number(14))
    return sql.call("pow", sql.double(sql.number(2.0)), power)


def _range(value: sql.Expr) -> sql.Expr:
    return exp.Sub(this=sql.call("max", value.copy()), expression=sql.call("min", value.copy()))


def rounded_mean(name: str, value: sql.Expr) -> Aggregate:
    """The mean, rounded to a small part of the column's range; 0 without values."""
    mean, grid = sql.call("avg", value.copy()), _grid(value)
    steps = sql.call("round", exp.Div(this=mean, expression=grid))
    rounded = exp.Mul(this=steps, expression=grid.copy())
    whole = sql.call("coalesce", rounded, mean.copy(), sql.number(0))
    return aggregates.of_range(name, whole, value, aggregates.to_grid)


def spread(name: str, value: sql.Expr) -> Aggregate:
    """About a quarter of a column's range, as a power of 2."""
    whole = exp.Mul(this=_grid(value), expression=sql.number(4096))
    return aggregates.of_range(name, whole, value, aggregates.quarter_of_range)
