"""The learnt E(X|S) inside a statement: a sample trains a model, and every row is evaluated by it.

SQL carries a model as a number, a digest of what it was trained on; the models themselves are kept here, as many as
statements under way may need.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from ppduck.call.linear_mask import LinearMask
from ppduck.call.roles import Roles, numeric
from ppduck.call.udf import Udf
from ppduck.errors import Faults, PpduckError
from ppduck.kernels.relation import Relation, fit
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages.narrow import NarrowFrame, in_sample, sample
from ppduck.values import Array

LEARN, EVALUATE = "ppduck_learn", "ppduck_evaluate"
FEWEST_ROWS = 30
TRAINED = "_pp_model"
_MOST_MODELS = 4096

_models: OrderedDict[int, Relation] = OrderedDict()
_lock = threading.Lock()


class RelationFrame(NarrowFrame):
    """Writes a statement whose form has the columns S, û(S) and products of û and X for its noise to be free of.

    Variants may add steps. ``inputs`` are what the model reads: numbers from their centre, and an
    indicator of every level of a category.
    """

    sample_size = 20_000

    def __init__(self, mask: LinearMask, roles: Roles, given: dict[str, Any], *, keep_noise: bool = True) -> None:
        super().__init__(mask, roles, given, keep_noise=keep_noise)
        self.own_p = self.p
        self.indicators: list[bool] = []
        self.inputs: list[sql.Expr] = []
        self.input_columns: list[str] = []
        self._read_inputs()
        names = [column.name for column in roles.conf]
        fitted = [f"_pp_u{j}" for j in range(self.q)]
        self.products = [f"_pp_t{j}" for j in range(3 * self.q)]
        self.labels = [
            *self.labels,
            *(f"E({name} | nonconf)" for name in names),
            *(f"square or product of {name}" for name in names for _ in range(3)),
        ]
        own, conf = self.values[: self.p], self.values[self.p :]
        self.values = [*own, *(sql.column(name) for name in [*fitted, *self.products]), *conf]
        self.p = len(self.labels)
        self.explaining = self.own_p + self.q  # S and û

    def _read_inputs(self) -> None:
        """In the order of the columns; the planner's features leave out a first level, a distance needs it too."""
        roles = self.roles
        # Of a boolean with an indicator of NULL, the first is its value.
        features = {feature.column: (i, feature) for i, feature in reversed(list(enumerate(roles.features)))}
        for name in roles.nonconf:
            i, feature = features[name]
            if name in roles.levels:
                text = sql.cast(sql.column(name), "VARCHAR")
                for level in roles.levels[name]:
                    same = sql.double(exp.EQ(this=text.copy(), expression=sql.text(level)))
                    self.inputs.append(sql.call("coalesce", same, sql.number(0.0)))
                    self.indicators.append(True)
                    self.input_columns.append(name)
            else:
                deviation = sql.minus(feature.value.copy(), sql.column(f"_pp_m{i}", "_pp_first"))
                self.inputs.append(sql.call("coalesce", deviation, sql.number(0.0)))
                column = roles.source.find(name)
                self.indicators.append(column is not None and column.is_boolean)
                self.input_columns.append(name)
            if name in roles.null_levels:
                self.inputs.append(sql.double(sql.column(name).is_(exp.null())))
                self.indicators.append(True)
                self.input_columns.append(name)

    def specification(self) -> str:
        """With what the model reads: whether each input is an indicator, and of which column it is."""
        more = {"indicators": self.indicators, "inputs": self.input_columns}
        return json.dumps(json.loads(super().specification()) | more, sort_keys=True)

    def _centres(self) -> list[sql.Expr]:
        """û is learnt from deviations, so it lies about 0 as they do; a spread gives the products a scale.

        Sums depend on the order of rows in their last digits, and a model might magnify these. Centres
        are therefore rounded, to a small part of the column's range.
        """
        found = super()._centres()
        for i in range(self.own_p, self.p):
            found[i] = sql.named(sql.number(0.0), self.centres[i])
        spreads = []
        for i in (*range(self.own_p), *range(self.p, self.p + self.q)):
            value = sql.render(self.values[i])
            span = f"nullif(max({value}) - min({value}), 0)"
            grid = f"pow(2.0::DOUBLE, floor(log2(CASE WHEN isfinite({span}) THEN {span} END)) - 14)"
            rounded = f"coalesce(round(avg({value}) / {grid}) * {grid}, avg({value}), 0)"
            found[i] = sql.named(sql.raw(rounded), self.centres[i])
            if i >= self.p:
                spreads.append(sql.named(sql.raw(f"{grid} * 4096"), f"_pp_sd{i - self.p}"))
        return [*found, *spreads]

    def _x_deviation(self, j: int) -> sql.Expr:
        return sql.minus(numeric(self.roles.conf[j]), sql.column(self.centres[self.p + j], "_pp_first"))

    def _where_complete(self, value: sql.Expr) -> sql.Expr:
        """X has a part in the noise only, and there in rows that the moments know: in others it would only show."""
        complete = [sql.column(column.name).is_(exp.null()).not_() for column in self.roles.conf]
        return exp.Case().when(exp.and_(*complete), value).else_(sql.number(0.0))

    def _x_terms(self) -> list[sql.Expr]:
        return [self._where_complete(sql.column(name)) for name in self.deviations[self.p :]]

    def _prepare(self, statement: sql.Statement) -> None:
        self._sample(statement)
        self._learn(statement)
        self._evaluate(statement)

    def _evaluate(self, statement: sql.Statement) -> None:
        """The narrow table: every row with û, and with the products that noise is to be free of."""
        narrow = [sql.column(name, "_pp_source") for name in [*self._own_columns(), "_pp_key", ranks.ROW]]
        evaluated = sql.call(EVALUATE, sql.column(TRAINED, "_pp_models"), sql.array(self.inputs, "DOUBLE"))
        source = sql.joined('"_pp_source"', '"_pp_first"', self._matching("_pp_source"))
        models = sql.joined(source, '"_pp_models"', self._matching("_pp_source", "_pp_models"))
        scaled = [
            sql.named(
                exp.Div(
                    this=self._where_complete(self._x_deviation(j)),
                    expression=sql.column(f"_pp_sd{j}", "_pp_first"),
                ),
                f"_pp_xs{j}",
            )
            for j in range(self.q)
        ]
        spreads = [sql.column(f"_pp_sd{j}", "_pp_first") for j in range(self.q)]
        rows = sql.select([*narrow, *scaled, *spreads, sql.named(evaluated, "_pp_f")], models)
        fitted = [
            sql.named(sql.call("list_extract", sql.column("_pp_f"), sql.number(j + 1)), f"_pp_u{j}")
            for j in range(self.q)
        ]
        own = sql.star("_pp_evaluated", ["_pp_f"])
        rows = sql.select([own, *fitted], f'({rows}) AS "_pp_evaluated"')
        products = []
        for j in range(self.q):
            x = sql.column(f"_pp_xs{j}")
            u = exp.paren(exp.Div(this=sql.column(f"_pp_u{j}"), expression=sql.column(f"_pp_sd{j}")))
            pairs = ((u, u), (u, x), (x, x))
            products += [sql.named(sql.product(*pair), f"_pp_t{3 * j + k}") for k, pair in enumerate(pairs)]
        helpers = [f"_pp_{kind}{j}" for kind in ("xs", "sd") for j in range(self.q)]
        scaled_rows = f'({rows}) AS "_pp_scaled"'
        # Evaluating is the dearest step, so it is done once.
        statement.step(
            self.rows, sql.select([sql.star("_pp_scaled", helpers), *products], scaled_rows), materialized=True
        )

    def _sample(self, statement: sql.Statement) -> None:
        """Rows of each group that its model is trained on: inputs, and deviations of conf."""
        # DuckDB leaves out what nothing reads: asking for the tweak makes it run the checks of the first look.
        needed = [*(sql.column(column.name) for column in self.roles.conf), sql.column("_pp_tweak", "_pp_first")]
        values = [*self.inputs, *(self._x_deviation(j) for j in range(self.q))]
        source = sql.joined('"_pp_source"', '"_pp_first"', self._matching("_pp_source"))
        group = [sql.column(alias, "_pp_first") for alias in self.by]
        columns = [*group, sql.named(sample(values), "_pp_sample")]
        where = exp.and_(sql.present(needed), in_sample())
        rows = sql.select(columns, source, where=where, group=group)
        statement.step("_pp_training", rows, materialized=True)

    def _learn(self, statement: sql.Statement) -> None:
        learnt = sql.call(LEARN, sql.text(self.specification()), self._label(self.by), sql.column("_pp_sample"))
        own = [sql.column(alias) for alias in self.by]
        rows = sql.select([*own, sql.named(learnt, TRAINED)], '"_pp_training"')
        statement.step("_pp_models", rows, materialized=True)


