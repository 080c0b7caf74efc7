"""Rows that stand apart, judged as the masks judge them (``runtime.dominance``): from which share of a column's sum of
squares on a release tells the size of a single row.

A row that makes up most of the variance of a conf column can be read from a release that keeps the variance, or that
leaves it where it was; dealing out values anew (shuffling, swapping) tells that there is such a value, and not whose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ppduck.gate.rules import Row
from ppduck.pairs.rows import Pairs, PairSpec
from ppduck.query import tree as sql
from ppduck.runtime.dominance import REFUSED
from ppduck.values import Array

GATHERED = "_pp_apart"
OF_FEATURE = ("n", "mean", "variance", "least", "most")
AFTER = ("mean_after", "variance_after", "least_after", "most_after")
OF_CONF = (*OF_FEATURE, "at_least", "at_most", *AFTER)
SAME = 1e-6  # share by which a variance may differ that is kept
FEWEST = 3


def gathered(pairs: Pairs) -> dict[str, sql.Expr]:
    """Aggregates of the pairs, as one list."""
    found: list[sql.Expr] = []
    for j in range(len(pairs.columns.numbers)):
        x, y = sql.column(f"_pp_x{j}"), sql.column(f"_pp_y{j}")
        found += [*_moments(x), _at("arg_min", y, x), _at("arg_max", y, x), *_moments(y)[1:]]
    for i in range(len(pairs.columns.features)):
        found += _moments(sql.column(f"_pp_s{i}"))
    return {GATHERED: sql.array(found, "DOUBLE")}


def _at(function: str, value: sql.Expr, by: sql.Expr) -> sql.Expr:
    return sql.call(function, value.copy(), by.copy())


def _moments(value: sql.Expr) -> list[sql.Expr]:
    names = ("count", "avg", "var_pop", "min", "max")
    # A value whose square is too large to sum up is looked at elsewhere.
    finite = sql.cases((sql.call("abs", value.copy()) < sql.number(1e150), value.copy()))
    return [sql.call(name, finite.copy()) for name in names]


def rows(spec: PairSpec, told: Array | None) -> Iterator[Row]:
    values = np.empty(0) if told is None else told
    q, p = len(spec.columns), len(spec.features)
    if len(values) != q * len(OF_CONF) + p * len(OF_FEATURE):
        return
    of_conf = values[: q * len(OF_CONF)].reshape(q, len(OF_CONF))
    for name, row in zip(spec.columns, of_conf, strict=True):
        yield _of_conf(name, dict(zip(OF_CONF, row.tolist(), strict=True)))
    of_features = values[q * len(OF_CONF) :].reshape(p, len(OF_FEATURE))
    for name, row in zip(spec.features, of_features if q else [], strict=False):
        of = dict(zip(OF_FEATURE, row.tolist(), strict=True))
        share = _share(of["n"], of["mean"], of["variance"], of["least"], of["most"])
        why = (
            "share of a single row in the variance of a nonconf column: a mask that keeps relations to it would leave "
            "that row as it was; merge rare levels or cut extreme values"
        )
        yield Row("leverage", name, share, REFUSED, why)


def _share(n: float, mean: float, variance: float, least: float, most: float) -> float:
    """The largest squared distance from the mean, as a share of all of them."""
    if not n >= FEWEST or not variance > 0:
        return 0.0
    return min(max(mean - least, most - mean) ** 2 / (n * variance), 1.0)


def _of_conf(name: str, of: dict[str, float]) -> Row:
    share = _share(of["n"], of["mean"], of["variance"], of["least"], of["most"])
    top = of["most"] - of["mean"] >= of["mean"] - of["least"]
    after = of["at_most"] if top else of["at_least"]
    reached = of["most_after"] if top else of["least_after"]
    stays = after == reached
    dealt = of["least"] == of["least_after"] and of["most"] == of["most_after"]
    kept = abs(of["variance_after"] - of["variance"]) <= SAME * of["variance"]
    told = stays or (kept and not dealt)
    why = (
        "share of a single row in the variance of the column, whose size the release tells; cut extreme values (top "
        "coding), or leave the row out"
    )
    return Row("dominance", name, share if told else 0.0, REFUSED, why)
