"""A table as it is now: of formats that keep their versions, the version that is the newest when a call is planned.

All passes of a call then read one state, whatever is written meanwhile. Of others the digests of passes tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# For each format, what tells the newest version first, of a table by its name; both read it by VERSION AS OF.
NEWEST = {
    "delta": "DESCRIBE HISTORY {} LIMIT 1",
    "iceberg": "SELECT snapshot_id FROM {}.snapshots ORDER BY committed_at DESC LIMIT 1",
}


def table(spark: SparkSession, name: str) -> DataFrame:
    """Spark's table of a name, pinned to its version if it has one."""
    found = spark.table(name)
    asked = NEWEST.get(_format(spark, name))
    if asked is None:
        return found
    version = spark.sql(asked.format(name)).collect()[0][0]
    return spark.sql(f"SELECT * FROM {name} VERSION AS OF {int(version)}")


def _format(spark: SparkSession, name: str) -> str:
    """What the catalogue says that a table is written in; nothing of a view."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except (AnalysisException, ParseException):  # such as a file that is read by its path
        return ""
    told = {row[0]: row[1] for row in rows}
    return str(told.get("Provider") or "").lower()
