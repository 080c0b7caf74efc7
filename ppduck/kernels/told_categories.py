"""What a released column tells of a confidential category: by its values, by few values that stand in it, or as a hash.

A column of numbers may carry the level in a digit: each reading that has few values is a category, too. What the
original of a masked column tells of a category in the same reading is no fault of the mask.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ppduck.kernels import decoding
from ppduck.kernels.category_guess import guessed
from ppduck.kernels.finding import AS_IT_IS, FEWEST, MOST_KEPT, Finding
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type, codes_of
from ppduck.values import Array

FEW_LEVELS = 100
ROWS_PER_LEVEL = 3
_DECIMALS = 6  # to which digits that were added to a number can be read from it
_ALLOWED = 0.1  # of the rows that are not guessed right without the column
Codes = npt.NDArray[np.intp]


def told(sample: Sample, candidate: Candidate) -> Iterator[Finding]:
    """How often a category is guessed right from a column, beyond its most frequent level."""
    if candidate.role is Role.ORDER:
        return
    read = list(_read(sample, candidate))
    for name, levels in zip(sample.categories, sample.levels, strict=True):
        own = codes_of(levels)
        if own.max(initial=0) == 0:
            continue
        if candidate.role is Role.OTHER and candidate.type is Type.TEXT:
            yield hashed(candidate, name, levels)
        # What is told by the released categories is told already.
        by_release = (guessed(codes_of(each), own) for each in sample.released)
        without = max(float(np.bincount(own).max()) / len(own), *by_release, 0.0)
        for how, codes, before in read:
            right = guessed(codes, own)
            chance = without if before is None else max(without, guessed(before, own))
            limit, cap = (0.9, MOST_KEPT) if candidate.role is Role.KEPT else (_ALLOWED, 0.6)
            spread = 5 * np.sqrt(chance / (1 - chance) / len(own)) if chance < 1 else 0.0
            gain = (right - chance) / max(1 - chance, 1e-9)
            yield Finding(gain, min(limit + float(spread), cap), name, how)


def _read(sample: Sample, candidate: Candidate) -> Iterator[tuple[str, Codes, Codes | None]]:
    """A column as categories; of a masked one its original in the same reading, too."""
    if candidate.role is not Role.MASKED and _are_few(candidate.codes):
        yield "by its values", candidate.codes, None
        return
    if candidate.values is None or candidate.role not in (Role.MASKED, Role.OTHER):
        return
    before = dict[str, Array]()
    if candidate.role is Role.MASKED and candidate.name in sample.conf:
        x = sample.x[:, sample.conf.index(candidate.name)]
        texts = [repr(float(value)) if np.isfinite(value) else None for value in x]
        was = Candidate(candidate.name, candidate.role, candidate.type, texts)
        before = {AS_IT_IS: x, **dict(was.readings)}
    for how, values in [(AS_IT_IS, candidate.values), *candidate.readings]:
        codes = _codes(values)
        if _are_few(codes):
            yield how, codes, _codes(before[how]) if how in before else None


def _codes(values: Array) -> Codes:
    near = np.round(np.where(np.isfinite(values), values, np.inf), _DECIMALS)
    return np.asarray(np.unique(near, return_inverse=True)[1].reshape(-1))


def _are_few(codes: Codes) -> bool:
    levels = int(codes.max(initial=0)) + 1
    return 1 < levels <= min(FEW_LEVELS, len(codes) / ROWS_PER_LEVEL)


def hashed(candidate: Candidate, name: str, values: Sequence[float | str | None]) -> Finding:
    """Whether texts are hashes of the values beside them."""
    n = len(values)
    some = any(map(decoding.may_be_hash, candidate.texts[:FEWEST]))
    looked = range(n) if some else range(1)
    found = 0
    for i in looked:
        value = values[i]
        if value is None or value != value:
            continue
        spelt = [value] if isinstance(value, str) else decoding.spellings(value)
        found += decoding.is_hash_of(candidate.texts[i], spelt)
    return Finding(found / len(looked), 0.0, name, "as its hash")
