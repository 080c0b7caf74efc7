"""The row that stands farthest apart from all others in the terms of a regression, found by its leverage.

Leverage is 1/n and the sum of squares along axes, which Python finds from the moments; as the sums of products, it is
written out here and not built as a tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.query import tree as sql

MOST_PLAIN = 12  # terms, beyond which planning with every weight as a column would take longer than running


def levers(size: int, by: Sequence[str]) -> str:
    """The weights of ``size`` axes from ``_pp_weights`` as plain columns; one list an axis where these would be many.

    A weight for each term, and behind these where the axis begins. A group in which no row can stand apart has none.
    """
    columns: list[sql.Expr] = [sql.column(alias) for alias in by]
    columns.append(sql.raw('list_extract("_pp_w", 1) AS "_pp_limit"'))
    for k in range(size):
        before = 1 + k * (size + 1)
        if size > MOST_PLAIN:
            columns.append(sql.raw(f'list_slice("_pp_w", {before + 1}, {before + size + 1}) AS "_pp_l{k}"'))
        else:
            used = (*range(k + 1), size)
            columns += [sql.raw(f'list_extract("_pp_w", {before + j + 1}) AS "_pp_l{k}_{j}"') for j in used]
    return sql.select(columns, '"_pp_weights"', where=sql.present([sql.column("_pp_w")]))


def farthest(rows: str, terms: Sequence[str], by: Sequence[str]) -> str:
    """(group, row) of the largest leverage that is above the limit: the terms of the row, and -1 behind them.

    The group's columns have other names, as what reads this has those of the moments too.
    """
    size = len(terms)
    numbers = ", ".join(sql.render(sql.column(term)) for term in terms)
    row = f"CAST([{numbers}, -1] AS DOUBLE[])"
    if size > MOST_PLAIN:
        axes = [f'list_inner_product("_pp_l{k}", "_pp_row")' for k in range(size)]
        kept = f'{row} AS "_pp_row"'
        row = '"_pp_row"'
    else:
        products = ([f'"_pp_l{k}_{j}" * "{terms[j]}"' for j in range(k + 1)] for k in range(size))
        axes = [f'{" + ".join(each)} - "_pp_l{k}_{size}"' for k, each in enumerate(products)]
        kept = numbers
    on = [(sql.column(alias, "_pp_complete"), sql.column(alias, "_pp_levers")) for alias in by]
    source = sql.joined(f'({rows}) AS "_pp_complete"', '"_pp_levers"', on)
    group: list[sql.Expr] = [sql.column(alias, "_pp_complete") for alias in by]
    placed = sql.select([*group, sql.raw(kept), sql.star("_pp_levers", by)], source)
    along = ", ".join(f'{axis} AS "_pp_o{k}"' for k, axis in enumerate(axes))
    squares = " + ".join(f'"_pp_o{k}" * "_pp_o{k}"' for k in range(size))
    levered = f'SELECT *, {squares} AS "_pp_h" FROM (SELECT *, {along} FROM ({placed}))'
    # A condition would be evaluated below, with every axis twice; and few rows need a list.
    found = f'arg_max(CASE WHEN "_pp_h" > "_pp_limit" THEN {row} END, "_pp_h") AS "_pp_farthest"'
    own = [sql.column(alias) for alias in by]
    renamed = [sql.named(each.copy(), f"_pp_a{i}") for i, each in enumerate(own)]
    return sql.select([*renamed, sql.raw(found)], f"({levered})", group=own)
