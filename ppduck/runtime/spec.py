"""What Python is told of a call of a mask of numbers: its columns by role, its arguments, and what it promises."""

from __future__ import annotations

from typing import Any

from ppduck.call.linear_mask import LinearMask, TermPlaces
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import function_named
from ppduck.call.spec import Spec
from ppduck.frozen import frozen


@frozen
class MaskSpec(Spec):
    """Names, arguments and promises of one call; the same for all of its groups."""

    conf: list[str]
    nonconf: list[str]
    features: list[str]  # the terms of S
    places: TermPlaces
    key: list[str]
    row: str  # the type of a row, as the planner saw it
    measured: list[str]  # features that are numbers, and conf
    categories: list[str]  # of nonconf
    indicators_of: list[list[int]]  # places of each category's indicators among the features
    bases: list[str]  # levels that have no indicator
    on_null: str
    null_levels: list[str]  # columns in which NULL is a level
    nullable: list[str]  # columns in which NULL could be one, by on_null := 'level'
    left_out: list[str]  # categories that are not in nonconf by default, having too many levels
    steps: list[float]  # how far apart values of conf are in their type; 0 for none
    permutes: bool
    exact: bool
    arguments: dict[str, Any]  # those of the call, but for tbl
    context: str  # what tells this release from others: noise hangs on it
    indicators: list[bool]  # which inputs of a fitted model are indicators, 0 or 1
    inputs: list[str]  # the column that each of these inputs comes from

    @property
    def mask(self) -> NumericMask:
        found = function_named(self.function)
        assert isinstance(found, NumericMask)
        return found

    @property
    def linear_mask(self) -> LinearMask:
        found = self.mask
        assert isinstance(found, LinearMask)
        return found

    @property
    def call(self) -> Any:
        """The call itself, as the function's own class of parameters: nothing else reads ``arguments``."""
        takes: Any = function_named(self.function).takes
        return takes(tbl=self.table, **self.arguments)

    @property
    def rounds(self) -> bool:
        return bool(self.call.round)
