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

from ppduck.query import tree as sql
from ppduck.values import folded

RANKED = 0.99
# where equal values are rare by chance, and where a column has few of them
EQUAL, EQUAL_IF_FEW = (0.05, 0.9)
RARE = 0.01
FEWEST = 10  # rows: ranks of fewer agree by chance
_NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)", re.IGNORECASE)
Types = Mapping[str, str]  # of columns by name


def copies(
    tables: tuple[str, str], columns: tuple[Types, Types], conf: Sequence[str], key: Sequence[str]
) -> str | None:
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
    on = " and ".join(f"o.{_name(name)} = m.{_name(name)}" for name in key)
    told = [f"hash({', '.join(f'o.{_name(name)}' for name in key)}) as _pp_order"]
    told += [
        f"o.{_name(original[folded(name)][0])} as {_name('_pp_o_' + folded(name))}"
        for name in secret
    ]
    told += [
        f"o.{_name(original[name][0])} as {_name('_pp_o_' + name)}"
        for name in others
        if name in original
    ]
    wanted = [*others, *(folded(name) for name in secret if folded(name) in masked)]
    told += [f"m.{_name(masked[name][0])} as {_name('_pp_m_' + name)}" for name in wanted]
    pairs = f"select {', '.join(told)}\nfrom {tables[0]} as o join {tables[1]} as m on {on}"
    return f"(with _pp_pairs as materialized (\n{pairs}\n)\n" + "\nunion all\n".join(arms) + ")"


def _arms(
    original: Mapping[str, tuple[str, str]],
    masked: Mapping[str, tuple[str, str]],
    secret: Sequence[str],
    others: Sequence[str],
) -> Iterator[str]:
    for name in others:
        e = _name(f"_pp_m_{name}")
        where = f"{e} is distinct from {_name(f'_pp_o_{name}')}" if name in original else "true"
        for confidential in secret:
            x = _name(f"_pp_o_{folded(confidential)}")
            z = _name(f"_pp_m_{folded(confidential)}") if folded(confidential) in masked else "null"
            types = masked[name][1], original[folded(confidential)][1]
            yield _arm(masked[name][0], confidential, (e, x, z), types, where)


def _arm(
    name: str, confidential: str, values: tuple[str, str, str], types: tuple[str, str], where: str
) -> str:
    """The row of one pair of columns, where there is one: e of the release, x confidential and z, x masked."""
    e, x, z = values
    if _NUMBER.fullmatch(types[1]) and types[0] == "VARCHAR":
        e = f"try_cast({e} as double)"
    common = (
        "double" if all(map(_NUMBER.fullmatch, types)) or e.startswith("try_cast") else "varchar"
    )
    rule, equal, ranks = (
        sql.render(sql.text(text))
        for text in (
            f"copy: {name} repeats {confidential}",
            "share of its values that are the confidential ones of their rows, beyond chance",
            "rank correlation with the confidential column, row by row",
        )
    )
    compared = (
        f"select e::{common} as e, x::{common} as x, z::{common} as z, "
        f"lag(x::{common}) over (order by _pp_order) as other, "
        "rank() over (order by e) as re, rank() over (order by x) as rx, rank() over (order by z) as rz\n"
        f"from (select {e} as e, {x} as x, {z} as z, _pp_order from _pp_pairs where {where}) "
        "where e is not null and x is not null"
    )
    figures = (
        "select count(*)::double as n, count(*) filter (e = other) as met, count(*) filter (e = x) / n as a, "
        "count(*) filter (z = x) / n as own_a, "
        f"case when n >= {FEWEST} then {_strength('re')} end as r, {_strength('rz')} as own_r\nfrom ({compared})"
    )
    # Of n rows without a single hit, the share may still be 3/n.
    rare = f"(met + 3) / (n + 3) < {RARE!r}"
    judged = (
        "select (a - met / n) / nullif(1 - met / n, 0) as kappa, r, greatest("
        f"case when {rare} then {EQUAL!r} else {EQUAL_IF_FEW!r} end, (own_a - met / n) / nullif(1 - met / n, 0) + 1e-9"
        f") as most, greatest({RANKED!r}, own_r + 1e-9) as most_r\nfrom ({figures}) where n > 0"
    )
    return (
        f"select {rule} as rule, case when kappa > most then most else most_r end::double as at_most, "
        f'case when kappa > most then kappa else r end::double as "value", '
        f"case when kappa > most then {equal} else {ranks} end as meaning\n"
        f"from ({judged}) where coalesce(kappa > most, false) or coalesce(r > most_r, false)"
    )


def _strength(ranks: str) -> str:
    """|r| with the ranks of x; that with a constant is no number, which would be above every limit."""
    return f"nullif(abs(corr({ranks}, rx)), 'nan'::double)"


def _name(text: str) -> str:
    return sql.render(sql.name(text))
