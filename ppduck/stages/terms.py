"""The terms of a mask: what stands for S and X in its form, and the centre that each is measured from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ppduck.call.linear_mask import TermPlaces
from ppduck.call.roles import numeric
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.masking import Masking


@frozen
class Terms:
    """Terms of S by label, then the conf columns: their values row by row, and what the first look asks of them."""

    labels: list[str]  # of S
    values: list[sql.Expr]  # of S, then of X
    places: TermPlaces
    # The aggregate, under a name, that finds the centre of a term by its place; None where 0 will do.
    centre: Callable[[int, str], Aggregate | None]
    also: Sequence[Aggregate] = ()  # what else the first look tells of the columns
    indicators: list[bool] = field(default_factory=list)  # which inputs of a model are 0 or 1
    inputs: list[str] = field(default_factory=list)

    @property
    def p(self) -> int:
        return len(self.labels)

    @property
    def q(self) -> int:
        return len(self.values) - self.p

    @property
    def centres(self) -> list[str]:
        return [f"_pp_m{i}" for i in range(len(self.values))]

    @property
    def deviations(self) -> list[str]:
        return [f"_pp_d{i}" for i in range(len(self.values))]


def own_terms(masking: Masking) -> Terms:
    """The columns of nonconf as features, and conf, measured from their means."""
    roles = masking.roles
    features, conf = roles.features, [numeric(column) for column in roles.conf]
    values = [feature.value for feature in features] + conf

    def centre(i: int, name: str) -> Aggregate:
        return aggregates.mean(name, values[i], none=0.0)

    return Terms([feature.label for feature in features], values, TermPlaces(len(features)), centre)
