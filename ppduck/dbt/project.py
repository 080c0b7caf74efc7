"""What dbt knows of a project's models, as its manifest and its graph tell: their rules, sources and columns.

Which columns a model will have is found before it is built, by binding its SQL in an empty database: seeds are
described by their files, and what is not built in this run by the database. Where a model's SQL holds more Jinja than
ref, source and config, or does not bind, its columns are unknown, and the masked model's rule is checked when it is
compiled.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ppduck.dbt import policies
from ppduck.dbt.policies import Release, read_release
from ppduck.dbt.rules import LATER, MASK, META, Rule, read_rule
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql

MACRO = "ppduck_mask"
CALL = "ppduck_call_"  # how the keys begin under which the macro writes its calls into the model's meta
MADE = "ppduck_release_"  # the same of calls that release a table by the model's policy
BUILT = ("model", "snapshot")  # what a call of the macro may stand in
REBUILT = ("view", "table", "ephemeral")  # what has the columns of its SQL after every run
_CALL = re.compile(rf"\b(?:{MACRO}|{policies.MACRO})\(\s*(?:ref|source)\(\s*([^)]*)\)")
HERE = Path()  # the project's folder, where the files that metas name are: dbt works in it
Node = Mapping[str, Any]


def name_of(node: Node) -> str:
    return str(node["name"])


def own_meta(node: Node) -> Any:
    """What ppduck finds in the meta of a model or column, wherever this version of dbt keeps it."""
    places = ((node.get("config") or {}).get("meta"), node.get("meta"))
    return next((meta[META] for meta in places if meta and META in meta), None)


@frozen
class Call:
    """A call of the macro, as it was when dbt read the model."""

    arguments: Mapping[str, Any]
    over_text: bool  # what it masks is SQL, not a relation that dbt knows


def calls_of(node: Node) -> list[Call]:
    """The calls of the macro that a model makes, also by way of other macros."""
    return [
        Call(
            {name: _read(name, text) for name, text in call["arguments"].items()}, call["over_text"]
        )
        for call in _noted(node, CALL)
    ]


def _noted(node: Node, how: str) -> list[Any]:
    """What a macro has written into the meta of a model that calls it."""
    meta = (node.get("config") or {}).get("meta") or node.get("meta") or {}
    return [told for key, told in meta.items() if key.startswith(how)]


def _read(name: str, text: str) -> Any:
    """An argument from a list of one as Python writes it. What has no literal, or is not there yet, is LATER.

    While dbt reads a model no query is run: columns that are looked up are none. Only nonconf means it.
    """
    try:
        [value] = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return LATER
    return LATER if value is None or (value in ([], "") and name != "nonconf") else value


def column_metas(node: Node) -> dict[str, Any]:
    metas = {name: own_meta(column) for name, column in (node.get("columns") or {}).items()}
    return {name: meta for name, meta in metas.items() if meta is not None}


def rule_of(node: Node, call: Mapping[str, Any] | None = None) -> Rule:
    """The rule of a model; PpduckError where it is none that ppduck can carry out."""
    return read_rule(name_of(node), own_meta(node), column_metas(node), call)


def rules_of(node: Node) -> list[Rule]:
    """The rules that a model carries out, one a call; that of its meta where it makes none.

    A call whose mask is known only when the model runs has no rule yet.
    """
    calls = [call.arguments for call in calls_of(node)] or [{}]
    return [rule_of(node, call) for call in calls if call.get(MASK) is not LATER]


def has_rule(node: Node) -> bool:
    metas = own_meta(node) is not None or bool(column_metas(node))
    return metas or bool(_noted(node, CALL)) or bool(_noted(node, MADE))


def called(node: Node) -> set[str]:
    """Which of ppduck's macros a model calls, also by way of other macros."""
    used = (node.get("depends_on") or {}).get("macros") or []
    names = {str(macro).split(".")[-1] for macro in used}
    noted = {MACRO: CALL, policies.MACRO: MADE}
    return {name for name, how in noted.items() if name in names or _noted(node, how)}


def calls_the_macro(node: Node) -> bool:
    return bool(called(node))


def has_policy(node: Node) -> bool:
    """Whether the metas of a model are a policy: the macro that it calls says so, else what they can only mean."""
    macros = called(node)
    if macros:
        return policies.MACRO in macros
    return policies.says_policy(own_meta(node), column_metas(node))


def release_of(node: Node, folder: Path = HERE) -> Release:
    """The policy of a model; PpduckError where it is none that ppduck can carry out."""
    if MACRO in called(node):
        raise Faults(policies.where(name_of(node))).refuse(
            f"it calls both {MACRO} and {policies.MACRO}, and its metas are either a rule or a policy; make two models "
            "of it."
        )
    incremental = (node.get("config") or {}).get("materialized") == "incremental"
    if incremental and called(node) and not _is_the_call_alone(node):
        raise Faults(policies.where(name_of(node))).refuse(
            "the model is incremental, and its batches are judged as the policy makes them; let its SQL be the call of "
            f"{policies.MACRO} alone."
        )
    return read_release(
        name_of(node), own_meta(node), column_metas(node), folder=folder, incremental=incremental
    )


