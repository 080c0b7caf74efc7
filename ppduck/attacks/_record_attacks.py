"""Attacks on whole records: who is singled out, who is linked, and who is known to be in the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ppduck.attacks import _search as search
from ppduck.attacks._figures import RESULTS, judged, rounded, row, rows_of, share, verdict
from ppduck.attacks._people import AttackSpec
from ppduck.attacks._search import LINKABILITY, MEMBERSHIP, SINGLING_OUT, Counted, Search, search_of
from ppduck.call.udf import Unsigned, rows_type, told_udf
from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.kernels import score_ranges
from ppduck.kernels.assignment import assigned
from ppduck.kernels.guessing import chosen
from ppduck.kernels.predicates import WINDOW
from ppduck.kernels.seeking import Batch, Space
from ppduck.measures import fellegi_sunter
from ppduck.values import Array

# Rows of which every pair is weighed; of more, so many are drawn.
MOST_PROBABILISTIC, PROBABILISTIC_BLOCK = 5_000, 2_000
FEWEST = 20  # people
# Rows that are matched one to one, all of them by default and where so many people are asked for; of more, so many
# are drawn, or as many as people are asked for.
MOST_MATCHED, MOST_ASSIGNED, BLOCK = 5_000, 20_000, 2_000
NO_CONTROL = "not asked: it takes control := people who are not in the release"
NO_KNOWN = "not asked: it takes known columns, which neither conf nor key are"


@frozen
class SearchTold:
    """What a search has found, and in how many pairs."""

    pairs: int
    token: Unsigned
    found: Array | None


@frozen
class BoxTold:
    """How many people of the original, and of the control, each predicate matches."""

    pairs: int
    token: Unsigned
    found: Array | None
    control: Array | None


def singling_out(spec: AttackSpec, told: BoxTold) -> list[dict[str, Any]]:
    """Predicates that match exactly one person, their own: of released records, and of records with another's conf."""
    made = search_of(told.token)
    assert made.predicates is not None
    person = made.predicates.hold(np.vstack([made.x[: made.size]] * 2)).reshape(2, -1)
    own, other = (
        once * mine for once, mine in zip(_once(told.found, made.size), person, strict=True)
    )
    control = None
    among = ""
    if made.control is not None:
        control = _once(told.control, made.size)[0]
        among = f", and {share(float(control.mean()))} exactly one person of the control"
    says = (
        f"of {made.size:,} released records {share(float(own.mean()))}, numbers within {WINDOW} sd, match their own "
        f"person and no other of {told.pairs:,}, and {share(float(other.mean()))} with the conf values of a record "
        f"like them{among}"
    )
    # Of the control as of the original, the predicates are the same.
    larger = control is not None and control.mean() > other.mean()
    found = judged(
        SINGLING_OUT, "predicates", says, own, control if larger and control is not None else other
    )
    found["baseline"] = rounded(float(other.mean()))
    found["control"] = None if control is None else rounded(float(control.mean()))
    return [found]


def _once(found: Array | None, size: int) -> tuple[Array, Array]:
    """1 where a predicate, of released records and of dealt ones, matches one person."""
    rows = rows_of(found, search.FOUND_WIDTH)
    counts = np.zeros(2 * size)
    counts[rows[:, 1].astype(np.intp)] = rows[:, 3]
    once = (counts == 1).astype(float)
    return once[:size], once[size:]


def linkability(spec: AttackSpec, told: SearchTold) -> list[dict[str, Any]]:
    made = search_of(told.token)
    found = rows_of(told.found, search.FOUND_WIDTH)
    return [
        *_nearest(made, told.pairs, found),
        _probabilistic(made, told.pairs),
        _assignment(made, told.pairs),
        _two_sources(made, found),
    ]


def _credits(made: Search, number: int, found: Array) -> Array:
    question = made.questions[number]
    assert isinstance(question, Counted)
    return question.credits(_of(found, number))


def _of(found: Array, number: int) -> Array:
    return found[found[:, 0] == number, 1:]


