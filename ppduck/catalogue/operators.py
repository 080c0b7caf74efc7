"""Macros that change what SQL itself means: operators, lists and structs cannot be qualified, so they are looked for.

``1 + 1``, ``[1]`` and ``x[1]`` call functions named ``+``, ``list_value`` and ``array_extract``, which a macro of that
name takes the place of. Two looks find such macros. The macro of each ppduck function hands the planner a ``PROBE``:
the text of some expressions as DuckDB bound them, in which a macro shows by its body, wherever it is found from where
the call stands, a temporary one too. A macro with several bodies might show the probe one that looks right. So
the planner's cursor reads some ``LITERALS``, and of every database that is attached the catalogue is asked once; at
each call where there are schemas other than main, in which ``a OPERATOR(main.+) b`` looks like the operator itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from ppduck.catalogue.reader import Reader
from ppduck.catalogue.trip import Trip
from ppduck.errors import Faults, UnreadError, quoted
from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign, qualified

# What SQL calls by these names, as an expression in which a macro of that name would show. No two share their text.
EXPRESSIONS = {
    "+": "1 + 2",
    "-": "3 - 4",
    "*": "5 * 6",
    "/": "7e0 / 8e0",
    "//": "9 // 10",
    "%": "11 % 12",
    "&": "13 & 14",
    "<<": "15 << 16",
    ">>": "17 >> 18",
    "||": "'b' || 'c'",
    "list_value": "[19]",
    "struct_pack": "{'d': 20}",
    "row": "(21, 22)",
    "map": "map(system.main.list_value(23), system.main.list_value(24))",
    "array_extract": "array_extract('e', 25)",
    "array_slice": "array_slice('f', 26, 27)",
    "struct_extract": "struct_extract(system.main.struct_pack(g := 28), 'g')",
    # DuckDB's own macros, such as array_to_string and list_min, call these by their names.
    "list_aggr": "list_aggr(system.main.list_value(29), 'sum')",
    "len": "len('h')",
}
# beside a macro of that name DuckDB's own does not work, whatever its schema
REFUSED = (*EXPRESSIONS, "query")
PROBE = f"system.main.alias(system.main.row({', '.join(EXPRESSIONS.values())}))"
"""SQL for the text of all these expressions."""
# A macro has a body for each length of lists, and structs by the names of their fields, of which it cannot know this.
_LISTS = ", ".join(str([f"i{i}" for i in range(length)]) for length in range(1, 41))
LITERALS = f"system.main.alias(system.main.row({_LISTS}, {{'f{secrets.token_hex(8)}': 30}}))"
PARTS = ", ".join([*(f"system.main.alias({each})" for each in EXPRESSIONS.values()), LITERALS])

Place = tuple[str, str, str]  # database, schema, name


class Syntax:
    """What these expressions look like where there are no macros, and which databases were asked for some."""

    def __init__(self, parts: Sequence[str]) -> None:
        *expressions, self._literals = parts
        self._parts = dict(zip(EXPRESSIONS, expressions, strict=True))
        self._asked: set[tuple[int, str]] = set()

    def refuse_shadowed(
        self, function: str, reader: Reader, probed: str, trip: Trip, place: tuple[str, ...]
    ) -> None:
        """Refuses a call in whose place a macro stands for a piece of syntax."""
        # The setting integer_division turns / into //, which is nobody's macro.
        probed = probed.replace("(7.0 // 8.0)", self._parts["/"])
        if probed == f'"row"({", ".join(self._parts.values())})':
            if trip.once(("literals", place), lambda: self._means_what_it_says(function, reader)):
                return
            refuse_macros(function, reader)
        names = [name for name, part in self._parts.items() if part not in probed] or list(
            EXPRESSIONS
        )
        found = _macros(reader, names)
        missing = [name for name in names if name not in {place[2].lower() for place in found}]
        # What the planner's cursor does not see is a temporary macro of the caller.
        raise _refusal(function, [*found, *(("temp", "main", name) for name in missing)])

    def _means_what_it_says(self, function: str, reader: Reader) -> bool:
        self._ask_databases(function, reader)
        return self._reads_literals(reader)

    def _reads_literals(self, reader: Reader) -> bool:
        try:
            return bool(
                reader.execute(f"SELECT {foreign(LITERALS)}").fetchone() == (self._literals,)
            )
        except UnreadError:
            return False

    def _ask_databases(self, function: str, reader: Reader) -> None:
        query = (
            "SELECT database_oid, database_name, schema_name FROM duckdb_schemas() "
            "WHERE database_name NOT IN ('system', 'temp')"
        )
        found = reader.execute(query).fetchall()
        attached = {(oid, database) for oid, database, _ in found}
        if not attached <= self._asked or any(schema != "main" for *_, schema in found):
            refuse_macros(function, reader)
            self._asked = attached


def refuse_macros(function: str, reader: Reader) -> None:
    """Refuses where any schema of any database has such a macro."""
    found = _macros(reader, REFUSED)
    if found:
        raise _refusal(function, found)


def _macros(reader: Reader, names: Iterable[str]) -> list[Place]:
    listed = ", ".join(sql.render(sql.text(name)) for name in names)
    query = (
        "SELECT DISTINCT database_name, schema_name, function_name FROM duckdb_functions() "
        f"WHERE function_type = 'macro' AND NOT internal AND lower(function_name) IN ({listed}) ORDER BY ALL"
    )
    return [
        (database, schema, name)
        for database, schema, name in reader.execute(qualified(query)).fetchall()
    ]


def _refusal(function: str, found: Sequence[Place]) -> Exception:
    macros = ", ".join(
        f"{quoted(name)} in schema {quoted(database)}.{quoted(schema)}"
        for database, schema, name in found
    )
    drop = " ".join(f"DROP MACRO {'.'.join(map(quoted, place))};" for place in found)
    which = "a macro stands" if len(found) == 1 else "macros stand"
    return Faults(function).refuse(
        f"{which} in place of what SQL means by an operator or a literal, so that no plan can be relied on: {macros}. "
        f"Drop or rename it: {drop}"
    )