def _is_the_call_alone(node: Node) -> bool:
    """Whether a model's SQL is what ppduck_release_table makes, and nothing besides."""
    whole = "ppduck_made"
    context = {
        policies.MACRO: lambda *_: whole,
        "config": lambda *_, **__: "",
        **dict.fromkeys(("ref", "source", "var"), lambda *_, **__: ""),
    }
    try:
        text = _template(node).render(context)
    except Exception:  # more Jinja than that: whatever it makes is not known
        return False
    return [line for line in text.split("\n") if line.strip() and not line.startswith("--")] == [
        whole
    ]


def _template(node: Node) -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined).from_string(str(node["raw_code"]))


@dataclass
class Project:
    """Models, seeds and sources by their dbt id."""

    nodes: Mapping[str, Node]
    folder: Path = HERE
    _known: dict[str, list[str] | None] = field(default_factory=dict)
    _scratch: duckdb.DuckDBPyConnection | None = None

    def models(self) -> Iterator[tuple[str, Node]]:
        yield from (
            (id_, node) for id_, node in self.nodes.items() if node.get("resource_type") in BUILT
        )

    def sources(self, node: Node) -> list[str]:
        """The ids of what a model masks: what its call names, else all it is made of."""
        every = [
            id_ for id_ in (node.get("depends_on") or {}).get("nodes") or [] if id_ in self.nodes
        ]
        calls = _CALL.findall(str(node.get("raw_code") or ""))
        named = {
            re.findall(r"['\"]([^'\"]+)['\"]", call)[-1]
            for call in calls
            if re.search(r"['\"]", call)
        }
        return [id_ for id_ in every if self.nodes[id_]["name"] in named] or every

    def only_source(self, node: Node) -> str | None:
        """What a model masks, as it stands in a FROM clause, where it is one relation."""
        sources = self.sources(node)
        return self.nodes[sources[0]].get("relation_name") if len(sources) == 1 else None

    def faults(self, only: Sequence[str] | None = None) -> list[str]:
        """What is wrong with the rules, a message a model; before anything is built."""
        found = []
        for id_, node in self.models():
            if has_rule(node) and (only is None or id_ in only):
                try:
                    self.check(node)
                except PpduckError as error:
                    found.append(str(error))
        return found

    def warnings(self, only: Sequence[str] | None = None) -> list[str]:
        """Rules that nobody carries out."""
        return [
            f"model {quoted(name_of(node))} has a {_kind(node)}: it is released as its SQL makes it."
            for id_, node in self.models()
            if has_rule(node) and not calls_the_macro(node) and (only is None or id_ in only)
        ]

    def check(self, node: Node) -> Sequence[Rule | Release]:
        """The rules of a model, or its policy; their columns are looked up as far as they can be known."""
        rules: Sequence[Rule | Release]
        rules = [release_of(node, self.folder)] if has_policy(node) else rules_of(node)
        sources = self.sources(node)
        calls = [*_noted(node, CALL), *_noted(node, MADE)]
        if len(sources) == 1 and not any(call["over_text"] for call in calls):
            columns = self.columns(sources[0])
            if columns is not None:
                for rule in rules:
                    rule.check_columns(name_of(self.nodes[sources[0]]), columns)
        return rules

    def columns(self, id_: str) -> list[str] | None:
        """The columns that a node will have; None where they cannot be known yet."""
        if id_ not in self._known:
            self._known[id_] = None  # what refers to itself is not known
            try:
                self._known[id_] = self._described(id_)
            except Exception:  # whatever is wrong with the model, dbt will say it better
                self._known[id_] = None
        return self._known[id_]

    def _described(self, id_: str) -> list[str]:
        if self._scratch is None:
            still = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
            self._scratch = duckdb.connect(config={**still, "python_enable_replacements": "false"})
        node, name = self.nodes[id_], _quoted(id_)
        built = node.get("columns_in_database")
        if built:
            columns = ", ".join(f"{_quoted(column)} {type_}" for column, type_ in built)
            self._scratch.execute(f"CREATE TABLE {name} ({columns})")
        elif node["resource_type"] == "seed":
            path = Path(node.get("root_path") or ".") / node["original_file_path"]
            delimiter = (node.get("config") or {}).get("delimiter") or ","
            query = "SELECT * FROM read_csv($1, header := true, delim := $2) LIMIT 0"
            self._scratch.execute(f"CREATE TABLE {name} AS {query}", [str(path), delimiter])
        elif (node.get("config") or {}).get("materialized") in REBUILT:
            self._scratch.execute(f"CREATE VIEW {name} AS {self._rendered(node)}")
        else:
            raise LookupError(id_)
        return [row[0] for row in self._scratch.execute(f"DESCRIBE {name}").fetchall()]

    def _rendered(self, node: Node) -> str:
        """A model's SQL over the scratch database; fails where more is asked of Jinja than names."""

        def named(*parts: str, **_: Any) -> str:
            ids = (node.get("depends_on") or {}).get("nodes") or []
            [id_] = [
                each for each in ids if each in self.nodes and self.nodes[each]["name"] == parts[-1]
            ]
            if self.columns(id_) is None:
                raise LookupError(id_)
            return _quoted(id_)

        context = {
            "ref": named,
            "source": named,
            "config": lambda **_: "",
            "is_incremental": lambda: False,
        }
        return str(_template(node).render(context)).strip().rstrip(";")


def _kind(node: Node) -> str:
    if has_policy(node):
        return f"release policy and does not call {policies.MACRO}"
    return f"masking rule and does not call {MACRO}"


def _quoted(name: str) -> str:
    return sql.render(sql.name(name))
