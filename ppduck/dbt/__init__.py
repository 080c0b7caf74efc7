"""ppduck in dbt: a plugin of dbt-duckdb (``plugins: - module: ppduck.dbt``), macros, and ``ppduck dbt``.

The plugin itself is imported when dbt asks for it, so that the rest can be used where dbt is not installed.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "Plugin":
        from ppduck.dbt.plugin import Plugin

        return Plugin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
