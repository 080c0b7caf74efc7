"""ppduck makes DuckDB mask data: load(con), then SQL."""

from ppduck import errors
from ppduck.extension import connect, load
from ppduck.gate import ReleaseRefused, assert_release, release_verdict
from ppduck.version import __version__

__all__ = [
    "ReleaseRefused",
    "__version__",
    "assert_release",
    "connect",
    "errors",
    "load",
    "release_verdict",
]
