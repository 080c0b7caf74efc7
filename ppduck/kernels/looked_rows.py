"""Rows of both tables that are looked at, and what an intruder knows of them before a column tells him more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.public import Public, centred, powers, ranks
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
    released: Sequence[Sequence[str | None]] = ()  # categories of conf after


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
