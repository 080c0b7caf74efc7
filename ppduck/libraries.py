"""Libraries that take long to import, imported when something of theirs is first used.

One at a time: DuckDB calls Python in several threads, and two that import at once may see each other's half-made
modules, where these import each other.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import Any

_importing = threading.RLock()
_of_duckdb: list[str] = ["pandas", "pyarrow.dataset"]


class Later:
    """A module that is imported when an attribute of it is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with _importing:
            found = getattr(importlib.import_module(self._module), name)
        setattr(self, name, found)  # from now on it is found without this function
        return found


def import_what_duckdb_will() -> None:
    """Imports what DuckDB and pyarrow import at the first call of a function, in two worker threads at a time."""
    with _importing:
        while _of_duckdb:
            with contextlib.suppress(ImportError):
                importlib.import_module(_of_duckdb[-1])
            _of_duckdb.pop()


linalg = Later("scipy.linalg")
optimize = Later("scipy.optimize")
sparse = Later("scipy.sparse")
spatial = Later("scipy.spatial")
distance = Later("scipy.spatial.distance")
special = Later("scipy.special")
stats = Later("scipy.stats")
kernel_approximation = Later("sklearn.kernel_approximation")
