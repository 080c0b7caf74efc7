"""The type of a list of rows; goes once all measures declare their results."""

from __future__ import annotations

from ppduck.query import tree as sql


def row_types(columns: dict[str, str]) -> str:
    """The type of a list of rows."""
    fields = ", ".join(f"{sql.render(sql.name(name))} {type_}" for name, type_ in columns.items())
    return f"STRUCT({fields})[]"
