"""protection_score(): information lost and disclosure risked, weighed in one number, as rivals are ranked by.

score = 0.5·IL + 0.5·DR with DR = 0.25·DLD + 0.25·PLD + 0.5·ID, and without probabilistic linkage 0.5·IL + 0.25·DLD +
0.25·ID (Domingo-Ferrer & Torra 2001; Pont-Tuset et al. 2007). All are points from 0 to 100, as in
the literature, where the other functions tell shares; lower is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, function_named, register
from ppduck.catalogue.tables import Catalog
from ppduck.pairs.moments import COMPARED, KEY, ORIGINAL, RELEASE, Pairs
from ppduck.query import tree as sql

NAME = "protection_score"
KNOWN_HALF = 2


_COUNT = arguments.whole(1)


@arguments.reader(f"{_COUNT.takes}, or {arguments.columns.takes}", _COUNT.within)
def _known(value: Any) -> int | list[str]:
    return int(_COUNT(value)) if isinstance(value, int) else list(arguments.columns(value))


KNOWN = Parameter(
    "known",
    _known,
    "how many of the columns an intruder knows, the first ones, or which; by default half of them",
    "NULL",
)
PROBABILISTIC = Parameter(
    "probabilistic", arguments.flag, "whether to link by Fellegi-Sunter too, for PLD, DR and score", "false"
)
_DEFINITIONS = {
    "IL": "mean relative change of values, covariances, variances and mean change of correlations, in per cent",
    "DLD": "records whose own original is the nearest by standardised distance in the known columns, in per cent",
    "PLD": "records whose own original is the likeliest by Fellegi-Sunter in the known columns, in per cent",
    "ID": "originals within 1 to 10 % of ranks of their masked value, on average, in the known columns, in per cent",
    "DR": "0.25·DLD + 0.25·PLD + 0.5·ID",
    "score": "0.5·IL + 0.5·DR",
    "score_simplified": "0.5·IL + 0.25·DLD + 0.25·ID",
}
_WITH_PLD = ("PLD", "DR", "score")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    pairs = Pairs(NAME, catalog, given)
    pairs.use_columns(categories=False)
    pairs.faults.raise_if_any()
    names = [column.name for column in pairs.numbers]
    known = _known_columns(pairs, names, given.get("known"))
    pairs.faults.raise_if_any()
    shared = {name: given[name] for name in ("original", "release", "key")}

    def value(function: str, of: Sequence[str], expression: str, where: str = "", **more: Any) -> str:
        inner = function_named(function).plan(catalog, shared | {"conf": list(of)} | more)
        return f"(SELECT {expression} FROM ({inner}){where})"

    lost = value("information_loss", names, "100 * value", " WHERE component = 'information_loss'")
    linked = value("record_linkage", known, "100 * linked_share")
    inside = value(
        "interval_disclosure", known, "100 * share", " WHERE kind = 'rank' AND column_name = 'all, on average'"
    )
    likely = "NULL::DOUBLE"
    if given.get("probabilistic"):
        likely = value("record_linkage", known, "100 * linked_share", method="probabilistic")
    statement = sql.Statement()
    statement.step(
        "_pp_parts", f"SELECT {lost} AS il, {linked} AS dld, {likely} AS pld, {inside} AS id", materialized=True
    )
    formulas = {
        "IL": "il", "DLD": "dld", "PLD": "pld", "ID": "id", "DR": "0.25 * dld + 0.25 * pld + 0.5 * id",
        "score": "0.5 * il + 0.5 * (0.25 * dld + 0.25 * pld + 0.5 * id)",
        "score_simplified": "0.5 * il + 0.25 * dld + 0.25 * id",
    }  # fmt: skip
    unasked = "" if given.get("probabilistic") else "; with probabilistic := true"
    rows = []
    for name, text in _DEFINITIONS.items():
        told = [
            sql.text(name),
            sql.raw(formulas[name]),
            sql.text(LOWER_IS_BETTER),
            sql.text(text + (unasked if name in _WITH_PLD else "")),
            sql.text(", ".join(known)),
        ]
        titles = ("measure", "value", "direction", "definition", "known")
        rows.append(sql.select([sql.named(part, title) for part, title in zip(told, titles, strict=True)], "_pp_parts"))
    return statement.finish(" UNION ALL ".join(rows))


def _known_columns(pairs: Pairs, names: list[str], given: int | list[str] | None) -> list[str]:
    if given is None:
        given = (len(names) + 1) // KNOWN_HALF
    if isinstance(given, list):
        found = [column.name for column in pairs.in_both("known", given)]
        if not given:
            pairs.faults.add("known is empty; name at least one column that an intruder may know.")
        for name in found:
            if name not in names:
                pairs.faults.add(f'known names column "{name}", which is not among the columns that are scored.')
        return found
    if given > len(names):
        pairs.faults.add(f"known is {given}, and there are {len(names)} numeric columns to know.")
    return names[:given]


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, KEY, COMPARED, KNOWN, PROBABILISTIC),
        plan,
        "Information loss and disclosure risk weighed in one score, as masks are ranked by, in points of 100.",
        "Domingo-Ferrer & Torra 2001; Pont-Tuset et al. 2007",
    )
)
