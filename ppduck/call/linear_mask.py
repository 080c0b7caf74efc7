"""What a linear mask is: the terms it has, and its solve.

Y = c + S·B + X·G + V·A row by row. A mask says which of the terms it has and solves for them from
the moments of [S, X, V]; ``ppduck.stages`` writes the statement around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Literal, TypeVar

import numpy as np

from ppduck.call.numeric_mask import NumericMask, PerColumn
from ppduck.errors import Faults, PpduckError
from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks, LinearForm, independent
from ppduck.notes import Note
from ppduck.values import Array, Moments

AnyTerm = TypeVar("AnyTerm")
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
    # moments of the ranks of [S, X], for the masks that work on ranks
    ranks: Moments | None = None
    # some rows of [S, X, V], for the masks that look at them one by one
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

    def terms(
        self, output: int, s: Sequence[AnyTerm], x: Sequence[AnyTerm], v: Sequence[AnyTerm]
    ) -> list[AnyTerm]:
        """Of all terms those that an output of the form has, in their order: of values as of their coefficients.

        nm_egadp_mask has two outputs for each conf column: Y of all columns, and behind these E(X|S) of all of them. So
        the columns are gone round twice, and an output's own term is that of its column.
        """
        own = output % len(x)
        spans = {"none": slice(0), "own": slice(own, own + 1), "all": slice(None)}
        return [*s, *x[spans[self.reads_x]], *v[spans[self.reads_v]]]

    def size(self, p: int, q: int) -> int:
        """How many coefficients an output has, its intercept among them."""
        return 1 + len(self.terms(0, range(p), range(q), range(q)))


def flatten(mask: LinearMask, form: LinearForm) -> list[float]:
    """A form as the list that the projection reads: for each output its intercept, then its terms."""
    result: list[float] = []
    for j, intercept in enumerate(form.intercept.tolist()):
        s, x, v = (block[:, j].tolist() for block in (form.on_s, form.on_x, form.on_v))
        result += [intercept, *mask.terms(j, s, x, v)]
    return result
