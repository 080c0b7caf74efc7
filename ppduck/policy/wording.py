"""What a policy says of a column, in words: its line, and the arguments of its mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppduck.policy.document import Node
from ppduck.policy.model import Treatment


def said(node: Node, masks: Mapping[str, Node]) -> str:
    """As in "date shift, per customer_id, within 30 days"."""
    if isinstance(node.value, str):
        return node.value
    found = _told(node.plain)
    mask = node.value.get(Treatment.MASK.value)
    group = masks.get(mask.value) if mask is not None else None
    if group is not None and isinstance(group.value, dict):
        found += _told(group.plain)
    return ", ".join(found)


def _told(given: Mapping[str, Any]) -> list[str]:
    return [f"{name} {_shown(value)}" for name, value in given.items()]


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_shown(own)}" for name, own in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
