"""A policy as it was written, with the place of everything in it: from YAML, or from dictionaries and lists.

Scalars are read as YAML 1.2 reads them: true and false, whole numbers without leading zeros, decimals, null, and else
text, so that a level ``no``, a zip code ``01234`` and a day ``2026-01-31`` stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.libraries import yaml

MOST_NODES = 100_000  # a text whose references unfold to more is no policy
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


class UnreadableError(PpduckError):
    """A text that is no YAML."""


@frozen
class Node:
    """A scalar, a list of nodes, or nodes by name; ``path`` and ``mark`` say where it stands."""

    value: Any
    path: str = ""
    mark: str = ""  # of YAML the line and the column
    twice: tuple[
        str, ...
    ] = ()  # of a whole document, what it names twice; the first of two is here

    @property
    def place(self) -> str:
        return " ".join(filter(None, (self.path, self.mark and f"({self.mark})")))

    @property
    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {name: node.plain for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value


def of_python(value: Any, path: str = "") -> Node:
    """What a dictionary, or a struct of SQL's, says."""
    if isinstance(value, Mapping):
        return Node(
            {str(name): of_python(own, _below(path, name)) for name, own in value.items()}, path
        )
    if isinstance(value, (list, tuple)):
        return Node([of_python(own, path) for own in value], path)
    return Node(float(value) if isinstance(value, Decimal) else value, path)


def of_yaml(text: str) -> Node:
    """What a text in YAML says."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f" at {_mark(mark)}" if mark is not None else ""
        raise UnreadableError(f"is no YAML{at}: {error.problem}") from None
    except yaml.YAMLError:
        raise UnreadableError("is no YAML: it holds a character that YAML does not know") from None
    if root is None:
        raise UnreadableError("is empty")
    reader = _Yaml()
    found = reader.node(root, "")
    return Node(found.value, found.path, found.mark, tuple(reader.twice))


def as_yaml(value: Any) -> str:
    """A policy of dictionaries and lists as a text that ``of_yaml`` reads back as it was."""

    class Writer(yaml.SafeDumper):  # type: ignore[misc,name-defined]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def written(writer: Any, text: str) -> Any:
        plain = _NAME.fullmatch(text) and text.lower() not in _WORDS
        style = None if plain else '"'  # PyYAML's own rules are those of YAML 1.1
        return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Writer.add_representer(str, written)
    layout: Any = {"default_flow_style": None, "width": float("inf")}
    return str(yaml.dump(value, Dumper=Writer, sort_keys=False, allow_unicode=True, **layout))


def without(defaults: Mapping[str, Any], said: Any) -> Any:
    """Without options that say what holds if they are left out: two policies that say the same are the same."""
    if not isinstance(said, Mapping):
        return said
    return {
        name: own for name, own in said.items() if name not in defaults or own != defaults[name]
    }


class _Yaml:
    """Reads one document, whose nodes are counted."""

    def __init__(self) -> None:
        self.twice: list[str] = []
        self._nodes = 0
        self._open: list[Any] = []  # those that are being read, none of which may hold itself

    def node(self, node: Any, path: str) -> Node:
        self._nodes += 1
        if self._nodes > MOST_NODES or any(node is each for each in self._open):
            raise UnreadableError("refers to itself, or unfolds to more than a policy has")
        mark = _mark(node.start_mark)
        if isinstance(node, yaml.ScalarNode):
            return Node(_scalar(node), path, mark)
        self._open.append(node)
        try:
            if isinstance(node, yaml.SequenceNode):
                return Node([self.node(each, path) for each in node.value], path, mark)
            return Node(self._named(node, path), path, mark)
        finally:
            self._open.pop()

    def _named(self, node: Any, path: str) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise UnreadableError(f"has a name that is no text at {_mark(key.start_mark)}")
            own = self.node(value, _below(path, key.value))
            if key.value in found:
                first, second = found[key.value].mark, _mark(key.start_mark)
                self.twice.append(f"{own.path} is there twice, at {first} and at {second}.")
                continue
            found[key.value] = Node(own.value, own.path, _mark(key.start_mark))
        return found


def _scalar(node: Any) -> Any:
    text = str(node.value)
    if node.style is not None and node.style != "":
        return text  # quoted
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _mark(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _below(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)
