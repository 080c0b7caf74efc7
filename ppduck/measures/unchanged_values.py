"""unchanged_values(): how many values of a release are those of their original, beyond what chance makes equal.

Numbers are counted that are exactly what they were, and those that are so to six digits; the largest and the smallest
hundredth of the originals by themselves as well, as they are what is sought first. What chance makes equal is counted
in the same data: see ``kernels.unchanged``. Of categories a share a is equal, and would be e = Σ p(v)·q(v) if masked
ones were dealt out at random; the excess (a - e)/(1 - e) is Cohen's κ. Each column is looked at by itself, so that a
NULL elsewhere hides nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels import unchanged
from ppduck.kernels.prediction import CHANCE, ROUNDING
from ppduck.libraries import stats
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import HASH, PAIRS, PIECES, Pairs, PairSpec, Told, unnested
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array, one_below_the_other

NAME = "unchanged_values"
MEANING = "values that are their originals, exactly or to six digits, and what chance allows; lower is safer"
RESULTS = (
    Result("column_name", "VARCHAR", "a column"),
    Result("passed", "BOOLEAN", "whether no more are equal than chance allows; NULL without pairs"),
    Result("unchanged", "BIGINT", "how many values are equal to their original"),
    Result("at_most", "DOUBLE", "how many may be, by chance"),
    Result("near", "BIGINT", "of numbers, how many are equal to six digits"),
    Result("near_at_most", "DOUBLE", "how many may be, by chance"),
    Result("tail", "BIGINT", "the same of the largest or the smallest hundredth, whichever has more beyond chance"),
    Result("tail_at_most", "DOUBLE", "how many may be there"),
    Result("excess", "DOUBLE", "the share of values left as they were, beyond what chance makes equal: Cohen's kappa"),
    Result("copied", "DOUBLE", "the same of numbers that are as they were to four digits"),
    Result("share", "DOUBLE", "the share left as they were"),
    Result("chance_share", "DOUBLE", "the share that chance makes equal"),
    Result("rows", "BIGINT", "the pairs in which neither value is NULL"),
    Result("left_out", "BIGINT", "the pairs in which one is"),
    Result("meaning", "VARCHAR", "the figures in words"),
)  # fmt: skip
SAMPLED = 10_000  # rows by whose quantiles zones are cut
CUTS, ASKED = "_pp_cuts", "_pp_zones_asked"
# What is counted of each number, in this order.
AGREED, IN_ZONES = ("same", "near", "wide"), ("", "_low", "_high")
ALL = ("rows", "repeat", "beside", "lowest", "highest")
COUNTED = (*ALL, *(f"{what}{zone}" for zone in IN_ZONES for what in AGREED))
ZONE_FIGURES = ("zone", "pairs", "same", "originals", "masked", "values", "met")
DECIMALS = 3
QUANTILES = {"low": 0.01, "quarter": 0.25, "middle": 0.5, "most": 0.75, "high": 0.99}


@frozen
class UnchangedTold(Told):
    """Counts of each number; figures of its zones, one list after the other, and their lengths; counts of categories:
    pairs, equal ones, and how many of all with all are equal.
    """

    counts: Array | None
    zones: Array | None
    lengths: Array | None
    categories: Array | None


def choose(columns: Compared, call: ComparedCall) -> None:
    columns.use_columns(call.conf, categories=True)


def answer(pairs: Pairs, call: ComparedCall) -> sql.Expr:
    q, c = range(len(pairs.columns.numbers)), range(len(pairs.columns.categories))
    statement = pairs.statement(materialized=True)
    rows = sql.table(PAIRS)
    if q:
        statement.step(CUTS, _cuts(q), materialized=True)
        rows = rows.cross(sql.table(CUTS))
    counts = {f"_pp_{what}{j}": value for j in q for what, value in _counts(j).items()}
    for j in c:
        a, b = sql.column(f"_pp_a{j}"), sql.column(f"_pp_b{j}")
        counts[f"_pp_both{j}"] = sql.only(aggregates.rows(), _both(a, b))
        counts[f"_pp_agree{j}"] = sql.only(aggregates.rows(), a.eq(b))
    pairs.aggregate(statement, counts, rows)
    sums = {name: sql.call("sum", sql.column(name)) for name in counts}
    totals = {name: sql.call("coalesce", each, sql.number(0)) for name, each in sums.items()}
    summed = sql.query(sql.columns(totals), sql.table(PIECES))
    statement.step("_pp_totals", summed, materialized=True)
    whole = sql.table("_pp_totals")
    if q:
        statement.step(ASKED, _asks(q), materialized=True)
    for j in q:
        whole = whole.cross(sql.derived(_zones(j), f"_pp_zones_of{j}"))
    for j in c:
        met = _met(f"_pp_a{j}", f"_pp_b{j}", f"_pp_met{j}")
        whole = whole.cross(sql.derived(met, f"_pp_met_of{j}"))
    names = [f"_pp_{what}{j}" for j in q for what in COUNTED]
    of_categories = [f"_pp_{what}{j}" for j in c for what in ("both", "agree", "met")]
    told = {
        "counts": sql.array(map(sql.column, names), "DOUBLE"),
        "zones": sql.flat(sql.column(f"_pp_zones{j}") for j in q),
        "lengths": sql.array((sql.call("len", sql.column(f"_pp_zones{j}")) for j in q), "DOUBLE"),
        "categories": sql.array(map(sql.column, of_categories), "DOUBLE"),
    }  # fmt: skip
    pairs.check(statement)
    made = sql.query(
        sql.columns({f"_pp_told_{name}": value for name, value in told.items()}), whole
    )
    answered = unnested(SOLVE, pairs.spec(PairSpec), told, sql.derived(made, "_pp_whole"), RESULTS)
    return statement.query(answered)


def _both(*values: sql.Expr) -> sql.Expr:
    found = sql.present(values)
    assert found is not None
    return found


def _cuts(q: range) -> sql.Expr:
    """Quantiles of the originals in some rows, the same in any order of rows: ends of the tails, middle and width."""
    some = sql.query(
        [sql.column(f"_pp_x{j}") for j in q],
        sql.table(PAIRS),
        order=[sql.column(HASH)],
        limit=sql.number(SAMPLED),
    )
    found: dict[str, sql.Expr] = {}
    for j in q:
        x = sql.column(f"_pp_x{j}")
        for name, share in QUANTILES.items():
            found[f"_pp_{name}{j}"] = sql.call("quantile_disc", x.copy(), sql.number(share))
    cuts = sql.query(sql.columns(found), sql.derived(some, "_pp_some"))
    ends = {
        f"_pp_{end}_{side}{j}": sql.call(end, sql.column(f"_pp_{side}{j}"))
        for j in q
        for end in ("min", "max")
        for side in ("x", "y")
    }
    both = sql.derived(sql.query(sql.columns(ends), sql.table(PAIRS)), "_pp_ends")
    return sql.query([exp.Star()], sql.derived(cuts, "_pp_quantiles").cross(both))


def _counts(j: int) -> dict[str, sql.Expr]:
    x, y = sql.column(f"_pp_x{j}"), sql.column(f"_pp_y{j}")
    # Digits of what tells rows apart: of values far from 0 that lie close together, those of their spread.
    spread = sql.column(f"_pp_most{j}") - sql.column(f"_pp_quarter{j}")
    ten = sql.number(10) * sql.call("nullif", spread, sql.number(0))
    apart, size = sql.call("abs", x - y), sql.call("least", sql.call("abs", x.copy()), ten)
    agree = {
        "same": x.eq(y),
        "near": apart <= sql.number(unchanged.NEAR) * size,
        "wide": apart.copy() <= sql.number(unchanged.WIDE) * size.copy(),
    }
    zones = {
        "": None,
        "_low": x <= sql.column(f"_pp_low{j}"),
        "_high": (x >= sql.column(f"_pp_high{j}")) & (x > sql.column(f"_pp_low{j}")),
    }
    few = sql.call("round", y.copy(), sql.number(DECIMALS)).eq(y.copy())
    found = {
        "rows": sql.only(aggregates.rows(), _both(x, y)),
        "repeat": sql.only(aggregates.rows(), few),
        "beside": sql.only(aggregates.rows(), apart.copy().eq(sql.number(1))),
    }
    for name, end in _ends(j).items():
        found[name] = sql.only(aggregates.rows(), x.eq(y) & end)
    for zone, inside in zones.items():
        for what, condition in agree.items():
            where = condition.copy() if inside is None else condition.copy() & inside.copy()
            found[f"{what}{zone}"] = sql.only(aggregates.rows(), where)
    return found


def _ends(j: int) -> dict[str, sql.Expr]:
    """Whether an original is the least or the largest, where no masked value is beyond either."""
    x = sql.column(f"_pp_x{j}")
    least, least_y, most, most_y = (
        sql.column(f"_pp_{end}_{side}{j}") for end in ("min", "max") for side in ("x", "y")
    )
    within = (least_y >= least) & (most_y <= most)
    return {
        "lowest": x.eq(least.copy()) & within,
        "highest": x.copy().eq(most.copy()) & within.copy(),
    }


def _asks(q: range) -> sql.Expr:
    """Whether values are equal, or near ones are more than their size explains: only then are zones counted."""
    share = sql.number(unchanged.WIDE / unchanged.NEAR - 1)
    found = {}
    for j in q:
        asks: list[sql.Expr] = [sql.column(f"_pp_same{j}") > sql.number(0)]
        for zone in ("", "_low", "_high"):
            near, wide = (sql.column(f"_pp_{what}{zone}{j}") for what in ("near", "wide"))
            by_size = (wide - near) / share.copy()
            asks.append(near > by_size + sql.number(3) * sql.call("sqrt", by_size.copy()))
        found[f"_pp_asked{j}"] = exp.or_(*asks, copy=False)
    return sql.query(sql.columns(found), sql.table("_pp_totals"))


def _zone(value: sql.Expr, j: int) -> sql.Expr:
    """By size: narrow near the middle, wider beyond, and the tails apart."""
    low, high, middle, quarter, most = (
        sql.column(f"_pp_{name}{j}") for name in ("low", "high", "middle", "quarter", "most")
    )
    width = sql.call("nullif", most - quarter, sql.number(0))
    spread = sql.call(
        "coalesce", width, sql.call("nullif", high - low, sql.number(0)), sql.number(1)
    )
    scaled = sql.call("asinh", sql.number(4) * (value.copy() - middle) / spread)
    return sql.cases(
        (value.copy() <= low.copy(), sql.number(unchanged.LOW)),
        (value.copy() >= high.copy(), sql.number(unchanged.HIGH)),
        otherwise=sql.cast(sql.call("floor", sql.number(8) * scaled), "BIGINT"),
    )


def _zones(j: int) -> sql.Expr:
    """Figures of all zones of a number as one list, ZONE_FIGURES one after the other; none if nobody asks."""
    x, y = sql.column(f"_pp_x{j}"), sql.column(f"_pp_y{j}")
    rows = sql.table(PAIRS).cross(sql.table(CUTS)).cross(sql.table(ASKED))
    asked = sql.column(f"_pp_asked{j}") & _both(x, y)
    one, nothing = sql.number(1), sql.cast(sql.null(), "INTEGER")
    sides = [
        {"_pp_value": x, "_pp_zone": _zone(x, j), "_pp_before": one, "_pp_after": nothing},
        {"_pp_value": y, "_pp_zone": _zone(y, j), "_pp_before": nothing.copy(), "_pp_after": one.copy()},
    ]  # fmt: skip
    both = sql.union_all([sql.query(sql.columns(side), rows, where=asked.copy()) for side in sides])
    zone = sql.column("_pp_zone")
    times = {name: sql.call("count", sql.column(name)) for name in ("_pp_before", "_pp_after")}
    each = sql.query(
        [zone, *sql.columns(times)],
        sql.derived(both, "_pp_both"),
        group=[zone.copy(), sql.column("_pp_value")],
    )
    before, after = (sql.double(sql.column(name)) for name in times)
    totals = {
        "originals": sql.call("sum", before),
        "masked": sql.call("sum", after),
        "values": aggregates.rows(),
        "met": sql.call("sum", before.copy() * after.copy()),
    }
    values = sql.query(
        [zone.copy(), *sql.columns(totals)], sql.derived(each, "_pp_times"), group=[zone.copy()]
    )
    same_zone = asked.copy() & sql.equal(_zone(x, j), _zone(y, j))
    counted = {
        "_pp_zone": _zone(x, j),
        "pairs": aggregates.rows(),
        "same": sql.only(aggregates.rows(), x.eq(y)),
    }
    joint = sql.query(sql.columns(counted), rows, where=same_zone, group=[_zone(x, j)])
    joined = sql.derived(values, "_pp_values").using(
        sql.derived(joint, "_pp_joint"), ["_pp_zone"], outer=True
    )
    lists = [
        sql.in_order(
            "list",
            sql.double(sql.call("coalesce", sql.column(f"_pp_{name}" if name == "zone" else name), sql.number(0))),
            [zone.copy()],
        )
        for name in ZONE_FIGURES
    ]  # fmt: skip
    return sql.query([sql.named(sql.flat(lists), f"_pp_zones{j}")], joined)


def _met(before: str, after: str, to: str) -> sql.Expr:
    """Σ p(v)·q(v) over the values of both sides, in pairs: how many of all with all are equal."""
    one, nothing = sql.number(1), sql.cast(sql.null(), "INTEGER")
    present = _both(sql.column(before), sql.column(after))
    sides = [
        {"_pp_value": sql.column(before), "_pp_before": one, "_pp_after": nothing},
        {"_pp_value": sql.column(after), "_pp_before": nothing.copy(), "_pp_after": one.copy()},
    ]
    both = sql.union_all(
        [sql.query(sql.columns(side), sql.table(PAIRS), where=present.copy()) for side in sides]
    )
    times = {name: sql.call("count", sql.column(name)) for name in ("_pp_before", "_pp_after")}
    each = sql.query(
        sql.columns(times), sql.derived(both, "_pp_both"), group=[sql.column("_pp_value")]
    )
    met = sql.call("sum", sql.double(sql.column("_pp_before")) * sql.column("_pp_after"))
    total = sql.call("coalesce", met, sql.number(0))
    return sql.query([sql.named(total, to)], sql.derived(each, "_pp_times"))


def solve(spec: PairSpec, told: UnchangedTold) -> list[dict[str, Any]]:
    counts = one_below_the_other(told.counts, len(spec.columns))
    lengths = np.nan_to_num(told.lengths) if told.lengths is not None else np.zeros(len(counts))
    flat = told.zones if told.zones is not None else np.empty(0)
    parts = np.split(flat, np.cumsum(lengths).astype(int)[:-1]) if len(counts) else []
    found = []
    for name, row, zones in zip(spec.columns, counts, parts, strict=True):
        found.append(_number(name, row, zones, told.pairs))
    for name, row in zip(
        spec.categories, one_below_the_other(told.categories, len(spec.categories)), strict=True
    ):
        n, same, met = row.tolist()
        found.append(_category(name, n, same, met, told.pairs))
    return found


def _number(name: str, row: Array, zones: Array, pairs: int) -> dict[str, Any]:
    of = dict(zip(COUNTED, row.tolist(), strict=True))
    n = of["rows"]
    whole, low, high = (
        unchanged.Agreement(*(int(of[f"{what}{zone}"]) for what in ("same", "near", "wide")))
        for zone in ("", "_low", "_high")
    )
    parted = unchanged.Zones(*zones.reshape(len(ZONE_FIGURES), -1)) if len(zones) else None
    found = unchanged.judged(
        whole,
        [low, high],
        parted,
        repeat=of["repeat"] > n / 2,
        beside=of["beside"],
        ends=(of["lowest"] > 0, of["highest"] > 0),
    )
    expected = min(found.expected, n)
    excess, copied = (
        (count - expected) / (n - expected) if n > expected else 0.0
        for count in (whole.same, max(whole.wide, whole.same))
    )
    passed = (
        whole.same <= found.most_same
        and whole.near <= found.most_near
        and found.tail <= found.most_in_tail
    )
    return {
        **_figures(name, n, whole.same, pairs),
        "passed": passed if n else None,
        "at_most": found.most_same,
        "near": whole.near,
        "near_at_most": found.most_near,
        "tail": found.tail,
        "tail_at_most": found.most_in_tail,
        "excess": max(excess, 0.0) if n else None,
        "copied": max(copied, 0.0) if n else None,
        "chance_share": expected / n if n else None,
    }


def _category(name: str, n: float, same: float, met: float, pairs: int) -> dict[str, Any]:
    """What is equal without fail tells nothing: where chance makes all equal there is no excess."""
    chance = met / n / n if n else 0.0
    excess = (same / n - chance) / (1 - chance) if n and chance < 1 else 0.0
    spread = float(stats.norm.isf(CHANCE)) * np.sqrt(chance * (1 - chance) / n) if n else 0.0
    most = n * (chance + spread) + ROUNDING
    return {
        **_figures(name, n, same, pairs),
        "passed": bool(same <= most) if n else None,
        "at_most": most,
        "excess": excess if n else None,
        "copied": excess if n else None,
        "chance_share": chance if n else None,
    }


def _figures(name: str, n: float, same: float, pairs: int) -> dict[str, Any]:
    return {
        "column_name": name,
        "unchanged": int(same),
        "share": same / n if n else None,
        "rows": int(n),
        "left_out": pairs - int(n),
        "meaning": MEANING,
    }


SOLVE = told_udf("ppduck_unchanged_values", solve, PairSpec, UnchangedTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        ComparedCall,
        "How many values of each column are their originals, beyond what chance makes equal; NULLs hide nothing.",
        "Cohen 1960, for the excess",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM unchanged_values('customers', 'released', conf=['x1','x2'], key='id')",
        udfs=(SOLVE,),
    )
)
