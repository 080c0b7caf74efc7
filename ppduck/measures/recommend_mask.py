"""recommend_mask(): which mask fits the relations that are there, and what it will not keep.

The match of relations and masks (000, Appendix A): linear ones are kept by EGADP, monotonic ones by the copula masks
and by shuffling, any that nonconf determines by NM-EGADP.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import listed, quoted
from ppduck.masks._security import LEARNT, LOW_SECURITY
from ppduck.measures import relationships
from ppduck.measures.relation_frame import PARAMETERS, frame_of, row_types
from ppduck.measures.relationships import ALL, SAMPLE, Pair
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "recommend_mask"
SOLVE = "ppduck_recommend_mask"
COLUMNS = {
    "mask": "VARCHAR",
    "advice": "VARCHAR",
    "why": "VARCHAR",
    "will_not_keep": "VARCHAR",
    "statement": "VARCHAR",
}
TAKES, GIVES = ["VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE[]"], row_types(COLUMNS)
_KINDS = ("none", "linear", "monotonic", "non-monotonic")


@dataclass(frozen=True)
class Candidate:
    """A mask as the advisor knows it: the kinds of relation it keeps with nonconf and among conf, and at what price."""

    mask: str
    more: str
    with_nonconf: str
    among_conf: str
    keeps: str
    price: str


# In the order of preference where several fit: the exact one first.
CANDIDATES = (
    Candidate(
        "egadp_mask", "", "linear", "linear", "means, covariances and linear regressions exactly",
        "marginal distributions (quantiles, skewness, extremes)",
    ),
    Candidate(
        "shuffle_mask", "", "monotonic", "monotonic", "every value of every column, and rank correlations",
        "exact covariances; each original value is released beside another row",
    ),
    Candidate(
        "cgadp_mask", "", "monotonic", "monotonic", "marginal distributions and rank correlations, with new values",
        "exact means and covariances",
    ),
    Candidate(
        "nm_egadp_mask", "variant=1", "non-monotonic", "linear",
        "means and covariances exactly, and the shape of every relation with nonconf", "marginal distributions",
    ),
    Candidate(
        "nm_egadp_mask", "variant=4", "non-monotonic", "linear",
        "every value of every column, and the shape of relations with nonconf as far as an order of values can",
        "exact covariances; each original value is released beside another row",
    ),
)  # fmt: skip


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    frame = frame_of(NAME, catalog, given, SAMPLE)
    told = [sql.text(_arguments(given)), sql.column("_pp_sample", "_pp_training")]
    return frame.answer(frame.sampling(), SOLVE, ["_pp_training"], told, COLUMNS)


def _arguments(given: dict[str, Any]) -> str:
    """The call's own arguments, to be pasted into the call of a mask."""
    parts = [sql.render(sql.text(given["tbl"]))]
    for name in ("conf", "nonconf", "strata", "key"):
        if name in given:
            columns = ", ".join(sql.render(sql.text(column)) for column in given[name])
            parts.append(f"{name}=[{columns}]")
    if "on_null" in given:
        parts.append(f"on_null={sql.render(sql.text(given['on_null']))}")
    return ", ".join(parts)


def solve(specification: str, group: str | None, arguments: str, sample: Array | None) -> list[dict[str, Any]]:
    found = list(relationships.pairs(json.loads(specification), group, sample))
    fitting = [candidate for candidate in CANDIDATES if not _lost(candidate, found)]
    # Where nothing keeps everything, what loses the fewest relations is the best there is.
    order = sorted(CANDIDATES, key=lambda candidate: len(_lost(candidate, found)))
    best = fitting[0] if fitting else order[0]
    rows = [best, *(candidate for candidate in order if candidate is not best)]
    return [_row(candidate, candidate is best, found, arguments) for candidate in rows]


def _lost(candidate: Candidate, found: Iterable[Pair]) -> list[Pair]:
    """The relations that a mask does not keep."""
    return [
        pair
        for pair in found
        if _KINDS.index(pair.found.kind)
        > _KINDS.index(candidate.with_nonconf if pair.role == "nonconf" else candidate.among_conf)
    ]


def _row(candidate: Candidate, best: bool, found: Sequence[Pair], arguments: str) -> dict[str, Any]:
    lost = _lost(candidate, found)
    advice = (
        ("recommended" if not lost else "best there is") if best else ("fits too" if not lost else "loses relations")
    )
    why = f"it keeps {candidate.keeps}"
    told = _told(found)
    if best:
        why += f". Seen {_seen(found)}" if found else "; there are no relations to lose"
    if any(1 - share < LEARNT for share in told.values()):
        advice = "do not release"
        why = f"nonconf determines {listed(c for c, share in told.items() if 1 - share < LEARNT)}; {why}"
    elif any(1 - share < LOW_SECURITY for share in told.values()):
        advice += ", release not advised"
        low = listed(column for column, share in told.items() if 1 - share < LOW_SECURITY)
        why = f"nonconf predicts {low} too well (see security_index); {why}"
    not_kept = [candidate.price]
    if lost:
        not_kept.append(f"the relation of {_named(lost)}")
    call = ", ".join(part for part in (arguments, candidate.more) if part)
    return {
        "mask": candidate.mask,
        "advice": advice,
        "why": why,
        "will_not_keep": "; ".join(not_kept),
        "statement": f"SELECT * FROM {candidate.mask}({call});",
    }


def _seen(found: Sequence[Pair]) -> str:
    """The hardest kind of relation that was seen, with its columns."""
    parts = []
    for role, name in (("nonconf", "with nonconf"), ("conf", "among conf")):
        own = [pair for pair in found if pair.role == role]
        worst = max((pair.found.kind for pair in own), key=_KINDS.index, default="none")
        hardest = _named([pair for pair in own if pair.found.kind == worst]) if worst != "none" else "no relation"
        if own:
            parts.append(f"{name}: {worst}, {hardest}" if worst != "none" else f"{name}: {hardest}")
    return "; ".join(parts)


def _named(found: Sequence[Pair], at_most: int = 5) -> str:
    """Pairs for a text; where one column tells already, all of them together need not be named."""
    single = {pair.column for pair in found if pair.other != ALL}
    names = [
        f"{quoted(pair.column)} with {pair.other if pair.other == ALL else quoted(pair.other)}"
        for pair in found
        if pair.other != ALL or pair.column not in single
    ]
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return ", ".join(names[:at_most]) + more


def _told(found: Sequence[Pair]) -> dict[str, float]:
    """How much of each conf column nonconf tells, all of it together where there are several columns."""
    told: dict[str, float] = {}
    for pair in found:
        if pair.role == "nonconf":
            share = max(pair.found.kernel_r2, pair.found.linear_r2)
            told[pair.column] = max(told.get(pair.column, 0.0), share)
    return told


FUNCTION = register(
    Function(
        NAME,
        PARAMETERS,
        plan,
        "Which mask fits the relations in the data, why, what it will not keep, and the statement to paste.",
        "Al-Ahmadi 2006, Appendix A",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES),),
    )
)
