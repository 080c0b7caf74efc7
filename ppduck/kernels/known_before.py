"""What a changed column that may be released tells by nature: what the column told before it was changed.

Who may keep a column may release what is made of it alone: ages in bands tell of incomes what ages do. So beside such a
column its original counts as public, and a finding is what the column tells beyond that. The original is known as a
number or a day, if it is one; as categories, if it has few; and where many rows share a value of the original and
always the same one of the released column, that one is made of it and known as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import codes_of
from ppduck.kernels.unmasked_pseudonyms import numbers_in
from ppduck.values import Array

Texts = Sequence[str | None]
MOST_LEVELS = 100
ROWS_PER_LEVEL = 3


def knowing(sample: Sample, was: Texts, now: Texts) -> Sample:
    """The same rows for one who knows what a column was; ``now`` is what it became."""
    told = [was] if _is_shared(was) else []
    if told and _is_made_of(was, now):
        told.append(now)
    known = [*_numbers(was), *(column for texts in told for column in _levels(texts))]
    if not known:
        return sample
    columns = [sample.open, *(column[:, None] for column in known)]
    return replace(sample, open=np.column_stack(columns), released=[*sample.released, *told])


def _numbers(texts: Texts) -> list[Array]:
    found = numbers_in([text or "" for text in texts])
    if found is None:
        return []
    there = np.isfinite(found)
    mean = found[there].mean() if there.any() else 0.0
    return [np.where(there, found, mean), (~there).astype(float)]


def _is_shared(texts: Texts) -> bool:
    """Whether rows share values, so that a value is no name of a row."""
    return len(set(texts)) * ROWS_PER_LEVEL <= len(texts)


def _levels(texts: Texts) -> list[Array]:
    codes = codes_of(texts)
    levels = np.unique(codes)
    if len(levels) > MOST_LEVELS:
        return []
    return [(codes == level).astype(float) for level in levels[1:]]


def _is_made_of(was: Texts, now: Texts) -> bool:
    """Whether one value of the original always became the same."""
    return len(set(zip(was, now, strict=True))) == len(set(was))
