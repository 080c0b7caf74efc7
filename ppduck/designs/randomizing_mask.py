"""What a mask that randomizes is: what it is told, and how its promises read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import parameter
from ppduck.call.registry import Function
from ppduck.designs.design import MOST_MATRIX_LEVELS, DesignCall, probabilities
from ppduck.frozen import frozen

CONF: Any = parameter(
    arguments.columns, "the columns to randomize; by default those that p and matrix name", None
)
# Other functions can do without, where a view over a mask tells them.
P, MATRIX = probabilities(
    "each column needs p or matrix, one of them", f", of {MOST_MATRIX_LEVELS} levels at most"
)
KEY: Any = parameter(arguments.columns, "the columns that identify a row for its draws", ())
SEED: Any = parameter(arguments.integer, "repeatable, unprotected draws for tests", None)
ON_NULL: Any = parameter(
    arguments.choice("keep", "level"),
    "whether NULL stays NULL or is a level like others; it stays by default, because where nothing was answered there "
    "is no answer to randomize",
    "keep",
)
DROP: Any = parameter(arguments.columns, "columns to leave out of the output", ())


class RandomizingCall(DesignCall):
    """What the masks that randomize are told; each declares it in an order of its own."""

    tbl: str
    conf: Sequence[str] | None
    key: Sequence[str]
    seed: int | None
    drop: Sequence[str]
    invariant: bool


@frozen
class RandomizingMask(Function):
    """A mask that publishes categories by a design."""

    def promised(self) -> tuple[list[str], list[str]]:
        """Of a call that gives no more than it must: the sentences do not say for which calls they hold."""
        plainest: Any = self.takes(
            **{each.name: None for each in self.parameters if each.default is None}
        )
        return list(map(str, self.kept(plainest))), list(map(str, self.lost(plainest)))
