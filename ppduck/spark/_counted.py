"""Functions that ask only how many rows have which values of the columns that they name.

Each partition counts its combinations of these values; the driver's DuckDB adds the counts up, and has a view that
gives every combination as often as it occurs. The call is then asked there, word for word: what it answers is what
DuckDB would have answered of all rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.call.registry import Function
from ppduck.catalogue.source import Source
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.extension.connections import load
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.spark._catalog import SparkCatalog
from ppduck.spark._driver import Driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTED = (
    "rr_reconstruct", "rr_covariance", "rr_association", "rr_query", "k_anonymity", "l_diversity", "t_closeness",
    "association_measures", "chi2_independence", "independence_test",
)  # fmt: skip
MOST_COMBINATIONS = 1_000_000
_COUNT, _COUNTS = "_pp_count", "_pp_counts"


def answered(
    function: Function, text: str, driver: Driver, frame: Callable[[str], DataFrame]
) -> pa.Table:
    """The answer to a call, given as it stands in SQL."""
    catalog = SparkCatalog.of(driver, frame)
    _, texts = driver.read(text)
    label = _table(function, catalog, function.read(texts, catalog))
    source = catalog.source(function.name, label)
    counts = _counts(function, catalog, source, text)
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as con:
        load(con)
        con.execute("SET enable_progress_bar = false")
        name = _made(con, source, counts)
        asked = text if name == label else _renamed(text, label, name)
        try:
            return con.sql(f"FROM {asked}").to_arrow_table()
        except duckdb.Error as error:
            raise PpduckError(_words(error).replace(quoted(name), quoted(label))) from None


def _table(function: Function, catalog: SparkCatalog, call: Any) -> str:
    """The table that a call asks about, as it writes it."""
    if isinstance(call, dict):  # a plain macro, which reads its arguments itself
        return str(catalog.evaluate(call["tbl"]))
    if hasattr(call, "tbl"):
        return str(call.tbl)
    try:
        table = sqlglot.parse_one(call.query, dialect="duckdb").find(exp.Table)
    except SqlglotError:
        table = None
    if table is None:
        raise Faults(function.name).refuse("the query reads no table.")
    table.set("alias", None)
    return table.sql(dialect="duckdb")


def _counts(function: Function, catalog: SparkCatalog, source: Source, text: str) -> pa.Table:
    """The combinations of the columns that the call names, with how often they occur in each partition."""
    words = {word.casefold() for word in re.findall(r"\w+", text)}
    named = [
        column.name
        for column in source.columns or ()
        if set(re.findall(r"\w+", column.name.casefold())) <= words
    ]
    columns = [sql.column(name) for name in named]
    grouped = sql.query(
        [*columns, sql.named(aggregates.rows(), _COUNT)],
        sql.source(source.sql),
        group=[column.copy() for column in columns],
        limit=sql.number(MOST_COMBINATIONS + 1),
    )
    engine = catalog.engine(source)
    found = engine.collect_partials(grouped, {})
    table = pa.concat_tables([catalog.driver.answer(grouped), *found])
    if any(len(each) > MOST_COMBINATIONS for each in (*found, table)):
        raise Faults(function.name, source.label).refuse(
            f"the columns {', '.join(map(quoted, named))} have more than {MOST_COMBINATIONS:,} combinations, more than "
            "the driver counts; group their values, or ask about fewer columns."
        )
    for column in source.columns or ():
        if column.name not in named:
            none = pa.nulls(len(table), engine.table.schema.field(column.name).type)
            table = table.append_column(column.name, none)
    return table.select([*(column.name for column in source.columns or ()), _COUNT])


def _made(con: duckdb.DuckDBPyConnection, source: Source, counts: pa.Table) -> str:
    """A view under the table's own name, if DuckDB can have one."""
    con.execute("SET TimeZone = 'UTC'")
    con.register("_pp_small", counts)
    con.execute(f"CREATE TABLE {_COUNTS} AS FROM _pp_small")
    con.unregister("_pp_small")
    plain = re.fullmatch(r"(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)", source.label)
    name = source.label if plain else "spark_table"
    if plain and plain[1]:
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(plain[1])}")
    own = ".".join(map(quoted, name.split("."))) if plain else quoted(name)
    columns = ", ".join(quoted(column.name) for column in source.columns or ())
    con.execute(f"CREATE VIEW {own} AS SELECT {columns} FROM {_COUNTS}, range({_COUNT})")
    return name


def _renamed(text: str, label: str, name: str) -> str:
    """The call with another name for its table."""
    given = sql.render(sql.text(label))
    return text.replace(given, sql.render(sql.text(name))).replace(label, name)


def _words(error: duckdb.Error) -> str:
    found = re.search(r"PpduckError: (?P<words>.*?)\s*(?:\n\n|$)", str(error), re.S)
    return found["words"] if found else str(error).splitlines()[0]
