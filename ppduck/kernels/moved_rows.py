"""Values that stand a few rows from their own: at the next key, or at that of a pair whose members changed places.

Who has a release and its keys tries such shifts one by one. Of a table that is only sampled neighbours are missing, and
nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ppduck.values import Array

Indices = npt.NDArray[np.intp]
PLACES = (1, 2, 3)  # by which values are looked for before and behind their own


def moved(values: Array, keys: Array) -> Iterator[tuple[str, Array]]:
    """How they may have been moved, and the value that each row would then have had; NaN where there is no such row."""
    order = np.argsort(keys, kind="stable")
    ordered = values[order]
    n = len(values)
    place = np.arange(n)
    for far in PLACES:
        for step, where in ((far, "after"), (-far, "before")):
            yield f"from the row {far} {where} it by the key", _placed(ordered, place + step, order)
    for first in (0, 1):  # the first of each pair is an even row, or an odd one
        own = np.where((place - first) % 2 == 0, place + 1, place - 1)
        yield "from the other one of two rows by the key", _placed(ordered, own, order)


def _placed(ordered: Array, source: Indices, order: Indices) -> Array:
    there = (source >= 0) & (source < len(ordered))
    found = np.full(len(ordered), np.nan)
    found[order] = np.where(there, ordered[np.clip(source, 0, len(ordered) - 1)], np.nan)
    return found