def training_rows(spec: dict[str, Any], flat: Array | None) -> tuple[Array, Array]:
    """(inputs, deviations of conf) of a sample."""
    size = len(spec["indicators"])
    rows = np.empty((0, size + len(spec["conf"]))) if flat is None else flat.reshape(-1, size + len(spec["conf"]))
    return rows[:, :size], rows[:, size:]


def learn(specification: str, group: str | None, flat: Array | None) -> int:
    """Trains a model on a sample; its digest stands for it."""
    spec = json.loads(specification)
    where = f" in the group {group}" if group else ""
    s, x = training_rows(spec, flat)
    if len(s) < FEWEST_ROWS:
        raise Faults(spec["function"], spec["table"]).refuse(
            f"{len(s)} complete rows{where} are too few to learn a relation from; at least {FEWEST_ROWS} are needed. "
            "Use egadp_mask for so few rows" + (", or merge small groups." if group else ".")
        )
    digest = hashlib.sha256(json.dumps(spec["indicators"]).encode())
    digest.update(np.ascontiguousarray(flat).tobytes())
    token = int.from_bytes(digest.digest()[:8], "little")
    with _lock:
        model = _models.get(token)
        if model is not None:
            _models.move_to_end(token)
    if model is None:
        model = fit(s, x, indicators=np.array(spec["indicators"], dtype=bool))
        with _lock:
            _models[token] = model
            while len(_models) > _MOST_MODELS:
                _models.popitem(last=False)
    return token


def model_of(token: int) -> Relation:
    with _lock:
        found = _models.get(token)
    if found is None:
        raise PpduckError(f"ppduck: more than {_MOST_MODELS} models are in use at once; mask fewer groups at a time.")
    return found


def evaluate(tokens: Any, inputs: Any) -> pa.Array:
    """û of every row, by the model of its group."""
    rows = inputs.combine_chunks() if isinstance(inputs, pa.ChunkedArray) else inputs
    models = np.asarray(tokens.to_numpy())
    s = rows.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)
    found: Array | None = None
    for token in np.unique(models):
        mine = models == token
        predicted = model_of(int(token)).predict(s[mine])
        if found is None:
            found = np.empty((len(s), predicted.shape[1]))
        found[mine] = predicted
    if found is None:
        return pa.array([], type=pa.list_(pa.float64()))
    offsets = np.arange(len(s) + 1, dtype=np.int32) * found.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(found.reshape(-1)))


UDFS = (
    Udf(LEARN, learn, ("VARCHAR", "VARCHAR", "DOUBLE[]"), "UBIGINT"),
    Udf(EVALUATE, evaluate, ("UBIGINT", "DOUBLE[]"), "DOUBLE[]", by="batches"),
)
