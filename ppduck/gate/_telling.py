"""What the gate says of each released column, of the key and of the order of the rows: what they tell of conf, and, of
columns that were changed or replaced, of what they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ppduck.call.roles import MANY_LEVELS
from ppduck.catalogue.source import Column
from ppduck.gate import _pseudonyms
from ppduck.gate._accounts import Figures, Other
from ppduck.gate._looked import Looked, LookSpec
from ppduck.gate._pseudonyms import Texts
from ppduck.gate.rules import COPY, Row
from ppduck.kernels import decoding
from ppduck.kernels.copies import copied
from ppduck.kernels.disguised import disguised
from ppduck.kernels.finding import FEWEST, MOST_ALIKE, MOST_GAIN, Finding, worst
from ppduck.kernels.known_before import knowing
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.telling import Search
from ppduck.kernels.unmasked_pseudonyms import numbers_in
from ppduck.values import Array


def rows(spec: LookSpec, looked: Looked, figures: Sequence[Figures]) -> Iterator[Row]:
    q, p, n, table = len(spec.columns), len(spec.features), looked.n, looked.table
    of_keys = [
        Candidate(column.name, Role.KEY, _read_as(column), own)
        for column, own in zip(spec.key_columns, looked.keys, strict=True)
    ]
    s, x, y = table[2 : 2 + p].T, table[2 + p : 2 + p + q].T, table[2 + p + q :].T
    not_numbers = [*zip(spec.categories, looked.before, strict=True)]
    not_numbers += [
        (column.name, own) for column, own in zip(spec.unseen, looked.unseen, strict=True)
    ]
    as_numbers = [
        (name, values) for name, own in not_numbers if (values := _as_numbers(own)) is not None
    ]
    numbers_of_keys = [each.values for each in of_keys if each.values is not None]
    search = Search(
        Sample(
            open=_filled(s),
            conf=[*spec.columns, *(name for name, _ in as_numbers)],
            x=np.column_stack([x, *(values for _, values in as_numbers)]) if n else x,
            y=y,
            categories=[name for name, _ in not_numbers],
            levels=[own for _, own in not_numbers],
            released=looked.after,
            keys=np.column_stack([np.empty((n, 0)), *numbers_of_keys]),
        )
    )
    candidates = [
        Candidate(name, Role.MASKED, Type.NUMBER, [_written(value) for value in column])
        for name, column in zip(spec.columns, y.T, strict=True)
    ]
    numeric_texts = {name for name, _ in as_numbers}
    candidates += [
        Candidate(name, Role.OTHER, Type.TEXT, own)
        for name, own in zip(spec.categories, looked.after, strict=True)
        if name in numeric_texts
    ]
    yield from _of_categories(spec, looked, search.sample, numeric_texts)
    of_itself = dict[str, list[Finding]]()
    for other, counted, own in zip(spec.others, figures, looked.others, strict=True):
        if not other.of_groups:
            kept = other.old and counted.same == counted.rows and not other.is_pseudonym
            candidate = Candidate(other.name, Role.KEPT if kept else Role.OTHER, other.read_as, own)
            candidates.append(candidate)
            if not kept:
                of_itself[other.name] = [*_of_what_it_was(spec, looked, search, candidate)]
    position = [_written(value) for value in table[1]]
    declared = {other.name for other in spec.others if other.declared and not other.is_pseudonym}
    for candidate in [*candidates, *of_keys]:
        found = of_itself.get(candidate.name, [])
        by = search
        if candidate.name in of_itself and candidate.name in declared & looked.were.keys():
            by, by_nature = _beyond(search, candidate, looked.were[candidate.name])
            found = [*found, *by_nature]
        of_secret = candidate.name in {each.name for each in spec.pseudonyms}
        remedy = "draw it by a secret, or drop it" if of_secret else "drop it, or mask it"
        yield _told_by(by, candidate, "tells", candidate.name, found, remedy=remedy)
        if candidate.role in (Role.OTHER, Role.KEPT):
            why = "share of rows in which it is a conf column, to six digits; no limit allows more"
            yield Row(COPY, candidate.name, copied(search.sample, candidate), MOST_ALIKE, why)
    order = Candidate("", Role.ORDER, Type.NUMBER, position)
    yield _told_by(search, order, "order", None, remedy="order the rows anew")


def _of_categories(
    spec: LookSpec, looked: Looked, sample: Sample, judged: set[str]
) -> Iterator[Row]:
    """What a masked category tells of the rest of conf beyond what it told before: another's level in its place."""
    for place, (name, was, own) in enumerate(
        zip(spec.categories, looked.before, looked.after, strict=True)
    ):
        rest = sample.without(place)
        if name not in judged and (rest.conf or rest.categories):
            search = Search(knowing(rest, was, own))
            candidate = Candidate(name, Role.OTHER, Type.TEXT, own)
            yield _told_by(search, candidate, "tells", name, remedy="mask it by itself")


