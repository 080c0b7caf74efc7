"""recommend_mask(): which mask fits the relations that are there, and what it will not keep.

The match of relations and masks (Al-Ahmadi 2006, Appendix A): linear ones are kept by EGADP, monotonic ones by the
copula masks and by shuffling, any that nonconf determines by NM-EGADP.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ppduck.call.guarantees import Promise
from ppduck.call.numeric_mask import Advice, NumericMask
from ppduck.call.registry import Function, Kind, Result, masks, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import listed, quoted
from ppduck.frozen import frozen
from ppduck.masks import nm_egadp
from ppduck.measures import relationships
from ppduck.measures.relationships import ALL, SAMPLE, Pair
from ppduck.query import tree as sql
from ppduck.runtime.check import CHECK
from ppduck.runtime.relation import Training
from ppduck.runtime.security import LEARNT, LOW_SECURITY
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.relation import TRAINING
from ppduck.stages.relation_plan import LookCall, RelationPlan

NAME = "recommend_mask"
RESULTS = (
    Result("mask", "VARCHAR", "a mask"),
    Result(
        "advice",
        "VARCHAR",
        "recommended, fits too, loses relations, or that nothing should be released",
    ),
    Result("why", "VARCHAR", "what it keeps, and which relations were seen"),
    Result("will_not_keep", "VARCHAR", "what it costs"),
    Result("statement", "VARCHAR", "the call, to be pasted"),
)
_KINDS = ("none", "linear", "monotonic", "non-monotonic")


@frozen
class Candidate:
    """A mask that may be recommended, with what it says of itself: it keeps linear relations at least."""

    mask: NumericMask
    advice: Advice

    def promises(self, promise: Promise) -> bool:
        call: Any = self.mask.takes(**{"tbl": "", "conf": (), **dict(self.advice.given)})
        return self.mask.promises(promise, call)

    @property
    def with_nonconf(self) -> str:
        """The hardest kind of relation with nonconf that is kept."""
        return "non-monotonic" if self.promises(Promise.CURVES) else self.among_conf

    @property
    def among_conf(self) -> str:
        return "monotonic" if self.promises(Promise.RANKS) else "linear"

    @property
    def more(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.advice.given)

    @property
    def preference(self) -> tuple[int, bool, bool]:
        """Where several fit: what keeps no more than is there, then the exact one, then the original values."""
        beyond = _KINDS.index(self.with_nonconf)
        return beyond, not self.promises(Promise.MOMENTS), not self.promises(Promise.VALUES)


def candidates() -> list[Candidate]:
    """What masks say of themselves, in the order of preference."""
    of_numbers = [mask for mask in masks().values() if isinstance(mask, NumericMask)]
    found = [Candidate(mask, advice) for mask in of_numbers for advice in mask.advised]
    return sorted(found, key=lambda candidate: candidate.preference)


@frozen
class Advised(Training):
    """What is known of a group, and the call's own arguments."""

    arguments: str


def plan(catalog: Catalog, call: LookCall) -> sql.Expr:
    found = RelationPlan.of(NAME, nm_egadp.MASK, catalog, call, SAMPLE)
    told = {"sample": sql.column("_pp_sample", TRAINING), "arguments": sql.text(_arguments(call))}
    return found.answer(found.sampling(), UDF, [TRAINING], told, RESULTS)


def _arguments(call: LookCall) -> str:
    """The call's own arguments, to be pasted into the call of a mask."""
    parts = [sql.render(sql.text(call.tbl))]
    named = {"conf": call.conf, "nonconf": call.nonconf, "strata": call.strata, "key": call.key}
    for name, columns in named.items():
        if columns or (name == "nonconf" and columns is not None):
            listed_columns = ", ".join(sql.render(sql.text(column)) for column in columns)
            parts.append(f"{name}=[{listed_columns}]")
    if call.on_null != LookCall.on_null:
        parts.append(f"on_null={sql.render(sql.text(call.on_null))}")
    return ", ".join(parts)


def solve(spec: MaskSpec, advised: Advised) -> list[dict[str, Any]]:
    found = list(relationships.pairs(spec, advised))
    known = candidates()
    fitting = [candidate for candidate in known if not _lost(candidate, found)]
    # Where nothing keeps everything, what loses the fewest relations is the best there is.
    order = sorted(known, key=lambda candidate: len(_lost(candidate, found)))
    best = fitting[0] if fitting else order[0]
    rows = [best, *(candidate for candidate in order if candidate is not best)]
    return [_row(candidate, candidate is best, found, advised.arguments) for candidate in rows]


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
        ("recommended" if not lost else "best there is")
        if best
        else ("fits too" if not lost else "loses relations")
    )
    why = f"it keeps {candidate.advice.keeps}"
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
    not_kept = [candidate.advice.price]
    if lost:
        not_kept.append(f"the relation of {_named(lost)}")
    call = ", ".join(part for part in (arguments, candidate.more) if part)
    return {
        "mask": candidate.mask.name,
        "advice": advice,
        "why": why,
        "will_not_keep": "; ".join(not_kept),
        "statement": f"SELECT * FROM {candidate.mask.name}({call});",
    }


def _seen(found: Sequence[Pair]) -> str:
    """The hardest kind of relation that was seen, with its columns."""
    parts = []
    for role, name in (("nonconf", "with nonconf"), ("conf", "among conf")):
        own = [pair for pair in found if pair.role == role]
        worst = max((pair.found.kind for pair in own), key=_KINDS.index, default="none")
        hardest = (
            _named([pair for pair in own if pair.found.kind == worst])
            if worst != "none"
            else "no relation"
        )
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


UDF = told_udf("ppduck_recommend_mask", solve, MaskSpec, Advised, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        LookCall,
        plan,
        "Which mask fits the relations in the data, why, what it will not keep, and the statement to paste.",
        "Al-Ahmadi 2006, Appendix A",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM recommend_mask('customers', conf=['x1','x2'], nonconf=['s1','s2'])",
        udfs=(CHECK, UDF),
    )
)
