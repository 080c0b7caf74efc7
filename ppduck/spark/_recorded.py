"""What a release tells of its call: all but what noise or pseudonyms could be made again from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WITHHELD = "withheld"
_KEYS = ("seed", "salt")


def told(value: Any, name: str = "") -> Any:
    """An argument, or all of them by their names.

    >>> told({"conf": ["x"], "seed": 7, "columns": {"name": {"as": "hash", "salt": "pepper"}}})
    {'conf': ['x'], 'seed': 'withheld', 'columns': {'name': {'as': 'hash', 'salt': 'withheld'}}}
    """
    if name.casefold() in _KEYS and value is not None:
        return WITHHELD
    if isinstance(value, Mapping):
        return {key: told(own, str(key)) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [told(own) for own in value]
    if name.casefold() == "policy" and isinstance(value, str) and "\n" in value:
        return WITHHELD  # a whole document, which may hold salts
    return value
