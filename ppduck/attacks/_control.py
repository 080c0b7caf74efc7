"""Whether the control is other people than those of the original, counted over all rows and refused if not.

With people of the release in it every attack succeeds as often, and no gain shows: a false all-clear. Their keys may be
numbered anew, so that values decide, and keys only beside them.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.attacks._people import CONTROL, PERSON, Sides
from ppduck.call.spec import Spec
from ppduck.call.udf import told_types, told_udf
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels import strangers
from ppduck.kernels.strangers import PLACES, Others
from ppduck.pairs.one_to_one import CHECK, MATCHED, ORIGINAL
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.keys import told_apart

ADMITTED = "_pp_admitted"  # the step that refuses keys and control, and has the number of pairs
_VALUES, _TIMES, _OTHERS, _NOW = "_pp_values", "_pp_times", "_pp_others", "_pp_now"


@frozen
class ControlTold(Others):
    """What is counted, once keys were found to match."""

    pairs: int


def admit(sides: Sides, statement: sql.Statement) -> None:
    """The step that every answer reads: keys match, and the control is other people."""
    if sides.control is None:
        read = sql.query([sql.column(MATCHED)], sql.table(CHECK))
        statement.step(ADMITTED, read, materialized=False)
        return
    counts = sql.derived(_combinations(sides), "_pp_combinations")
    counts = counts.cross(sql.derived(_keys(sides), "_pp_shared_keys"))
    told = {name: sql.column(f"_pp_{name}") for name in told_types(Others)}
    told["pairs"] = sql.column(MATCHED)
    spec = Spec(sides.columns.function, sides.columns.original.label)
    asked = sql.named(STRANGERS.in_sql(spec, told), MATCHED)
    rows = sql.table(CHECK).cross(counts)
    statement.step(ADMITTED, sql.query([asked], rows), materialized=True)


def _digest(sides: Sides) -> sql.Expr:
    """Known and conf of a row."""
    return told_apart([sql.column(f"_pp_x{j}") for j in sides.places])


def _combinations(sides: Sides) -> sql.Expr:
    """A SELECT of one row: how often combinations occur in the original, and in the control."""
    own = sql.column("_pp_own")
    both = [
        sql.query(
            [sql.named(_digest(sides), _VALUES), sql.named(sql.number(flag), "_pp_own")],
            sql.table(step),
        )
        for flag, step in ((1, ORIGINAL), (0, CONTROL))
    ]
    counted = {
        _TIMES: _count(own.eq(sql.number(1))),
        _OTHERS: _count(own.eq(sql.number(0))),
    }
    each = sql.query(
        sql.columns(counted),
        sql.derived(sql.union_all(both), "_pp_both_values"),
        group=[sql.column(_VALUES)],
    )
    times, others = sql.column(_TIMES), sql.column(_OTHERS)
    found = {"people": _sum(times), "others": _sum(others)}
    found |= {
        name: _count(times.eq(sql.number(r)))
        for r, name in enumerate(("once", "twice", "thrice"), start=1)
    }
    seldom = exp.LTE(this=times, expression=sql.number(1))
    found["same"] = _sum(others, times.eq(sql.number(1)))
    found["unseen"] = _sum(others, times.eq(sql.number(0)))
    found["squares"] = _sum(sql.product(others, others), seldom)
    return sql.query(
        sql.columns({f"_pp_{name}": value for name, value in found.items()}),
        sql.derived(each, "_pp_each_value"),
    )


def _count(where: sql.Expr) -> sql.Expr:
    return sql.only(aggregates.rows(), where)  # 0 of no rows, of which count_if() is NULL


def _sum(value: sql.Expr, where: sql.Expr | None = None) -> sql.Expr:
    total = sql.call("sum", value.copy())
    return sql.call("coalesce", total if where is None else sql.only(total, where), sql.number(0))


def _keys(sides: Sides) -> sql.Expr:
    """A SELECT of one row: of rows that share a key, how many share all values, with its owner or with one near."""
    if not sides.control_keys:
        none = {"_pp_kept": sql.number(0), "_pp_beside": sql.number(0)}
        return sql.query(sql.columns(none))
    keys = [sql.column(name) for name in sides.pairs.key_names]
    mine = sql.query(
        [*keys, sql.column(PERSON), sql.named(_digest(sides), _VALUES)], sql.table(ORIGINAL)
    )
    theirs = sql.query([sql.column(PERSON), sql.named(_digest(sides), _NOW)], sql.table(CONTROL))
    shared = sql.derived(theirs, CONTROL).using(sql.derived(mine, ORIGINAL), [PERSON])
    order = [*keys, sql.column(_NOW)]
    now, value = sql.column(_NOW), sql.column(_VALUES)
    agree = {"_pp_kept": now.eq(value)}
    for place in range(1, PLACES + 1):
        behind = sql.over(sql.call("lead", value.copy(), sql.number(place)), order=order)
        agree[f"_pp_beside{place}"] = now.eq(behind)
    rows = sql.derived(sql.query(sql.columns(agree), shared), "_pp_shared")
    kept, *beside = (_count(sql.column(name)) for name in agree)
    most = {"_pp_kept": kept, "_pp_beside": sql.call("greatest", *beside)}
    return sql.query(sql.columns(most), rows)


def admitted(spec: Spec, told: ControlTold) -> int:
    """The number of pairs, if the control is other people."""
    found = []
    of = quoted(spec.table)
    if strangers.by_values(told):
        found.append(
            f"{told.same} of its {told.others} rows have known and conf values that exactly one row of {of} has, "
            f"and of other people about {strangers.expected(told):.0f} would"
        )
    if strangers.by_keys(told):
        found.append(
            f"{told.kept} of its {told.others} rows have the key and all known and conf values of a row of {of}, "
            f"and of other people about {told.beside} would"
        )
    if not found:
        return told.pairs
    raise spec.refuse(
        f"control has people of {of} in it, with whom every attack succeeds as well, so that no gain would show: "
        f"{'; '.join(found)}. Name people of the same kind who are not in the release, such as rows that were drawn "
        "at random and set aside before masking."
    )


STRANGERS = told_udf("ppduck_attack_control", admitted, Spec, ControlTold, "BIGINT")
