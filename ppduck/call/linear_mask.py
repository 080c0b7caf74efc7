"""What a linear mask is: the terms it has, and its solve.

Y = c + S·B + X·G + V·A row by row. A mask says which of the terms it has and solves for them from
the moments of [S, X, V]; ``ppduck.stages`` writes the statement around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, Literal

import numpy as np

from ppduck.call.numeric_mask import NumericMask, PerColumn
from ppduck.errors import Faults, PpduckError
from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks, LinearForm, independent
from ppduck.notes import Note
from ppduck.values import Array

Span = Literal["none", "own", "all"]
Weighing = Literal["none", "warned", "each", "all"]


def _nothing() -> Array:
    return np.empty(0)


@frozen
class TermPlaces:
    """Which terms of S are what: the user's own, E(X|S) as a model has learnt it, and products of both with X."""

    own: int  # the first terms: columns of nonconf
    fitted: tuple[int, ...] = ()  # for each conf column its learnt mean
    products: tuple[tuple[int, ...], ...] = ()  # for each conf column u·u, u·x and x·x

    @property
    def explaining(self) -> int:
        """The first terms, on which X may be regressed."""
        return self.own + len(self.fitted)


@frozen
class Request:
    """What a solve has to know of the call: names for messages, its arguments, and what was summed beside moments."""

    function: str
    table: str
    group: str | None
    conf: list[str]
    features: list[str]  # the terms of S by name
    call: Any  # the mask's own class of parameters
    places: TermPlaces
    # the features that are numbers and not levels, and conf
    measured: list[str] = field(default_factory=list)
    # sums of products of ranks, for the masks that work on ranks
    ranks: Array = field(default_factory=_nothing)
    # some rows of the form's terms, one after the other
    sample: Array = field(default_factory=_nothing)
    heavy: frozenset[int] = frozenset()  # terms of S of which a single row makes up much
    query: int = 0  # the number of the query, of which the same is said only once

    @property
    def where(self) -> str:
        return f" in the group {self.group}" if self.group else ""

    def faults(self) -> Faults:
        return Faults(self.function, self.table)

    def refuse(self, fault: str) -> PpduckError:
        return self.faults().refuse(fault)

    def note(self, sentence: str, column: str, figure: str, size: float) -> Note:
        """What is to be said of a column beside its masked values."""
        return Note(self.faults().where, sentence, column, figure, size, self.group, self.query)

    def per_column(self, value: PerColumn) -> Array:
        """One number, or {column: number}, as one number a column."""
        numbers = [value[name] if isinstance(value, dict) else value for name in self.conf]
        return np.array(numbers, dtype=float)


def all_of_s(blocks: Blocks, places: TermPlaces) -> list[int]:
    return independent(blocks.ss)


@frozen(kw_only=True)
class LinearMask(NumericMask):
    """A mask with a linear form: which terms it has, and how it solves for them."""

    solve: Callable[[Blocks, Request], LinearForm]
    reads_x: Span = "all"
    reads_v: Span = "all"
    # whether the solve needs the moments of V too
    needs_noise: Callable[[Any], bool] = lambda call: True
    # the terms that X is regressed on
    explaining: Callable[[Blocks, TermPlaces], list[int]] = all_of_s
    # The share of values of each column that stay, beyond chance, where more is known of it than the moments tell.
    staying: Callable[[Blocks, Request, LinearForm], Array] | None = None
    # How a row that dominates X is judged: not at all, column by column (refused, or at most warned of), or in all
    # terms of [S, X] together.
    weighs_x: Callable[[Any], Weighing] = lambda call: "all"


def flatten(mask: LinearMask, form: LinearForm) -> list[float]:
    """A form as the list that the projection reads: for each masked column its terms in order."""
    result: list[float] = []
    for j, intercept in enumerate(form.intercept):
        result.append(float(intercept))
        result += form.on_s[:, j].tolist()
        for span, block in ((mask.reads_x, form.on_x), (mask.reads_v, form.on_v)):
            own = j % len(block)  # a form may go round its columns more than once
            result += {"none": [], "own": [float(block[own, j])], "all": block[:, j].tolist()}[span]
    return result
