"""The door of app.py: reads a query as DuckDB parses it, and lets through only what analysts or owners may write."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import sqlglot
from sqlglot import TokenType

MASKS = "_mask"  # how the names of functions end that may stand in a published view
TABLE_FUNCTIONS = {"generate_series", "range", "unnest"}
# ppduck's, which read the view that their first argument names.
ESTIMATES = {
    "association_measures",
    "chi2_independence",
    "independence_test",
    "rr_association",
    "rr_reconstruct",
}
# Of scalar functions, ppduck's serve its table functions, and nobody else.
INNER_FUNCTIONS = ("ppduck_", "_pp_")
# They tell of the service or change it, not of the views.
REFUSED_FUNCTIONS = {"current_setting", "currval", "getenv", "getvariable", "nextval", "write_log"}
NO_MEMORY = {"Allocation failure", "std::bad_alloc"}
QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
TABLE_REFS = {"BASE_TABLE", "TABLE_FUNCTION", "SUBQUERY", "JOIN"}
# SELECT without FROM, VALUES
TABLE_REFS |= {"EMPTY", "EMPTY_FROM", "EXPRESSION_LIST", "COLUMN_DATA"}


class Refused(Exception):  # noqa: N818 - an answer, and no mistake of ours
    """A request that is not answered: its HTTP status, a word for programs, a sentence for people."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


def check(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    tables: set[str],
    functions: set[str] | None,
    macros: frozenset[str] | set[str] = frozenset(),
) -> None:
    """Lets pass one SELECT that reads these tables and table functions only (None: masks), as DuckDB parses it.

    A macro may read what it likes behind the name of any function or operator: it must not call one of ``macros``.
    """
    [(text,)] = con.execute(
        "SELECT system.main.json_serialize_sql(CAST(? AS VARCHAR))", [sql]
    ).fetchall()
    parsed = json.loads(text)
    if parsed["error"] and parsed["error_message"] in NO_MEMORY:
        raise MemoryError
    # What is no SELECT is "not implemented"; whatever else is wrong, too deep a query say, is told as it is.
    if parsed["error"] and parsed["error_type"] != "not implemented":
        raise Refused(400, "syntax", parsed["error_message"])
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise Refused(403, "not_a_select", "give exactly one SELECT; nothing else is run here.")
    node = parsed["statements"][0]["node"]
    _walk(node, {name.casefold() for name in tables}, functions)
    _refuse_macros(node, macros)


def _walk(node: Any, tables: set[str], functions: set[str] | None) -> None:
    """Refuses what DuckDB's own tree of a query holds beyond the allowed; ``tables`` grows by the names WITH gives."""
    if isinstance(node, list):
        for part in node:
            _walk(part, tables, functions)
    if not isinstance(node, dict):
        return
    kind = str(node.get("type", ""))
    if kind.endswith("_NODE") and kind not in QUERY_NODES:
        raise Refused(403, "not_a_select", "a query that writes is not run here.")
    for read in (node.get(place) for place in ("from_table", "left", "right")):
        if not isinstance(read, dict) or "class" in read or read["type"].endswith("_NODE"):
            continue  # an expression, or a query of its own
        if read["type"] not in TABLE_REFS:
            raise Refused(
                403,
                "not_a_view",
                "name the views to read; SHOW, DESCRIBE and PIVOT are not run here.",
            )
    if kind == "BASE_TABLE":
        path = [node["catalog_name"], node["schema_name"], node["table_name"]]
        if any(path[:2]) or path[2].casefold() not in tables:
            name = ".".join(part for part in path if part)
            raise Refused(
                403,
                "not_a_view",
                f"there is no view {quoted(name)}; GET /views lists those there are.",
            )
    if kind == "TABLE_FUNCTION":
        name = node["function"].get("function_name", "")
        allowed = name.endswith(MASKS) if functions is None else name.casefold() in functions
        if not allowed:
            raise Refused(
                403, "function", f"the function {quoted(name)} may not stand in FROM here."
            )
        if functions is None:
            _refuse_seed(node["function"])
        elif name.casefold() in ESTIMATES:
            _refuse_no_view(node["function"], tables)
    elif node.get("class") == "FUNCTION" and (
        node["function_name"].casefold() in REFUSED_FUNCTIONS
        or node["function_name"].casefold().startswith(INNER_FUNCTIONS)
    ):
        raise Refused(
            403,
            "function",
            f"the function {quoted(node['function_name'])} is not for queries here.",
        )
    visible = set(tables)
    for entry in (node.get("cte_map") or {}).get("map", []):
        own, body = {entry["key"].casefold()}, entry["value"]
        top = body.get("query_node") or body["query"]["node"]  # DuckDB 2.0 and 1.4
        _walk(body, visible | own if top["type"] == "RECURSIVE_CTE_NODE" else visible, functions)
        visible |= own
    if kind in ("RECURSIVE_CTE_NODE", "CTE_NODE"):
        visible.add(str(node.get("cte_name", "")).casefold())
    for name, part in node.items():
        if name != "cte_map":
            _walk(part, visible, functions)


def _refuse_macros(node: Any, macros: frozenset[str] | set[str]) -> None:
    for part in node if isinstance(node, list) else node.values() if isinstance(node, dict) else ():
        _refuse_macros(part, macros)
    name = node.get("function_name") if isinstance(node, dict) else None
    if name and name.casefold() in macros:
        raise Refused(
            403,
            "macro",
            f"{quoted(name)} is a macro of the database, which may read anything; drop it.",
        )


def _refuse_no_view(estimate: dict[str, Any], tables: set[str]) -> None:
    """What an estimate is told to read is a text, in which a whole SELECT could stand: it must be a view's name."""
    first: dict[str, Any] = next(iter(_arguments(estimate)), {})
    # DuckDB 2.0 and 1.4
    text = first.get("literal", {}).get("text") or first.get("value", {}).get("value")
    if first.get("alias") or not isinstance(text, str) or text.casefold() not in tables:
        raise Refused(
            403,
            "not_a_view",
            f"the first argument of {quoted(estimate['function_name'])} must be the name of a view, as a text.",
        )


def _arguments(function: dict[str, Any]) -> list[dict[str, Any]]:
    given = function.get("arguments") or function.get("children") or []  # DuckDB 2.0 and 1.4
    return [each.get("expression", each) for each in given]


def _refuse_seed(mask: dict[str, Any]) -> None:
    """Anybody can repeat the noise of a seed. No mask has it among its first two parameters."""
    for position, argument in enumerate(_arguments(mask)):
        # seed := 7 is an alias, seed = 7 a comparison.
        name = argument["alias"] or "".join(argument.get("left", {}).get("column_names", []))
        if name.casefold() == "seed":
            raise Refused(403, "seed", "anybody can repeat the noise of a seed; leave it out.")
        if not name and position > 1:
            raise Refused(
                403, "seed", "give parameters by their names: one of those without may be a seed."
            )


def body_of_view(created: str) -> str:
    """The SELECT of a CREATE VIEW. The names before the first AS may hold one of their own, in quotes."""
    place = next((word.end for word in words(created) if word.token_type == TokenType.ALIAS), -1)
    return created[place + 1 :]


def without_semicolon(sql: str) -> str:
    """A statement that may stand in parentheses."""
    inner = words(sql)
    return sql[inner[0].start : inner[-1].end + 1] if inner else sql


def words(sql: str) -> list[sqlglot.Token]:
    try:
        return [
            word
            for word in sqlglot.tokenize(sql, read="duckdb")
            if word.token_type != TokenType.SEMICOLON
        ]
    except sqlglot.TokenError:
        return []  # DuckDB will say what is wrong


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
