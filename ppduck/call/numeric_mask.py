"""What every mask of numbers is: the parameters that they share, what it reads, what it promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function
from ppduck.call.roles import Roles
from ppduck.values import folded

COMMON = (
    arguments.TBL,
    Parameter("conf", arguments.columns, "the numeric columns to mask, such as conf := ['x1', 'x2']"),
    Parameter(
        "nonconf",
        arguments.columns,
        "the columns whose relation to conf is kept; by default every other numeric, boolean or few-valued text column "
        "that is not in strata, key or drop",
        "NULL",
    ),
    Parameter("strata", arguments.columns, "mask within each group of these columns", "NULL"),
    Parameter("key", arguments.columns, "the columns that identify a row for its noise", "NULL"),
    Parameter("seed", arguments.integer, "repeatable, unprotected noise for tests", "NULL"),
    Parameter(
        "on_null",
        arguments.choice("error", "level", "drop", "mean"),
        "NULL in nonconf is refused, is a level of its category, leaves its row out, or counts as the mean; refused by "
        "default, because each of the others changes what the release keeps",
        "'error'",
    ),
    Parameter("round", arguments.flag, "give integers and decimals back in their own type", "false"),
    Parameter("drop", arguments.columns, "columns to leave out of the output", "NULL"),
)
COMMON_NAMES = {parameter.name for parameter in COMMON}


@dataclass(frozen=True)
class NumericMask(Function):
    """A mask of numeric columns, and what a user can read of it before it is run."""

    reads_s: bool  # whether it looks at nonconf
    permutes: Callable[[dict[str, Any]], bool]  # whether the masked values are the original ones of other rows
    keeps_range: bool  # whether no masked value is below the smallest original or above the largest
    asked: Callable[[dict[str, Any]], bool]  # whether the parameters ask for values that stay near the originals
    remedy: str  # what to take where they stay too near


def parameters_of(own: tuple[Parameter, ...], without: tuple[str, ...] = ()) -> tuple[Parameter, ...]:
    """A mask's parameters: its own stand behind tbl and conf, where a positional call would put them."""
    return COMMON[:2] + own + tuple(parameter for parameter in COMMON[2:] if parameter.name not in without)


def by_own_name(value: Any, roles: Roles) -> Any:
    """A {column: number} under the columns' own spelling, as DuckDB does not mind the case."""
    if not isinstance(value, dict):
        return value
    own = {folded(column.name): column.name for column in roles.conf}
    return {own.get(folded(name), name): part for name, part in value.items()}
