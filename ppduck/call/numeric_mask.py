"""What every mask of numbers is: the parameters that they share, what it reads, when its values stay near."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Promise
from ppduck.call.parameters import Call, own_parameters, parameter, parameters
from ppduck.call.registry import Function
from ppduck.call.roles import Roles
from ppduck.errors import listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.values import folded


@parameters
class NumericCall(Call):
    """A call of a mask of numbers. A mask's own parameters stand behind tbl and conf."""

    tbl: str = TABLE
    conf: Sequence[str] = parameter(
        arguments.columns, "the numeric columns to mask, such as conf := ['x1', 'x2']"
    )
    nonconf: Sequence[str] | None = parameter(
        arguments.columns,
        "the columns whose relation to conf is kept; by default every other numeric, boolean or few-valued text column "
        "that is not in strata, key or drop",
        None,
        last=True,
    )
    strata: Sequence[str] = parameter(
        arguments.columns, "mask within each group of these columns", (), last=True
    )
    key: Sequence[str] = parameter(
        arguments.columns, "the columns that identify a row for its noise", (), last=True
    )
    seed: int | None = parameter(
        arguments.integer, "repeatable, unprotected noise for tests", None, last=True
    )
    on_null: str = parameter(
        arguments.choice("error", "level", "drop", "mean"),
        "NULL in nonconf is refused, is a level of its category, leaves its row out, or counts as the mean; refused by "
        "default, because each of the others changes what the release keeps",
        "error",
        last=True,
    )
    round: bool = parameter(
        arguments.flag, "give integers and decimals back in their own type", False, last=True
    )
    drop: Sequence[str] = parameter(
        arguments.columns, "columns to leave out of the output", (), last=True
    )


AnyNumericCall = TypeVar("AnyNumericCall", bound=NumericCall)
PerColumn = float | dict[str, float]


@frozen
class Advice:
    """What recommend_mask() says of a mask: what it keeps and at what price, in short; its promises say the rest."""

    keeps: str
    price: str
    given: tuple[tuple[str, Any], ...] = ()  # the arguments of the calls that this is said of


@frozen(kw_only=True)
class NumericMask(Function):
    """A mask of numeric columns, and what a user can read of it before it is run."""

    reads_s: bool = True  # whether it looks at nonconf
    # Whether a call asks for values that stay near the originals, and what to take where they stay too near.
    stays_near: Callable[[Any], bool] = lambda call: False
    remedy: str = "fewer columns in nonconf"
    advised: tuple[Advice, ...] = ()  # none of a mask that is not to be recommended

    def permutes(self, call: Any) -> bool:
        """Whether the masked values are the original ones of other rows."""
        return self.promises(Promise.VALUES, call)

    def keeps_range(self, call: Any) -> bool:
        """Whether no masked value is below the smallest original or above the largest."""
        return self.permutes(call) or self.promises(Promise.RANGE, call)

    def is_exact(self, call: Any) -> bool:
        """Whether moments come out to rounding, which bringing values to a column's type would move."""
        kept = self.promises(Promise.MOMENTS, call) or self.promises(Promise.SPREAD, call)
        return kept and not call.round


def own_arguments(call: NumericCall) -> dict[str, Any]:
    """The arguments that a mask does not share with others."""
    return {name: getattr(call, name) for name in own_parameters(type(call), NumericCall)}


def by_own_names(call: AnyNumericCall, roles: Roles) -> AnyNumericCall:
    """With every {column: number} under the columns' own spelling, as DuckDB does not mind the case."""
    own = {folded(column.name): column.name for column in roles.conf}
    renamed: dict[str, Any] = {
        name: {own.get(folded(column), column): part for column, part in value.items()}
        for name, value in own_arguments(call).items()
        if isinstance(value, dict)
    }
    return dataclasses.replace(call, **renamed)


def check_columns(parameter: str, value: Any, conf: list[str]) -> list[str]:
    """What is wrong with the columns of a {column: number}: each conf column is to be in it, once."""
    if not isinstance(value, dict):
        return []
    unknown = [name for name in value if name not in conf]
    faults = [
        f"{parameter} names column {quoted(name)}, which is not in conf.{near_miss(name, conf)}"
        for name in unknown
    ]
    missing = [name for name in conf if name not in value]
    if missing:
        faults.append(f"{parameter} says nothing of conf column {listed(missing)}.")
    return faults
