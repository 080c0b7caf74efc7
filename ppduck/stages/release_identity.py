"""What makes a release the one it is: two that differ in this have noise of their own, two that agree share it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ppduck.call.numeric_mask import NumericCall, NumericMask, own_arguments
from ppduck.call.roles import Roles
from ppduck.values import folded


def context(mask: NumericMask, roles: Roles, call: NumericCall) -> str:
    """What is asked for, and not how: two ways to write one release must not have noise of their own.

    Their average would have less of it. So names count as DuckDB compares them, levels as a set, numbers
    as numbers; defaults are left out, and the order of columns does not show. What on_null says is left
    out too: where it matters the rows that are masked, or the features, are others.
    """
    defaults = {parameter.name: _plain(parameter.value) for parameter in mask.parameters}
    own = {name: _plain(value) for name, value in own_arguments(call).items()}
    asked = {
        "function": mask.name,
        "conf": sorted(folded(column.name) for column in roles.conf),
        "features": _features(roles),
        # strata was once called by, and on_null once counted: both stay, or old releases would get new noise.
        "by": sorted(map(folded, roles.strata)),
        "on_null": "error",
        "seed": call.seed,
        "parameters": {name: value for name, value in own.items() if value != defaults[name]},
    }
    return written(asked)


def written(asked: Mapping[str, Any]) -> str:
    """The same text for the same thing asked for, which tweaks are made of."""
    return json.dumps(asked, sort_keys=True)


def _features(roles: Roles) -> list[str]:
    """Numbers by name, categories by their levels but one, whichever of them planning compares the others with."""
    found = [folded(feature.column) for feature in roles.features if feature.level is None]
    for name in {feature.column for feature in roles.features if feature.level is not None}:
        found += [f"{folded(name)} = {level}" for level in sorted(roles.levels.get(name, ()))[1:]]
    found += [f"{folded(name)} IS NULL" for name in roles.null_levels]
    return sorted(found)


def _plain(value: Any) -> Any:
    """A {column: number} whose numbers are all the same as that number; 1.0 as 1; lists of columns as sets."""
    if isinstance(value, dict):
        numbers = {folded(name): _plain(part) for name, part in value.items()}
        return (
            numbers.popitem()[1]
            if len(set(numbers.values())) == 1
            else dict(sorted(numbers.items()))
        )
    if isinstance(value, list):
        return sorted(
            (folded(part) if isinstance(part, str) else _plain(part) for part in value), key=repr
        )
    return int(value) if isinstance(value, float) and value.is_integer() else value