def _nearest(made: Search, n: int, found: Array) -> Iterator[dict[str, Any]]:
    if made.by_known.empty:
        baseline: Array | float = 1 / n
        without = "by chance"
    else:
        baseline = _credits(made, search.BY_KNOWN, found)
        without = "by known alone"
    for method, number in (("nearest", search.BY_ALL), ("mahalanobis", search.BY_TURNED)):
        mine = _credits(made, number, found)
        says = (
            f"of {made.size:,} people, known by known and conf, {share(float(mine.mean()))} have their own record "
            f"nearest among {n:,}, and {share(float(np.mean(baseline)))} {without}"
        )
        yield judged(LINKABILITY, method, says, mine, baseline)


def _probabilistic(made: Search, n: int) -> dict[str, Any]:
    """People and records by the weight of what agrees; of many, those of a block that is drawn."""
    method = "fellegi_sunter"
    size = min(n if n <= MOST_PROBABILISTIC else PROBABILISTIC_BLOCK, len(made.x))
    if size < FEWEST:
        return row(
            LINKABILITY, method, f"not asked: there are fewer than {FEWEST} people to learn from"
        )
    known = np.full(size, 1 / size)
    try:
        if not made.by_known.empty:
            known = _by_probability(made, made.by_known, size)
        # Columns that tell nothing are weighed all the same: an intruder leaves them out where that does better.
        mine = chosen([known, _by_probability(made, made.all, size)])
    except PpduckError as error:
        return row(LINKABILITY, method, f"not asked: {error}")
    says = (
        f"of {_block(size, n, 'records')} {share(float(mine.mean()))} weigh most with their own person, and "
        f"{share(float(known.mean()))} by known alone"
    )
    without = float(known[0]) if made.by_known.empty else known
    return judged(LINKABILITY, method, says, mine, without)


def _block(size: int, n: int, what: str) -> str:
    if size == n:
        return f"{n:,} {what}"
    return f"{size:,} of {n:,} {what}, so that all would give a smaller share,"


def _by_probability(made: Search, space: Space, size: int) -> Array:
    (x, a), (y, b) = (space.coordinates(rows[:size]) for rows in (made.x, made.y))
    codes = [
        np.unique(np.concatenate(pair), return_inverse=True)[1].reshape(2, -1)
        for pair in zip(a.T, b.T, strict=True)
    ]
    before, after = (
        np.column_stack([code[side] for code in codes])
        if codes
        else np.empty((len(x), 0), dtype=np.intp)
        for side in (0, 1)
    )
    return fellegi_sunter.linked(x, y, before, after)


def _assignment(made: Search, n: int) -> dict[str, Any]:
    """People and records matched one to one; of very many, those of a block that is drawn."""
    fewest = MOST_MATCHED if n <= MOST_MATCHED else BLOCK
    size = min(n, max(fewest, min(made.spec.sample, MOST_ASSIGNED)), len(made.x))
    x, y = made.x[:size], made.y[:size]
    mine = assigned(made.all, x, y)
    known: Array | float = 1 / size
    if not made.by_known.empty:
        known = _among(made.by_known, x, y)
    says = (
        f"of {_block(size, n, 'people')} {share(float(mine.mean()))} get their own record in the best one-to-one "
        f"matching, and {share(float(np.mean(known)))} by known alone"
    )
    return judged(LINKABILITY, "assignment", says, mine, known)


def _among(space: Space, people: Array, records: Array) -> Array:
    """Credits of people who seek their nearest among these records."""
    question = Counted(space, people, records, records[:0])
    added = question.add(Batch(space, records), np.zeros(len(records)))
    return question.credits(added)


