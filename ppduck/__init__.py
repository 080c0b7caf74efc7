"""ppduck makes DuckDB mask data: load(con), then SQL.

>>> import ppduck
>>> con = ppduck.connect()
>>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
>>> con.sql("FROM egadp_mask('t', conf=['x'], key='id')").columns
['id', 's', 'x']
"""

from ppduck import errors
from ppduck.errors import PpduckError, PpduckWarning
from ppduck.extension.connections import connect, interrupt, load
from ppduck.extension.releasing import Released, release
from ppduck.gate.verdict import ReleaseRefused, assert_release, release_verdict
from ppduck.version import __version__

__all__ = [
    "PpduckError",
    "PpduckWarning",
    "ReleaseRefused",
    "Released",
    "__version__",
    "assert_release",
    "connect",
    "errors",
    "interrupt",
    "load",
    "release",
    "release_verdict",
]
