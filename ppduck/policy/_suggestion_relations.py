"""How well the other columns of a table tell a number: who publishes those may as well publish it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ppduck.frozen import frozen
from ppduck.kernels.prediction import explained
from ppduck.kernels.threads import one_thread
from ppduck.policy._suggestion_figures import FEW_LEVELS, Figures
from ppduck.values import Array, Moments

TELLING = 0.9  # a share of its variance above which a number is said to be told by others
_MOST_FEATURES = 200
_ROWS_PER_FEATURE = 5


@frozen
class Told:
    """By which share others tell a number, and the one that tells most of it alone."""

    share: float
    most: str


def levels_of(of: Figures) -> int:
    """How many features a column is where it predicts others; 0 where it is none."""
    if of.distinct < 2 or not of.values.size:
        return 0
    if of.column.is_numeric:
        return 1
    is_category = of.column.is_category or of.column.is_boolean
    return of.distinct - 1 if is_category and of.distinct <= FEW_LEVELS else 0


def told_by_others(numbers: Sequence[Figures], others: Sequence[Figures]) -> Mapping[str, Told]:
    """R² of the regression of each number on all other columns, of those that are told well."""
    used: list[tuple[str, Array]] = []
    for each in [*numbers, *others]:
        if levels_of(each) and len(used) + levels_of(each) <= _MOST_FEATURES:
            used += [(each.name, feature) for feature in _features(each)]
    rows = numbers[0].rows if numbers else 0
    if rows < _ROWS_PER_FEATURE * len(used) or len(used) < 2:
        return {}
    moments = Moments.of(np.column_stack([feature for _, feature in used]))
    names = [name for name, _ in used]
    spreads = np.maximum(np.diag(moments.cross), np.finfo(float).tiny)
    found = {}
    with one_thread():
        for number in numbers:
            if number.name not in names:
                continue
            place = names.index(number.name)
            by = [i for i, name in enumerate(names) if name != number.name]
            share = float(explained(moments, [place], by)[0]) if by else 0.0
            if share >= TELLING:
                alone = moments.cross[place, by] ** 2 / spreads[by]
                found[number.name] = Told(share, names[by[int(np.argmax(alone))]])
    return found


def _features(of: Figures) -> list[Array]:
    """The number, standardised, or an indicator of each level but the first; what is missing is average."""
    if of.column.is_numeric:
        spread = float(of.values.std())
        scaled = (of.of_rows - of.values.mean()) / (spread or 1.0)
        return [np.nan_to_num(scaled, nan=0.0)]
    return [(of.of_rows == level).astype(float) for level in np.unique(of.values)[1:]]
