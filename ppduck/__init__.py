"""ppduck makes DuckDB mask data: load(con), then SQL."""

from ppduck import errors
from ppduck.extension import connect, load
from ppduck.version import __version__

__all__ = ["__version__", "connect", "errors", "load"]
