"""Writes a release aside, makes sure that it is whole, and only then gives it its name."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from typing import TYPE_CHECKING

from ppduck.errors import PpduckError
from ppduck.spark._engine import SparkEngine
from ppduck.spark._worker import Engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def refuse_name(to: str) -> None:
    """What can be no table's name, before anything is computed."""
    if not re.fullmatch(r"\w+(\.\w+)*", to):
        raise PpduckError(
            "ppduck.spark.release: to takes the name of a table, of letters, digits and _, such as 'lake.release'; "
            f"got {to!r}."
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
        "ppduck.call": call,
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
    if replaces:
        spark.sql(f"ALTER TABLE {to} RENAME TO {before}")
    try:
        spark.sql(f"ALTER TABLE {aside} RENAME TO {to}")
    except Exception as error:
        if replaces:
            spark.sql(f"ALTER TABLE {before} RENAME TO {to}")
        raise PpduckError(
            f"ppduck.spark.release: the catalogue cannot rename tables ({str(error).splitlines()[0]}); nothing was "
            "published."
        ) from None
    if replaces:
        spark.sql(f"DROP TABLE {before}")


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
