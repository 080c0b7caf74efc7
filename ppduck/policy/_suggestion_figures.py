"""What was counted of the rows that were looked at, column by column, in the words of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from ppduck.catalogue.source import Column
from ppduck.frozen import frozen
from ppduck.policy._name_hints import Hint, hints
from ppduck.policy._suggestion_look import (
    TAKEN,
    Look,
    Looked,
    SuggestionSpec,
    is_single,
)
from ppduck.values import Array, one_below_the_other

AnyName = TypeVar("AnyName")
FEW_LEVELS = 20  # so many levels make a small category, of which each is a feature of its own
RARE = 50  # rows: a level with fewer is rare


@frozen
class Figures:
    """One column."""

    column: Column
    table: str
    rows: int  # that were looked at
    scale: float  # rows of the table for each of them
    present: int  # of them that are not NULL
    distinct: int = 0
    values: Array = field(
        default_factory=lambda: np.empty(0)
    )  # as numbers; of texts what stands for them
    of_rows: Array = field(default_factory=lambda: np.empty(0))  # the same row by row, NaN for NULL
    looks: Mapping[Look, int] = field(default_factory=dict)
    within: int = 0
    digits: int = 0
    taken: Mapping[str, int] = field(default_factory=dict)
    longest: int = 0
    words: float = 0.0

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def hints(self) -> frozenset[Hint]:
        return hints(self.name)

    def hinted(self, *wanted: Hint) -> bool:
        return not self.hints.isdisjoint(wanted)

    def share(self, look: Look) -> float:
        return self.looks.get(look, 0) / self.present if self.present else 0.0

    @property
    def has_nulls(self) -> bool:
        return self.present < self.rows

    @property
    def is_unique(self) -> bool:
        """Whether each row has a value of its own."""
        return not self.has_nulls and self.distinct == self.rows

    @property
    def own_share(self) -> float:
        """Values among the rows that have one: 1 where each has its own."""
        return self.distinct / self.present if self.present else 0.0

    @property
    def is_constant(self) -> bool:
        return self.distinct == 1 and not self.has_nulls

    @cached_property
    def levels(self) -> Array:
        """How many rows have each value, the fewest first."""
        return np.sort(np.unique(self.values, return_counts=True)[1]).astype(float)

    @property
    def rare_levels(self) -> int:
        """About how many values have few rows in the whole table."""
        return int((self.levels * self.scale < RARE).sum())

    @property
    def most_common(self) -> float:
        """The share of the value that most rows have."""
        return float(self.levels[-1] / self.present) if self.present and self.levels.size else 0.0

    @cached_property
    def skewness(self) -> float:
        spread = float(self.values.std()) if self.values.size else 0.0
        if not spread or not np.isfinite(spread):
            return 0.0
        return float((((self.values - self.values.mean()) / spread) ** 3).mean())

    @property
    def least(self) -> float:
        return float(self.values.min()) if self.values.size else 0.0

    @property
    def greatest(self) -> float:
        return float(self.values.max()) if self.values.size else 0.0

    @property
    def merged_as(self) -> str | None:
        """What its rare levels can become, as it is no level itself."""
        return next((name for name in TAKEN if not self.taken.get(name)), None)


def _of(i: int, counts: Sequence[int], names: Sequence[AnyName]) -> dict[AnyName, int]:
    """Of the i-th text, of which there are so many counts each."""
    return dict(zip(names, counts[i * len(names) : (i + 1) * len(names)], strict=True))


def figures(spec: SuggestionSpec, looked: Looked) -> list[Figures]:
    """What was counted of each column."""
    columns = [asked.column for asked in spec.columns]
    single = (column.name for column in columns if is_single(column))
    places = {name: i for i, name in enumerate(single)}
    table = one_below_the_other(looked.values, looked.rows)
    table = table[np.lexsort(table.T)] if table.size else table  # rows come in any order
    scale = max((spec.whole or 0) / looked.rows, 1.0) if looked.rows else 1.0
    found = []
    for column, present in zip(columns, looked.present, strict=True):
        own = Figures(column, spec.table, looked.rows, scale, present)
        if looked.rows and column.name in places:
            i = places[column.name]
            values = table[:, i]
            own = replace(
                own,
                distinct=looked.distinct[i],
                values=values[~np.isnan(values)],
                of_rows=values,
                looks=_of(i, looked.looks, list(Look)),
                within=looked.within[i],
                digits=looked.digits[i],
                taken=_of(i, looked.taken, TAKEN),
                longest=looked.longest[i] or 0,
                words=looked.words[i] or 0.0,
            )
        found.append(own)
    return found
