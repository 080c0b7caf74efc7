"""What makes a release the one it is: two that differ in this have noise of their own, two that agree share it."""

from __future__ import annotations

import json
from typing import Any

from ppduck.plan.numeric import COMMON_NAMES, NumericMask
from ppduck.plan.roles import Roles


def context(mask: NumericMask, roles: Roles, given: dict[str, Any]) -> str:
    """What is asked for, and not how: two ways to write one release must not have noise of their own.

    Their average would have less of it. So defaults are left out, and the order of columns does not show.
    """
    defaults = {parameter.name: parameter.default for parameter in mask.parameters}
    own = {name: _plain(value) for name, value in given.items() if name not in COMMON_NAMES}
    asked = {
        "function": mask.name,
        "conf": sorted(column.name for column in roles.conf),
        "features": sorted(feature.label for feature in roles.features),
        "by": sorted(roles.strata),  # under the name that noise knows it by: another would be other noise
        # Where NULL is a level, the features say so.
        "on_null": {"level": "error"}.get(on_null := given.get("on_null", "error"), on_null),
        "seed": given.get("seed"),
        "parameters": {name: value for name, value in own.items() if str(value) != defaults[name]},
    }
    return json.dumps(asked, sort_keys=True)


def _plain(value: Any) -> Any:
    """A {column: number} whose numbers are all the same as that number; 1.0 as 1."""
    if isinstance(value, dict):
        numbers = {_plain(part) for part in value.values()}
        return numbers.pop() if len(numbers) == 1 else {name: _plain(part) for name, part in sorted(value.items())}
    return int(value) if isinstance(value, float) and value.is_integer() else value