def _two_sources(made: Search, found: Array) -> dict[str, Any]:
    """Whether what one source knows of a person and what another does lead to one record."""
    method = "two_sources"
    if made.by_known.empty:
        return row(LINKABILITY, method, NO_KNOWN)
    if made.control is None or not len(made.control):
        return row(LINKABILITY, method, NO_CONTROL)
    by_known, by_conf = (_records(made, found, n) for n in (search.TOP_KNOWN, search.TOP_CONF))
    mine, others = np.split(_meet(by_known, by_conf), [made.size])
    # Chance: what is known of one person beside the conf of the next.
    chance = _meet(by_known[: made.size], np.roll(by_conf[: made.size], 1, axis=0))
    says = (
        f"of {made.size:,} people {share(float(mine.mean()))} have a record among both the {search.NEAREST} nearest by "
        f"known and the {search.NEAREST} nearest by conf, and {share(float(others.mean()))} of {len(others):,} people "
        "who are not in the release"
    )
    return judged(LINKABILITY, method, says, mine, chance, control=others)


def _records(made: Search, found: Array, number: int) -> Array:
    """The nearest records of members, then of control people; NaN where there are fewer."""
    size = made.size + (0 if made.control is None else len(made.control))
    result = np.full((size, search.NEAREST), np.nan)
    own = _of(found, number)
    result[own[:, 0].astype(np.intp)] = own[:, 4::2]
    return result


def _meet(one: Array, other: Array) -> Array:
    return np.asarray((one[:, :, None] == other[:, None, :]).any(axis=(1, 2)), dtype=float)


def membership(spec: AttackSpec, told: SearchTold) -> list[dict[str, Any]]:
    """Members told from others by how far the nearest record is: the best border of one half, judged by the other."""
    made = search_of(told.token)
    if made.control is None or not len(made.control):
        return [row(MEMBERSHIP, "nearest_record", NO_CONTROL)]
    found = _of(rows_of(told.found, search.FOUND_WIDTH), search.TOP_ALL)
    distance = np.full(made.size + len(made.control), np.inf)
    distance[found[:, 0].astype(np.intp)] = found[:, 3]
    members, others = np.split(distance, [made.size])
    border = _border(*(side[score_ranges.halves(len(side))[0]] for side in (members, others)))
    judged_by = [side[score_ranges.halves(len(side))[1]] for side in (members, others)]
    if not all(map(len, judged_by)):
        return [
            row(MEMBERSHIP, "nearest_record", "not asked: there are too few people to judge by")
        ]
    right = [float((judged_by[0] <= border).mean()), float((judged_by[1] > border).mean())]
    success = sum(right) / 2
    ranges = [
        score_ranges.wilson(each, len(side)) for each, side in zip(right, judged_by, strict=True)
    ]
    # Half the sum of two shares, less a half: one share less what the other misses.
    low, high = score_ranges.difference(
        right[0], ranges[0], 1 - right[1], (1 - ranges[1][1], 1 - ranges[1][0])
    )
    says = (
        f"by the nearest record {share(right[0])} of {len(judged_by[0]):,} members and {share(right[1])} of "
        f"{len(judged_by[1]):,} others are told rightly, on average {share(success)}; guessing gives 50 %"
    )
    made_row = row(
        MEMBERSHIP,
        "nearest_record",
        f"{says}; {verdict(low / 2)}",
        success=success,
        baseline=0.5,
        between=(low / 2, high / 2),
        rows=sum(map(len, judged_by)),
    )
    return [made_row]


def _border(members: Array, others: Array) -> float:
    """The distance up to which people are taken for members, by the best balanced accuracy."""
    borders = np.unique(np.concatenate([members, others]))
    right = np.searchsorted(np.sort(members), borders, side="right") / max(len(members), 1)
    wrong = np.searchsorted(np.sort(others), borders, side="right") / max(len(others), 1)
    return float(borders[np.argmax(right - wrong)])


SOLVE_SINGLING_OUT = told_udf(
    "ppduck_attack_singling_out", singling_out, AttackSpec, BoxTold, rows_type(RESULTS)
)
SOLVE_LINKABILITY, SOLVE_MEMBERSHIP = (
    told_udf(f"ppduck_attack_{name}", solve, AttackSpec, SearchTold, rows_type(RESULTS))
    for name, solve in ((LINKABILITY, linkability), (MEMBERSHIP, membership))
)
UDFS = (SOLVE_SINGLING_OUT, SOLVE_LINKABILITY, SOLVE_MEMBERSHIP)
