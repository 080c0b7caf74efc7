"""Writes a release aside, makes sure that it is whole, and only then gives it its name."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from typing import TYPE_CHECKING

from ppduck.errors import PpduckError
from ppduck.spark._engine import SparkEngine, spelt
from ppduck.spark._worker import Engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CALL = "ppduck.call"


def refuse_target(spark: SparkSession, to: str) -> None:
    """What a release cannot replace, before anything is computed: only a release of ours is, never a source."""
    if not re.fullmatch(r"\w+(\.\w+)*", to):
        raise PpduckError(
            "ppduck.spark.release: to takes the name of a table, of letters, digits and _, such as 'lake.release'; "
            f"got {to!r}."
        )
    if not spark.catalog.tableExists(to):
        return
    found = spark.catalog.getTable(to)
    if found.isTemporary or "VIEW" in found.tableType.upper():
        raise PpduckError(
            f"ppduck.spark.release: {to} is a view, which no table can replace; drop it, or give another name."
        )
    if _CALL not in {row[0] for row in spark.sql(f"SHOW TBLPROPERTIES {to}").collect()}:
        raise PpduckError(
            f"ppduck.spark.release: {to} is there, and is no release of ppduck's, which would lose it; drop it, or "
            "give another name."
        )


def publish(
    spark: SparkSession, released: DataFrame, engine: SparkEngine, to: str, call: str
) -> DataFrame:
    """The release under its name."""
    aside = f"{to}_ppduck_{secrets.token_hex(4)}"
    try:
        engine.write(released, aside)
        _record(spark, aside, call, engine.driver.engine)
        _rename(spark, aside, to)
    except BaseException:
        with contextlib.suppress(Exception):
            spark.sql(f"DROP TABLE IF EXISTS {aside}")
        raise
    return spark.table(to)


def _record(spark: SparkSession, table: str, call: str, engine: Engine) -> None:
    """How the release was made, as properties of its table: never its secret."""
    told = {
        _CALL: call,
        "ppduck.version": engine.version,
        "ppduck.duckdb": engine.of_duckdb,
        "ppduck.hashes": json.dumps(engine.hashes),
    }
    properties = ", ".join(f"{_text(name)} = {_text(value)}" for name, value in told.items())
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({properties})")


def _rename(spark: SparkSession, aside: str, to: str) -> None:
    """What had the name before is dropped last, and gets it back where the release cannot have it."""
    before = f"{to}_ppduck_{secrets.token_hex(4)}"
    replaces = spark.catalog.tableExists(to)
    moves = [(to, before), (aside, to)] if replaces else [(aside, to)]
    done: list[tuple[str, str]] = []
    try:
        for move in moves:
            _move(spark, *move)
            done.append(move)
    except BaseException as error:
        for name, new in reversed(done):
            _move(spark, new, name)
        if not isinstance(error, Exception):
            raise
        raise PpduckError(
            f"ppduck.spark.release: the catalogue cannot rename tables ({str(error).splitlines()[0]}); nothing was "
            "published."
        ) from None
    if replaces:
        spark.sql(f"DROP TABLE {before}")


def _move(spark: SparkSession, name: str, new: str) -> None:
    """Renames a table. Most catalogues take a new name that is inside them, some one that begins with theirs."""
    found = spark.catalog.getTable(name)
    inside = ".".join(map(spelt, [*(found.namespace or []), new.rpartition(".")[2]]))
    try:
        spark.sql(f"ALTER TABLE {name} RENAME TO {inside}")
    except Exception:
        if new.count(".") < 2:
            raise
        spark.sql(f"ALTER TABLE {name} RENAME TO {new}")


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
