"""Whether a column that was changed is still what it was: moved and scaled alike in all rows, or in the same order.

A column that may leave the house as it is, and leaves it changed, looks masked. Where one number was added to all
dates, or all were multiplied by one, whoever knows a single person's undoes it; where each value became another one in
the same order, its ranks do. Coarse values (months, tens, means of groups) are fewer than the originals, and values
that are shifted one by one keep neither the distances nor, among so many rows, the order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ppduck.kernels.finding import FEWEST, MOST_ALIKE, Finding
from ppduck.values import Array

Places = npt.NDArray[np.intp]
EXACTLY = 1e-6  # of a standard deviation
ALL = 0.99  # of the steps from value to value
FEWEST_STEPS = 100
# A column that moved by less, of its standard deviation, is about what it was, and so it may leave.
LEAST_MOVED = 0.01


def disguised(name: str, before: Array, after: Array) -> Iterator[Finding]:
    """Findings of a column as it was, and as it is in the same rows."""
    known = np.isfinite(before) & np.isfinite(after)
    x, d = before[known], after[known]
    values, first, of = np.unique(x, return_index=True, return_inverse=True)
    if len(values) < FEWEST or np.ptp(d) == 0:
        return
    yield _affine(name, x, d, first)
    found = _in_order(name, x, d, first, of.reshape(-1))
    if found is not None:
        yield found


def _affine(name: str, x: Array, d: Array, first: Places) -> Finding:
    """The largest share of rows in which d = a·x + b, but for d = x."""
    near = EXACTLY * float(np.std(d))
    slopes = np.diff(d[first]) / np.diff(x[first])
    scale = float(np.median(slopes))
    factor = _most_often(d[x != 0] / x[x != 0], EXACTLY)
    ways = {
        (1.0, _most_often(d - x, near)),
        (factor, 0.0),
        (scale, float(np.median(d - scale * x))),
        # Where rows of two kinds are mixed no median is that of either.
        (-1.0, _most_often(d + x, near)),
    }
    largest = 0.0
    for a, b in ways:
        is_itself = np.abs((a - 1) * x + b).max() <= near
        if a != 0 and np.isfinite(a) and np.isfinite(b) and not is_itself:
            largest = max(largest, float((np.abs(d - a * x - b) <= near).mean()))
    how = "as it was, moved or scaled alike in all rows"
    return Finding(largest, MOST_ALIKE, name, how)


def _most_often(values: Array, near: float) -> float:
    """The value that most rows have, but for rounding."""
    if not len(values):
        return 0.0
    size = np.maximum(near, np.finfo(float).tiny)
    rounded, counts = np.unique(np.round(values / size), return_counts=True)
    often = np.abs(values / size - rounded[counts.argmax()]) <= 1
    return float(np.median(values[often]))


def _in_order(name: str, x: Array, d: Array, first: Places, of: Places) -> Finding | None:
    """Steps that go one way, where each value became one other."""
    if len(first) < FEWEST_STEPS or np.median(np.abs(d - x)) <= LEAST_MOVED * np.std(x):
        return None
    became = d[first]
    of_one = float((d == became[of]).mean())
    different = len(np.unique(became)) / len(became)
    steps = np.sign(np.diff(became))
    one_way = max(float((steps > 0).mean()), float((steps < 0).mean()))
    how = "as another value for each, in the same order"
    return Finding(min(of_one, different, one_way), ALL, name, how)
