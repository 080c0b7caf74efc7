"""ppduck on Spark: the same release as DuckDB's, of tables that outgrow a machine.

>>> import ppduck.spark
>>> sorted(ppduck.spark.__all__)
['mask', 'release', 'sql']
"""

from ppduck.spark._api import mask, release, sql

__all__ = ["mask", "release", "sql"]
