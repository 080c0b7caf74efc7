"""How often a category is guessed right from another one, by what most rows have that look alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def guessed(codes: npt.NDArray[np.intp], of: npt.NDArray[np.intp]) -> float:
    """The share that is right when each half is guessed by what the other half has most often for a code."""
    cells = np.column_stack([np.arange(len(codes)) % 2, codes, of])
    kinds, counts = np.unique(cells, axis=0, return_counts=True)
    half, seen, guess = kinds.T
    return guessed_from(half, seen, guess, counts)


def guessed_from(
    half: npt.NDArray[np.intp],
    seen: npt.NDArray[np.intp],
    of: npt.NDArray[np.intp],
    counts: npt.NDArray[Any],
) -> float:
    """The same from counts of each half, of what is seen, and of what is guessed."""
    right = 0.0
    for own in (0, 1):
        learnt = half == own
        if not learnt.any():
            continue
        overall = int(np.bincount(of[learnt], counts[learnt]).argmax())
        best = np.full(seen.max() + 1, overall)
        # Of each code the largest count comes last, and stays.
        order = np.lexsort((counts[learnt], seen[learnt]))
        best[seen[learnt][order]] = of[learnt][order]
        right += float(counts[~learnt][best[seen[~learnt]] == of[~learnt]].sum())
    return right / float(counts.sum())
