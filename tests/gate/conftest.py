"""One loaded connection for all tests of a file."""

from tests.one_connection import con, loaded

__all__ = ["con", "loaded"]
