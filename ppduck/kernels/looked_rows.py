"""Rows of both tables that are looked at, and what an intruder knows of them before a column tells him more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.public import Public, centred, from_the_middle, powers, ranks
from ppduck.values import Array


@frozen
class Sample:
    """Rows of both tables: open columns, numbers of conf before and after, categories of conf before, keys."""

    open: Array
    conf: Sequence[str]
    x: Array
    y: Array
    categories: Sequence[str]
    levels: Sequence[Sequence[str | None]]
    keys: Array  # those columns of the key that are numbers
    released: Sequence[Sequence[str | None]] = ()  # the first of these categories, after

    def without(self, place: int) -> Sample:
        """The same rows, but for a category that is released, which is not sought there."""
        rest = [i for i in range(len(self.categories)) if i != place]
        return replace(
            self,
            categories=[self.categories[i] for i in rest],
            levels=[self.levels[i] for i in rest],
            released=[self.released[i] for i in rest if i < len(self.released)],
        )


@frozen
class Targets:
    """Numbers of conf that are known in the same rows, and what is left of their ranks when something is public."""

    rows: npt.NDArray[np.bool_]
    names: list[str]
    x: Array
    ranks: Array
    open: Sequence[Array]
    y: Array
    keys: Array

    @property
    def n(self) -> int:
        return len(self.x)

    @cached_property
    def by_open(self) -> Public:
        return Public(self.open, self.n)

    @cached_property
    def by_release(self) -> Public:
        """The masked columns are public too: what else a column may tell is sought."""
        masked = [each for y in self.y.T for each in (centred(y), ranks(y))]
        return Public([*self.open, *masked], self.n)

    @cached_property
    def by_key(self) -> Public:
        return Public([*self.open, *powers(self.keys)], self.n)

    @cached_property
    def left_by_release(self) -> Array:
        return self.by_release.left_of(self.ranks)

    @cached_property
    def folded(self) -> Array:
        """How far from the middle each value ranks."""
        return np.column_stack([from_the_middle(column) for column in self.x.T])

    @cached_property
    def by_folded_release(self) -> Public:
        """What the release tells of that, too."""
        folded = [from_the_middle(y) for y in self.y.T]
        return Public([*self.by_release.basis.T, *folded], self.n)
