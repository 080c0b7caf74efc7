"""unchanged_values(): how many values of a release are those of their original, beyond what chance makes equal.

Of the pairs in which neither is NULL, a share a is equal; if the masked values were dealt out at random it would be
e = Σ p(v)·q(v) over the values v of both sides. The excess (a - e)/(1 - e), Cohen's κ, is 0 for a release that has
nothing to do with its original and 1 for a copy, however few values a column has. Each column is looked at by itself,
so that a NULL elsewhere hides nothing.
"""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Function, register
from ppduck.catalogue.tables import Catalog
from ppduck.kernels.prediction import CHANCE, ROUNDING
from ppduck.libraries import stats
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import COMPARED, KEY, ORIGINAL, RELEASE, Pairs
from ppduck.query import tree as sql

NAME = "unchanged_values"
MEANING = "values equal to their original; excess, what chance does not explain, should be 0; lower is safer"


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    pairs = Pairs(NAME, catalog, given)
    pairs.use_columns(categories=True)
    pairs.faults.raise_if_any()
    statement = pairs.statement(materialized=True)
    pairs.told(statement, {})
    pairs.check(statement)
    compared = [(column.name, f"_pp_x{j}", f"_pp_y{j}") for j, column in enumerate(pairs.numbers)]
    compared += [(column.name, f"_pp_a{j}", f"_pp_b{j}") for j, column in enumerate(pairs.categories)]
    rows = [_row(place, *names) for place, names in enumerate(compared)]
    return statement.finish(
        'SELECT "column_name", "excess" <= "tolerance" AS "passed", "excess", "tolerance", "unchanged", "share", '
        f'"chance_share", "rows", "left_out", {sql.render(sql.text(MEANING))} AS "meaning" '
        f'FROM (SELECT *, {_EXCESS} AS "excess", {_tolerance()} AS "tolerance" FROM ({" UNION ALL ".join(rows)})) '
        'ORDER BY "_pp_place"'
    )


# What is equal without fail tells nothing: where chance makes all equal there is no excess.
_EXCESS = 'CASE WHEN "chance_share" < 1 THEN ("share" - "chance_share") / (1 - "chance_share") ELSE 0 END'


def _tolerance() -> str:
    return (
        f'CASE WHEN "chance_share" < 1 THEN {float(stats.norm.isf(CHANCE))!r}::DOUBLE * '
        f'sqrt("chance_share" / (1 - "chance_share") / "rows") ELSE 0 END + {ROUNDING!r}::DOUBLE'
    )


def _row(place: int, name: str, before: str, after: str) -> str:
    """The figures of one column; NULL where no pair has both values."""
    both = f'(SELECT "{before}" AS x, "{after}" AS y FROM "_pp_pairs" WHERE x IS NOT NULL AND y IS NOT NULL)'
    sides = (f"(SELECT {side} AS v, count(*) AS c_{side} FROM {both} GROUP BY v)" for side in "xy")
    met = f"(SELECT coalesce(sum(c_x::DOUBLE * c_y), 0) AS met FROM {' JOIN '.join(sides)} USING (v))"
    counted = f"(SELECT count(*) AS n, count(*) FILTER (x = y) AS same FROM {both})"
    return (
        f'SELECT {place} AS "_pp_place", {sql.render(sql.text(name))} AS "column_name", same AS "unchanged", '
        'same / nullif(n, 0) AS "share", met / nullif(n, 0) / nullif(n, 0) AS "chance_share", n AS "rows", '
        f'"_pp_matched" - n AS "left_out" FROM {counted} CROSS JOIN {met} CROSS JOIN "_pp_check"'
    )


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, KEY, COMPARED),
        plan,
        "How many values of each column are their originals, beyond what chance makes equal; NULLs hide nothing.",
        "Cohen 1960, for the excess",
        udfs=(row_pairs.UDF,),
    )
)
