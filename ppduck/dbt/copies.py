"""Columns of a release that repeat a confidential one, which the rules of release_check do not look at.

They are those that the original does not have, and those that differ from the original's of the same name. Pairs are
matched by key. Such a column e tells a confidential x row by row where their values are equal beyond chance, by Cohen's
κ = (a - c)/(1 - c) of the share a of equal values and c, that of e with the x of another row; or where |r|, the
correlation of their ranks, is all but 1, as it is for any rising or falling function of x, such as x / 12 or ln x. What
is made of the masked column tells no more than that does, and is allowed: its own figures are limits too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from ppduck.dbt.requests import Types
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign
from ppduck.values import folded

RANKED = 0.99
# where equal values are rare by chance, and where a column has few of them
EQUAL, EQUAL_IF_FEW = (0.05, 0.9)
RARE = 0.01
FEWEST = 10  # rows: ranks of fewer agree by chance
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)", re.IGNORECASE)
PAIRS, ORDER = "_pp_pairs", "_pp_order"
SLACK = 1e-9


def copies(
    tables: tuple[str, str], columns: tuple[Types, Types], conf: Sequence[str], key: Sequence[str]
) -> sql.Expr | None:
    """The statement whose rows are the copies in (original, masked); None where nothing can be one."""
    original, masked = (
        {folded(name): (name, type_) for name, type_ in side.items()} for side in columns
    )
    if not all(folded(name) in side for name in key for side in (original, masked)):
        return None  # release_check says it
    used = {folded(name) for name in (*conf, *key)}
    secret = [name for name in conf if folded(name) in original]
    others = [name for name in masked if name not in used]
    arms = list(_arms(original, masked, secret, others))
    if not arms:
        return None
    before = [*map(folded, secret), *(name for name in others if name in original)]
    after = [*others, *(folded(name) for name in secret if folded(name) in masked)]
    told = {ORDER: sql.call("hash", *(sql.column(name, "o") for name in key))}
    told |= {f"_pp_o_{name}": sql.column(original[name][0], "o") for name in before}
    told |= {f"_pp_m_{name}": sql.column(masked[name][0], "m") for name in after}
    first, second = (
        sql.source(foreign(table), alias) for table, alias in zip(tables, "om", strict=True)
    )
    on = sql.every([sql.equal(sql.column(name, "o"), sql.column(name, "m")) for name in key])
    assert on is not None
    statement = sql.Statement()
    pairs = sql.query(sql.columns(told), first.join(second, on))
    statement.step(PAIRS, pairs, materialized=True)
    return sql.scalar(statement.query(sql.union_all(arms)))


def _arms(
    original: Mapping[str, tuple[str, str]],
    masked: Mapping[str, tuple[str, str]],
    secret: Sequence[str],
    others: Sequence[str],
) -> Iterator[sql.Expr]:
    for name in others:
        e = sql.column(f"_pp_m_{name}")
        before = sql.column(f"_pp_o_{name}")
        where = exp.NullSafeNEQ(this=e, expression=before) if name in original else None
        for confidential in secret:
            own = folded(confidential)
            x = sql.column(f"_pp_o_{own}")
            z = sql.column(f"_pp_m_{own}") if own in masked else sql.null()
            types = masked[name][1], original[own][1]
            told = f"copy: {masked[name][0]} repeats {confidential}"
            compared = _compared((e.copy(), x, z), types, where.copy() if where else None)
            yield _judged(told, compared)


def _compared(
    values: tuple[sql.Expr, sql.Expr, sql.Expr], types: tuple[str, str], where: sql.Expr | None
) -> sql.Expr:
    """e of the release, x confidential and z, x masked, in one type; the x of another row, and ranks."""
    e, x, z = values
    numbers = [_NUMBER.fullmatch(type_) is not None for type_ in types]
    if types[0] == "VARCHAR" and numbers[1]:
        e, numbers = sql.tried(e, "DOUBLE"), [True, True]
    common = "DOUBLE" if all(numbers) else "VARCHAR"
    own = {"e": e, "x": x, "z": z, ORDER: sql.column(ORDER)}
    both = sql.derived(sql.query(sql.columns(own), sql.table(PAIRS), where=where), "_pp_both")
    e, x, z, order = (sql.column(name, "_pp_both") for name in own)
    told = {"e": e, "x": x, "z": z}
    columns: dict[str, sql.Expr] = {name: sql.cast(each, common) for name, each in told.items()}
    columns["other"] = sql.over(sql.call("lag", sql.cast(x.copy(), common)), order=[order])
    columns |= {f"r{name}": sql.over(sql.call("rank"), order=[each]) for name, each in told.items()}
    return sql.query(sql.columns(columns), both, where=sql.present([e, x]))


def _judged(rule: str, compared: sql.Expr) -> sql.Expr:
    """The row of one pair of columns, where there is one."""
    e, x, z, other = map(sql.column, ("e", "x", "z", "other"))
    n = sql.double(aggregates.rows())
    counted = {
        "n": n,
        "met": sql.only(aggregates.rows(), e.eq(other)),
        "a": sql.only(aggregates.rows(), e.eq(x)) / n,
        "own_a": sql.only(aggregates.rows(), z.eq(x)) / n,
        "r": sql.cases((n >= sql.number(FEWEST), _strength("re"))),
        "own_r": _strength("rz"),
    }
    figures = sql.query(sql.columns(counted), sql.derived(compared, "_pp_compared"))
    n, met, a, own_a, r, own_r = map(sql.column, counted)
    # Of n rows without a single hit, the share may still be 3/n.
    rare = (met + 3) / (n + 3) < sql.number(RARE)
    equal = sql.cases((rare, sql.number(EQUAL)), otherwise=sql.number(EQUAL_IF_FEW))
    limits = {
        "kappa": _beyond_chance(a, met / n),
        "r": r,
        "most": sql.call("greatest", equal, _beyond_chance(own_a, met / n) + sql.number(SLACK)),
        "most_r": sql.call("greatest", sql.number(RANKED), own_r + sql.number(SLACK)),
    }
    rows = sql.query(sql.columns(limits), sql.derived(figures, "_pp_figures"), where=n > 0)
    kappa, r, most, most_r = map(sql.column, limits)
    are_equal, are_ranked = kappa > most, r > most_r

    def either(by_values: sql.Expr, by_ranks: sql.Expr) -> sql.Expr:
        return sql.cases((are_equal.copy(), by_values), otherwise=by_ranks)

    said = {
        "rule": sql.text(rule),
        "at_most": sql.double(either(most, most_r)),
        "value": sql.double(either(kappa, r)),
        "meaning": either(
            sql.text(
                "share of its values that are the confidential ones of their rows, beyond chance"
            ),
            sql.text("rank correlation with the confidential column, row by row"),
        ),
    }
    found = [sql.call("coalesce", each, exp.false()) for each in (are_equal, are_ranked)]
    return sql.query(
        sql.columns(said), sql.derived(rows, "_pp_judged"), where=exp.or_(*found, copy=False)
    )


def _beyond_chance(share: sql.Expr, by_chance: sql.Expr) -> sql.Expr:
    """Cohen's κ."""
    rest = sql.call("nullif", sql.number(1) - by_chance, sql.number(0))
    return (share - by_chance) / rest


def _strength(ranks: str) -> sql.Expr:
    """|r| with the ranks of x; that with a constant is no number, which would be above every limit."""
    found = sql.call("abs", sql.call("corr", sql.column(ranks), sql.column("rx")))
    return sql.call("nullif", found, sql.cast(sql.text("nan"), "DOUBLE"))
