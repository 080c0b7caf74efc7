"""One loaded connection a file with a table of customers on it, and one running service."""

from __future__ import annotations

from tests.apps.running_service import service
from tests.one_connection import con, loaded

__all__ = ["con", "loaded", "service"]
