"""The gate of app.py: what a view would publish is held against the original, and what fails is not published.

A view of the owner's is one SELECT of columns of one mask. The mask's call names the original, the confidential
columns, the key and the design; its rows are read once, with the key, and judged by ppduck.release_verdict. What is
judged is what is published, but for the key where the view leaves it out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
from app_door import Refused, quoted

TOLD = ("conf", "key", "nonconf", "p", "matrix", "levels")
# Rows are published in an order of their own.
LIMITS = {"order": None}
FORM = "the gate judges the rows of one mask: SELECT columns FROM x_mask('table', conf=…, key=…)"


class Release:
    """What a view reads of its mask: the statement, with the key, and what the mask's call tells of it."""

    def __init__(self, con: duckdb.DuckDBPyConnection, body: str) -> None:
        self.con = con
        [(text,)] = con.execute(
            "SELECT system.main.json_serialize_sql(CAST(? AS VARCHAR))", [body]
        ).fetchall()
        self._tree = json.loads(text)
        select = self._tree["statements"][0]["node"]
        _refuse_other_forms(select)
        self.original, self.told = self._read(select["from_table"]["function"])
        # A column may have any name in the view: it is judged by its own, and published by the view's.
        names = self._columns()
        for item in select["select_list"]:
            if item["class"] == "COLUMN_REF" and item["column_names"][-1] not in names:
                item["alias"] = ""
        self.published = self._columns()
        there = {name.casefold() for name in self.published}
        self.added = [name for name in self.told["key"] if name.casefold() not in there]
        select["select_list"][:0] = map(_column, self.added)
        self._columns()  # refuses a mask that gives no key

    @property
    def statement(self) -> str:
        return self._text(self._tree)

    def _text(self, tree: dict[str, Any]) -> str:
        query = "SELECT system.main.json_deserialize_sql(CAST(? AS JSON))"
        [(text,)] = self.con.execute(query, [json.dumps(tree)]).fetchall()
        return str(text)

    def _columns(self) -> list[str]:
        try:
            found = self.con.execute(f"DESCRIBE {self.statement}").fetchall()
        except duckdb.BinderException as error:
            raise Refused(403, "gate", f"{FORM}, of which the key is one. {error}") from None
        return [name for name, *_ in found]

    def _read(self, call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The original's name, and what the gate is told of the release."""
        query = "SELECT system.main.any_value(parameters) FROM system.main.duckdb_functions() WHERE function_name = ?"
        [(slots,)] = self.con.execute(query, [call["function_name"]]).fetchall()
        known = [name for name in slots if not name.startswith("_")]
        given: dict[str, Any] = {}
        arguments = call.get("arguments") or call["children"]  # DuckDB 2.0 and 1.4
        for place, argument in enumerate(arguments):
            own = argument.get("expression", argument)
            name = own["alias"] or "".join(own.get("left", {}).get("column_names", []))
            if not own["alias"] and name:
                # key = 'id' is a comparison to DuckDB, which may not stand behind key := 'id'.
                own = {**own["right"], "alias": name}
                arguments[place] = (
                    {"name": name, "expression": own} if "expression" in argument else own
                )
            given[(name or known[place]).casefold()] = self._value(own)
        told = {name: given[name] for name in TOLD if given.get(name) is not None}
        if given.get("invariant"):  # its matrix is made of the data
            told.pop("p", None)
        per_column = [given.get(name) for name in ("p", "matrix")]
        masked = told.get("conf") or [
            name for each in per_column if isinstance(each, dict) for name in each
        ]
        for name, value in (("conf", masked), ("key", told.get("key"))):
            if not value:
                missing = f"{FORM}; {call['function_name']} is called without {name} here."
                raise Refused(403, "gate", missing)
        told |= {"conf": _names(masked), "key": _names(told["key"])}
        return str(given["tbl"]), told

    def _value(self, expression: dict[str, Any]) -> Any:
        [(text,)] = self.con.execute("SELECT system.main.json_serialize_sql('SELECT 1')").fetchall()
        tree = json.loads(text)
        tree["statements"][0]["node"]["select_list"] = [{**expression, "alias": ""}]
        [(value,)] = self.con.execute(self._text(tree)).fetchall()
        return value


def judge(con: duckdb.DuckDBPyConnection, release: Release, table: str) -> None:
    """Refuses what a table of the release tells; the key tells nothing where it is not published."""
    import ppduck  # here, since workers need none of it

    verdict = ppduck.release_verdict(con, release.original, table, limits=LIMITS, **release.told)
    failed = [
        rule
        for rule in verdict["rules"]
        if rule["passed"] is False and rule["column_name"] not in release.added
    ]
    if failed or not any(rule["passed"] for rule in verdict["rules"]):
        raise Refused(403, "gate", "; ".join(map(_failure, failed)) or "no rule was asked.")


def _failure(rule: dict[str, Any]) -> str:
    of = "" if rule["column_name"] is None else f" of {quoted(rule['column_name'])}"
    if rule["value"] is None:
        return f"{rule['rule']}{of} could not be measured ({rule['why']})"
    return f"{rule['rule']}{of} is {rule['value']:.4g}, above its limit of {rule['at_most']:.4g} ({rule['why']})"


def _refuse_other_forms(select: dict[str, Any]) -> None:
    """What has other rows than the mask, or those of two, cannot be held against one original."""
    read = select.get("from_table") or {}
    more = [name for name in ("where_clause", "having", "qualify", "sample") if select.get(name)]
    more += [name for name in ("group_expressions", "group_sets", "modifiers") if select.get(name)]
    more += ["cte_map"] if (select.get("cte_map") or {}).get("map") else []
    if select["type"] != "SELECT_NODE" or read.get("type") != "TABLE_FUNCTION":
        raise Refused(403, "gate", f"{FORM}. Make a view of each mask; analysts join them.")
    if more or read.get("sample") or read.get("column_name_alias"):
        raise Refused(
            403,
            "gate",
            f"{FORM}, without WHERE, GROUP BY, DISTINCT, ORDER BY, LIMIT or WITH. Analysts write these; to publish "
            "some rows only, mask a view of them.",
        )


def _names(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _column(name: str) -> dict[str, Any]:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [name]}


def columns(release: Release, names: list[str]) -> Iterator[str]:
    """The columns of a judged table that a view publishes, under the view's own names."""
    for own, name in zip(release.published, names, strict=True):
        yield f"{quoted(own)} AS {quoted(name)}"
