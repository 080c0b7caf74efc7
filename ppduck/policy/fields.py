"""The fields of a policy that say one thing: texts, whole numbers, names of columns, limits; and how faults are put."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ppduck.errors import Faults, listed, near_miss
from ppduck.gate.limits import misread
from ppduck.policy.document import Node


class Fields:
    """What stands at the top of a policy."""

    def __init__(self, faults: Faults, document: Node, known: Iterable[str]) -> None:
        self.faults = faults
        names = list(known)
        for each in document.twice:
            faults.add(each)
        if not isinstance(document.value, dict):
            at = f" at {document.place}" if document.place else ""
            raise faults.refuse(
                f"a policy is a mapping of names to values, got {kind(document.value)}{at}."
            )
        for name, own in document.value.items():
            if name not in names:
                self.add(
                    own,
                    f"a policy has no {name!r}.{near_miss(name, names)} It has: {listed(names)}.",
                )
        self._own: dict[str, Node] = document.value

    def add(self, node: Node, fault: str) -> None:
        """A fault with its place."""
        self.faults.add(f"{node.place}: {fault}" if node.place else fault)

    def get(self, name: str) -> Node | None:
        """What is said under a name, if anything is."""
        node = self._own.get(name)
        return None if node is None or node.value is None else node

    def mapping(self, name: str, takes: str) -> dict[str, Node]:
        node = self.get(name)
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            self.add(node, f"{name} takes {takes}, got {kind(node.value)}.")
            return {}
        return node.value

    def text(self, name: str) -> str | None:
        node = self.get(name)
        if node is None:
            return None
        if not isinstance(node.value, str) or not node.value:
            self.add(node, f"{name} takes a text, got {kind(node.value)}.")
            return None
        return node.value

    def whole(self, name: str) -> int | None:
        node = self.get(name)
        if node is None:
            return None
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < 1:
            self.add(node, f"{name} takes a whole number of at least 1, got {node.value!r}.")
            return None
        return int(node.value)

    def names(self, name: str) -> tuple[str, ...] | None:
        """Columns, of which one may stand by itself."""
        node = self.get(name)
        if node is None:
            return None
        found = [node.value] if isinstance(node.value, str) else node.plain
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            self.add(node, f"{name} takes a column name or a list of them, got {kind(node.value)}.")
            return None
        return tuple(found)

    def limits(self) -> dict[str, Any]:
        """Rules of the gate and what they allow."""
        given = self.mapping("limits", "rules and their limits, such as {linkage: 0.05}")
        for name, own in given.items():
            for fault in misread({name: own.plain}):
                self.add(own, fault)
        return {name: own.plain for name, own in given.items()}


def kind(value: Any) -> str:
    """What was given in place of something else."""
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value), repr(value))
