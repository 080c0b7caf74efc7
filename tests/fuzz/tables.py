"""Random tables: odd names, every type, NULL, NaN, no rows, one row."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import duckdb

ROWS = (0, 1, 2, 3, 7, 30, 60, 120, 300, 300, 300, 1000, 1000)
NAMES = (
    *("x", "y", "z", "income", "age", "X1", "x 2", "select", "from", "group", "order", 'a"b', "o'clock", "größe"),
    *("Ä", "ä", "a.b", "count", "p", "1", "null", "rowid", "key", "level", "𝛑", "tab\tname", "x" * 80, "semi;colon"),
    *("--", "/*", "$1", "?", "conf", "value", "rows", "true", "%s", "{x}", "hash", "_pp", "id2", "limit", "column"),
)

# Of row i of a table with n rows and salt k. DuckDB's hash spreads, so that columns are not related by accident.
_U = "(hash(i, {k}) % 1000003 / 1000003.0)"
NUMBERS = {
    "normal": f"sqrt(-2 * ln({_U} + 1e-7)) * cos(6.28 * hash(i, {{k}} + 7) % 1000003 / 1000003.0) * 3 + 10",
    "large": f"1e9 + 1000 * {_U}",
    "skewed": f"exp(3 * {_U})",
    "money": f"CAST(round(1000 * {_U}, 2) AS DECIMAL(12, 2))",
    "whole": f"CAST(floor(500 * {_U}) AS INTEGER)",
    "small": f"CAST(floor(100 * {_U}) AS TINYINT)",
    "unsigned": f"CAST(floor(60000 * {_U}) AS USMALLINT)",
    "huge": f"CAST(1e30 AS HUGEINT) + CAST(floor(1e6 * {_U}) AS HUGEINT)",
    "single": f"CAST(100 * {_U} AS FLOAT)",
    "few": f"CAST(floor(4 * {_U}) AS INTEGER)",
    "zeros": f"CASE WHEN {_U} < 0.8 THEN 0 ELSE 100 * {_U} END",
    "line": "CAST(i AS DOUBLE)",
    "tiny": f"1e-160 * {_U}",
    "giant": f"1e160 * {_U}",
    "constant": "5.0",
    "one apart": "CASE WHEN i = 1 THEN 1e6 ELSE (hash(i, {k}) % 100) END",
    "nan": f"CASE WHEN i % 50 = 3 THEN 'nan'::DOUBLE ELSE {_U} END",
    "infinite": f"CASE WHEN i % 50 = 3 THEN 'inf'::DOUBLE ELSE {_U} END",
}
CATEGORIES = {
    "text": "['east', 'north', 'south', 'west'][1 + CAST(hash(i, {k}) % 4 AS INTEGER)]",
    "odd text": "['it''s', '', ' ', 'ß', '\"', NULL, 'a,b'][1 + CAST(hash(i, {k}) % 7 AS INTEGER)]",
    "flag": "hash(i, {k}) % 3 = 0",
    "enum": "CAST(['low', 'mid', 'high'][1 + CAST(hash(i, {k}) % 3 AS INTEGER)] AS ENUM('low', 'mid', 'high', 'never'))",
    "one level": "'same'",
    "many": "'level ' || hash(i, {k}) % 40",
    "codes": "CAST(hash(i, {k}) % 3 AS INTEGER)",
    "rare": "CASE WHEN i = 0 THEN 'alone' ELSE 'common' END",
}
OTHERS = {
    "names": "'name ' || i",
    "date": "DATE '2020-01-01' + CAST(hash(i, {k}) % 900 AS INTEGER)",
    "timestamp": "TIMESTAMP '2020-01-01 00:00:00' + to_seconds(CAST(hash(i, {k}) % 90000 AS BIGINT))",
    "time": "TIME '01:00:00'",
    "interval": "to_days(CAST(hash(i, {k}) % 9 AS INTEGER))",
    "uuid": "CAST(md5(CAST(i AS VARCHAR)) AS UUID)",
    "blob": "CAST('b' || i AS BLOB)",
    "bits": "CAST(CAST(hash(i, {k}) % 8 AS INTEGER) AS BIT)",
    "list": "[i, i + 1]",
    "struct": "{{'a': i, 'b': 'x'}}",
    "map": "MAP {{'a': i}}",
    "nothing": "NULL",
    "null double": "CAST(NULL AS DOUBLE)",
}
KEYS = {
    "whole": "CAST(i AS BIGINT)",
    "text": "'k' || i",
    "uuid": "CAST(md5(CAST(i AS VARCHAR)) AS UUID)",
    "shared": "CAST(i // 3 AS BIGINT)",
    "gaps": "CASE WHEN i % 40 = 7 THEN NULL ELSE i END",
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Table:
    """A table that calls may name: its columns by kind, and the copies of it that play a release."""

    name: str
    rows: int
    key: str
    unique_key: bool
    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    releases: list[str] = field(default_factory=list)
    views: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return [self.key, *self.numbers, *self.categories, *self.others]

    @property
    def anywhere(self) -> list[str]:
        """Everything that holds these columns."""
        name = quoted(self.name)
        return [name, name, name, f"(SELECT * FROM {name})", *self.views]


def make(con: duckdb.DuckDBPyConnection, chance: random.Random, name: str) -> Table:
    """A random table, a copy of it with noise, one in another order, and views over both."""
    plain = chance.random() < 0.5  # else any column may be odd
    names = chance.sample(NAMES, len(NAMES))
    key_kind = "whole" if plain else chance.choice(list(KEYS))
    table = Table(name, chance.choice(ROWS), names.pop(), unique_key=key_kind not in ("shared", "gaps"))
    parts = [f"{KEYS[key_kind]} AS {quoted(table.key)}"]

    def add(kinds: dict[str, str], wanted: int, into: list[str], sane: int) -> None:
        for _ in range(wanted):
            kind = chance.choice(list(kinds)[:sane] if plain else list(kinds))
            own, value = names.pop(), kinds[kind].format(k=chance.randrange(1000))
            if not plain and chance.random() < 0.2:
                value = f"CASE WHEN hash(i, {chance.randrange(99)}) % 10 > 0 THEN {value} END"
            into.append(own)
            parts.append(f"{value} AS {quoted(own)}")

    add(NUMBERS, chance.randint(1, 5), table.numbers, 12)
    add(CATEGORIES, chance.choice((0, 1, 2, 2, 3, 3)), table.categories, 5)
    add(OTHERS, chance.randint(0, 0 if plain else 3), table.others, len(OTHERS))
    own = quoted(name)
    con.execute(f"CREATE OR REPLACE TABLE {own} AS SELECT {', '.join(parts)} FROM range({table.rows}) AS r(i)")
    noisy = [
        f"TRY_CAST({quoted(column)} AS DOUBLE) + hash({quoted(column)}, 1) % 100 / 25.0 AS {quoted(column)}"
        for column in table.numbers
    ]
    copies = {
        f"{name} noisy": f"SELECT * REPLACE ({', '.join(noisy)}) FROM {own}",
        f"{name} turned": f"SELECT * FROM {own} ORDER BY hash({quoted(table.key)})",
        f"{name} part": f"SELECT * FROM {own} LIMIT {table.rows // 2}",
    }
    for copy, query in copies.items():
        con.execute(f"CREATE OR REPLACE TABLE {quoted(copy)} AS {query}")
        table.releases.append(quoted(copy))
    view = f"{name} view"
    con.execute(f"CREATE OR REPLACE VIEW {quoted(view)} AS SELECT * FROM {own}")
    table.views.append(quoted(view))
    if table.categories and table.rows > 3:
        randomized = f"{name} rr"
        query = f"FROM rr_mask({literal(own)}, p=0.8, conf=[{literal(table.categories[0])}])"
        try:
            con.execute(f"CREATE OR REPLACE VIEW {quoted(randomized)} AS {query}")
            table.views.append(quoted(randomized))
        except duckdb.Error:
            pass  # an odd column: the same call is made by the fuzzer, which looks at its error
    return table
