"""One loaded connection a file, and a table of customers on it for every test."""

from __future__ import annotations

from tests.one_connection import con, loaded

__all__ = ["con", "loaded"]
