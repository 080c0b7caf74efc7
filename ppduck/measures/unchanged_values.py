"""unchanged_values(): how many values of a release are those of their original, beyond what chance makes equal.

Of the pairs in which neither is NULL, a share a is equal; if the masked values were dealt out at random it would be
e = Σ p(v)·q(v) over the values v of both sides. The excess (a - e)/(1 - e), Cohen's κ, is 0 for a release that has
nothing to do with its original and 1 for a copy, however few values a column has. Each column is looked at by itself,
so that a NULL elsewhere hides nothing.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.call.registry import Kind, Result, register
from ppduck.kernels.prediction import CHANCE, ROUNDING
from ppduck.libraries import stats
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.rows import CHECK, MATCHED, PAIRS, Pairs, named
from ppduck.query import aggregates
from ppduck.query import tree as sql

NAME = "unchanged_values"
MEANING = "values equal to their original; excess, what chance does not explain, should be 0; lower is safer"
RESULTS = (
    Result("column_name", "VARCHAR", "a column"),
    Result(
        "passed",
        "BOOLEAN",
        "whether the excess is within its tolerance; NULL where no pair has both values",
    ),
    Result(
        "excess",
        "DOUBLE",
        "the share of values left as they were, beyond what chance makes equal: Cohen's kappa",
    ),
    Result("tolerance", "DOUBLE", "what chance makes of so many rows"),
    Result("unchanged", "BIGINT", "how many values are equal to their original"),
    Result("share", "DOUBLE", "the same as a share"),
    Result(
        "chance_share",
        "DOUBLE",
        "the share that would be equal if masked values were dealt out at random",
    ),
    Result("rows", "BIGINT", "the pairs in which neither value is NULL"),
    Result("left_out", "BIGINT", "the pairs in which one is"),
    Result("meaning", "VARCHAR", "the figures in words"),
)


def choose(columns: Compared, call: ComparedCall) -> None:
    columns.use_columns(call.conf, categories=True)


def answer(pairs: Pairs, call: ComparedCall) -> sql.Expr:
    statement = pairs.statement(materialized=True)
    pairs.aggregate(statement, {})
    pairs.check(statement)
    of = pairs.columns
    compared = [(column.name, f"_pp_x{j}", f"_pp_y{j}") for j, column in enumerate(of.numbers)]
    compared += [(column.name, f"_pp_a{j}", f"_pp_b{j}") for j, column in enumerate(of.categories)]
    every = sql.union_all([_figures(place, *names) for place, names in enumerate(compared)])
    judged = sql.query([exp.Star(), *named(_judgement())], sql.derived(every, "_pp_figures"))
    passed = {
        "passed": sql.column("excess") <= sql.column("tolerance"),
        "meaning": sql.text(MEANING),
    }
    columns = {result.name: passed.get(result.name, sql.column(result.name)) for result in RESULTS}
    return statement.query(
        sql.query(
            named(columns), sql.derived(judged, "_pp_judged"), order=[sql.column("_pp_place")]
        )
    )


def _judgement() -> dict[str, sql.Expr]:
    """What is equal without fail tells nothing: where chance makes all equal there is no excess."""
    share, chance, rows = (sql.column(name) for name in ("share", "chance_share", "rows"))
    left, some = sql.number(1) - chance, chance < sql.number(1)
    spread = sql.call("sqrt", chance / left / rows)
    allowed = sql.double(sql.number(float(stats.norm.isf(CHANCE)))) * spread
    zero = sql.number(0)
    return {
        "excess": sql.cases((some, (share - chance) / left), otherwise=zero),
        "tolerance": sql.cases((some.copy(), allowed), otherwise=zero.copy())
        + sql.double(sql.number(ROUNDING)),
    }


def _figures(place: int, name: str, before: str, after: str) -> sql.Expr:
    """The figures of one column; NULL where no pair has both values."""
    value, x, y = (sql.column(each) for each in ("_pp_value", before, after))
    both = sql.query([x, y], sql.table(PAIRS), where=sql.present([x, y]))
    sides = []
    for side, count in ((before, "_pp_times_before"), (after, "_pp_times_after")):
        own = {"_pp_value": sql.column(side), count: aggregates.rows()}
        times = sql.query(
            named(own), sql.derived(both.copy(), "_pp_both"), group=[sql.column(side)]
        )
        sides.append(sql.derived(times, f"{count}_of"))
    met = sql.double(sql.column("_pp_times_before")) * sql.column("_pp_times_after")
    by_chance = {"_pp_met": sql.call("coalesce", sql.call("sum", met), sql.number(0))}
    chance = sql.query(named(by_chance), sides[0].using(sides[1], [value.name]))
    counts = {"_pp_rows": aggregates.rows(), "_pp_same": sql.only(aggregates.rows(), x.eq(y))}
    counted = sql.query(named(counts), sql.derived(both.copy(), "_pp_both"))
    n, same = sql.column("_pp_rows"), sql.column("_pp_same")
    some = sql.call("nullif", n, sql.number(0))
    columns = {
        "_pp_place": sql.number(place),
        "column_name": sql.text(name),
        "unchanged": same,
        "share": same / some,
        "chance_share": sql.column("_pp_met") / some / some,
        "rows": n,
        "left_out": sql.column(MATCHED) - n,
    }
    rows = (
        sql.derived(counted, "_pp_counted")
        .cross(sql.derived(chance, "_pp_chance"))
        .cross(sql.table(CHECK))
    )
    return sql.query(named(columns), rows)


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
    )
)
