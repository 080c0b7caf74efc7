"""unchanged_values(): how many values of a release are those of their original, beyond what chance makes equal.

Of the pairs in which neither is NULL, a share a is equal; if the masked values were dealt out at random it would be
e = Σ p(v)·q(v) over the values v of both sides. The excess (a - e)/(1 - e), Cohen's κ, is 0 for a release that has
nothing to do with its original and 1 for a copy, however few values a column has. Each column is looked at by itself,
so that a NULL elsewhere hides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.call.registry import Kind, Result, register
from ppduck.kernels.prediction import CHANCE, ROUNDING
from ppduck.libraries import stats
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.moments import any_of
from ppduck.pairs.one_to_one import CHECK, MATCHED
from ppduck.pairs.rows import PAIRS, PIECES, Pairs
from ppduck.query import aggregates
from ppduck.query import tree as sql

NAME = "unchanged_values"
Compare = tuple[str, str, str]  # a column's name, and what it is called before and after
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
    of = pairs.columns
    compared = [(column.name, f"_pp_x{j}", f"_pp_y{j}") for j, column in enumerate(of.numbers)]
    compared += [(column.name, f"_pp_a{j}", f"_pp_b{j}") for j, column in enumerate(of.categories)]
    statement = pairs.statement(materialized=True)
    pairs.aggregate(statement, _counts(compared))
    pairs.check(statement)
    figures = sql.derived(_figures(compared), "_pp_figures")
    judged = sql.query([exp.Star(), *sql.columns(_judgement())], figures)
    passed = {
        "passed": sql.column("excess") <= sql.column("tolerance"),
        "meaning": sql.text(MEANING),
    }
    columns = {result.name: passed.get(result.name, sql.column(result.name)) for result in RESULTS}
    return statement.query(
        sql.query(
            sql.columns(columns), sql.derived(judged, "_pp_judged"), order=[sql.column("_pp_place")]
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


def _counts(compared: Sequence[Compare]) -> dict[str, sql.Expr]:
    """Of each column the pairs in which neither value is NULL, and those in which both are equal."""
    found: dict[str, sql.Expr] = {}
    for place, (_, before, after) in enumerate(compared):
        x, y = sql.column(before), sql.column(after)
        both = sql.present([x, y])
        assert both is not None
        found[f"_pp_rows{place}"] = sql.only(aggregates.rows(), both)
        found[f"_pp_same{place}"] = sql.only(aggregates.rows(), x.eq(y))
    return found


def _figures(compared: Sequence[Compare]) -> sql.Expr:
    """The figures of each column, one below the other; NULL where no pair has both values."""

    def of_each(name: str) -> sql.Expr:
        totals = (
            sql.call("coalesce", sql.call("sum", sql.column(f"{name}{place}")), sql.number(0))
            for place in range(len(compared))
        )
        return sql.array(totals, "BIGINT")

    met = [f"_pp_met{place}" for place in range(len(compared))]
    rows = sql.table(PIECES)
    for name, (_, before, after) in zip(met, compared, strict=True):
        rows = rows.cross(sql.derived(_met(before, after, name), f"{name}_of_all"))
    lists = {
        "_pp_place": sql.array(map(sql.number, range(len(compared))), "BIGINT"),
        "column_name": sql.texts(name for name, *_ in compared),
        "unchanged": of_each("_pp_same"),
        "rows": of_each("_pp_rows"),
        "_pp_met": sql.array(map(any_of, met), "DOUBLE"),
    }
    each = {name: sql.call("unnest", values) for name, values in lists.items()}
    columns = sql.derived(sql.query(sql.columns(each), rows), "_pp_columns")
    n, same, met_by_chance = map(sql.column, ("rows", "unchanged", "_pp_met"))
    some = sql.call("nullif", n, sql.number(0))
    figures = {
        "share": same / some,
        "chance_share": met_by_chance / some / some,
        "left_out": sql.column(MATCHED) - n,
    }
    return sql.query([exp.Star(), *sql.columns(figures)], columns.cross(sql.table(CHECK)))


def _met(before: str, after: str, to: str) -> sql.Expr:
    """Σ p(v)·q(v) over the values of both sides, in pairs: how many of all with all are equal."""
    one, nothing = sql.number(1), sql.cast(sql.null(), "INTEGER")
    present = sql.present([sql.column(before), sql.column(after)])
    assert present is not None
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
