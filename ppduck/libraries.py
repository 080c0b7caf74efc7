"""Libraries that take long to import, imported when something of theirs is first used.

One at a time: DuckDB calls Python in several threads, and two that import at once may see each other's half-made
modules, where these import each other. And each in a thread of its own: an interrupt reaches the main thread only, and
would leave half a library behind, which cannot be imported again.
"""

from __future__ import annotations

import importlib
import threading
from types import ModuleType
from typing import Any

_one_at_a_time = threading.Lock()
_imported: dict[str, ModuleType | ImportError] = {}


class _Import(threading.Thread):
    def __init__(self, module: str) -> None:
        super().__init__(name=f"ppduck imports {module}")
        self._module = module

    def run(self) -> None:
        with _one_at_a_time:
            try:
                _imported[self._module] = importlib.import_module(self._module)
            except ImportError as error:
                _imported[self._module] = error


def _library(module: str) -> ModuleType | ImportError:
    if module not in _imported:
        thread = _Import(module)
        thread.start()
        thread.join()
    return _imported[module]


class Later:
    """A module that is imported when an attribute of it is asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def load(self) -> ModuleType:
        """Imports it, if nothing has."""
        library = _library(self._module)
        if isinstance(library, ImportError):
            raise library
        return library

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.load(), name)
        setattr(self, name, found)  # from now on it is found without this function
        return found


def import_what_duckdb_will() -> None:
    """Imports what DuckDB and pyarrow import at the first call of a function, in two worker threads at a time."""
    for module in ("pandas", "pyarrow.dataset"):
        _library(module)  # they do without it where it is missing


linalg = Later("scipy.linalg")
optimize = Later("scipy.optimize")
sparse = Later("scipy.sparse")
spatial = Later("scipy.spatial")
distance = Later("scipy.spatial.distance")
special = Later("scipy.special")
sqlglot_duckdb = Later("sqlglot.generators.duckdb")
stats = Later("scipy.stats")
ensemble = Later("sklearn.ensemble")
kernel_approximation = Later("sklearn.kernel_approximation")
yaml = Later("yaml")
