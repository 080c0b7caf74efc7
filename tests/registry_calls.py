"""What tests ask of the registry, in place of lists of names: which masks there are, and how each can be called."""

from __future__ import annotations

import json
import re
from typing import Any

from ppduck.call.numeric_mask import NumericCall, NumericMask
from ppduck.call.parameters import Parameter, parameters_of
from ppduck.call.registry import Function, masks

# name=value, and of a {'column': number} the first number
_ARGUMENT = re.compile(r"(\w+) ?:?= ?(\{'\w+': ([\d.]+)[^}]*\}|\[[^]]*\]|'[^']*'|[\w.]+)")
SHARED = {parameter.name for parameter in parameters_of(NumericCall)}


def masks_of_numbers() -> list[NumericMask]:
    return [mask for mask in masks().values() if isinstance(mask, NumericMask)]


def masks_of_conf() -> list[Function]:
    """The masks that must be told which numeric columns: those of numbers, and the plain ones."""
    return [mask for mask in masks().values() if any(_is_of_numbers(each) for each in mask.parameters)]


def _is_of_numbers(parameter: Parameter) -> bool:
    return parameter.name == "conf" and parameter.default is None and "numeric" in parameter.doc


def exact_masks() -> list[NumericMask]:
    """Those whose moments come out to rounding, at least column by column."""
    return [mask for mask in masks_of_numbers() if mask.is_exact(usual_call(mask))]


def takes(function: Function, parameter: str) -> bool:
    return any(each.name == parameter for each in function.parameters)


def needed(mask: Function) -> dict[str, str]:
    """The arguments of its own that a mask's example gives, as SQL, with one number for all columns."""
    given = {found[1]: found[3] or found[2] for found in _ARGUMENT.finditer(mask.example)}
    return {each.name: given[each.name] for each in mask.parameters if each.name in given and each.name not in SHARED}


def more(mask: Function) -> str:
    """The same, to stand behind other arguments of a call."""
    return "".join(f", {name}={value}" for name, value in needed(mask).items())


def usual_call(mask: NumericMask) -> Any:
    """A call of a mask with what it must have, to ask what it promises."""
    own = {name: json.loads(text) for name, text in needed(mask).items()}
    return mask.takes(tbl="t", conf=["x1", "x2"], **own)  # type: ignore[operator]
