"""ppduck inside DuckDB: connections are taught its functions, and calls are planned."""

from ppduck.extension.connections import connect, interrupt, load

__all__ = ["connect", "interrupt", "load"]