def _beyond(search: Search, candidate: Candidate, was: Texts) -> tuple[Search, list[Finding]]:
    """A search beyond what a column told before it was changed, and what it told then, were it kept."""
    before = Candidate(candidate.name, Role.KEPT, candidate.type, was)
    told = search.found_in(before)
    own = Search(knowing(search.sample, was, candidate.texts))
    return own, [] if told is None else [told]


def _of_what_it_was(
    spec: LookSpec, looked: Looked, search: Search, candidate: Candidate
) -> Iterator[Finding]:
    """What a changed column tells of the original's of its name; a pseudonym, of what it stands for."""
    if candidate.name in looked.were:
        before = numbers_in([text or "" for text in looked.were[candidate.name]])
        own = candidate.values
        after = numbers_in([text or "" for text in candidate.texts]) if own is None else own
        if before is not None and after is not None:
            yield from disguised(candidate.name, before, after)
    for each in spec.pseudonyms:
        if each.name == candidate.name:
            empty: Texts = [None] * len(candidate.texts)
            was, hashes = looked.originals.get(each.name, (empty, empty))
            keys = dict(zip((column.name for column in spec.key_columns), looked.keys, strict=True))
            yield from _pseudonyms.told(each, was, hashes, candidate, keys)
            domains = _pseudonyms.domains(candidate.texts)
            if any(domains):
                found = search.found_in(Candidate("", Role.OTHER, Type.TEXT, domains))
                yield from [] if found is None else [found]


def _told_by(
    search: Search,
    candidate: Candidate,
    rule: str,
    name: str | None,
    more: Sequence[Finding] = (),
    *,
    remedy: str,
) -> Row:
    of_conf = search.found_in(candidate)
    found = worst([*([] if of_conf is None else [of_conf]), *more])
    if search.n < FEWEST and (found is None or found.passed):
        found = None
    if found is None and search.n < FEWEST:
        why = f"fewer than {FEWEST} rows: what they tell cannot be judged"
        return Row(rule, name, None, MOST_GAIN, why)
    if found is None:
        return Row(rule, name, 0.0, MOST_GAIN, "nothing of conf to tell")
    told = "tells" if not found.passed else "at most tells"
    why = f"{told} {found.conf}, read {found.how}"
    if not found.passed:
        why += f"; {remedy}"
    return Row(rule, name, float(found.value), float(found.at_most), why)


def _as_numbers(texts: Sequence[str | None]) -> Array | None:
    """Texts that are numbers or days, and more of them than a category has."""
    if len(set(texts)) <= MANY_LEVELS:
        return None
    there = sum(text is not None for text in texts)
    read = (decoding.numbers(texts), decoding.days(texts), decoding.first_numbers(texts))
    return next((each for each in read if 2 * np.isfinite(each).sum() > there), None)


def _read_as(column: Column) -> Type:
    return Other(column.name, column.type, True, "").read_as


def _filled(values: Array) -> Array:
    """Open columns with their means where there is NULL."""
    if not values.size:
        return values
    known = np.isfinite(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values, means)


def _written(value: float) -> str | None:
    return repr(float(value)) if np.isfinite(value) else None
