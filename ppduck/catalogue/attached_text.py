"""Text that travels with a table: its comment in a database, its metadata in a Parquet file."""

from __future__ import annotations

from ppduck.catalogue.source import Source
from ppduck.catalogue.table_names import parts
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, UnreadError, quoted
from ppduck.query import tree as sql


def attached(catalog: Catalog, source: Source, name: str, faults: Faults) -> str | None:
    """The text of that name: of a table its comment, whatever it says; None where there is none."""
    if source.label.startswith("("):
        return None
    home = catalog.home(source.sql)
    if home is None:
        return _of_files(catalog, source, name, faults)
    if home.created is not None:
        return None  # a view says by its definition what it is
    query = "SELECT comment FROM duckdb_tables() WHERE (database_name, schema_name, table_name) = (?, ?, ?)"
    found = catalog.reader.execute(query, [home.database, home.schema, home.name]).fetchall()
    return None if not found or found[0][0] is None else str(found[0][0])


def _of_files(catalog: Catalog, source: Source, name: str, faults: Faults) -> str | None:
    """Of Parquet files, which must agree: parts of one release."""
    # To DuckDB "my"."parquet" is the file my.parquet, if there is no such table.
    path = ".".join(parts(source.sql))
    asked = sql.query(
        [sql.call("decode", sql.column("value"))],
        sql.rows_of("parquet_kv_metadata", sql.text(path)),
        where=sql.equal(sql.call("decode", sql.column("key")), sql.text(name)),
        distinct=True,
    )
    try:
        found = catalog.reader.execute(sql.render(asked)).fetchall()
    except UnreadError:
        return None  # no Parquet file
    if len(found) > 1:
        raise faults.refuse(
            f"{quoted(source.label)} stands for files of several releases; name those of one."
        )
    return str(found[0][0]) if found else None
