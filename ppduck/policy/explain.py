"""What a policy does with every column of a table, in rows: nothing is read but the columns' names and types."""

from __future__ import annotations

from ppduck.errors import listed
from ppduck.policy.model import ROLES, Treatment
from ppduck.policy.planning import Planned
from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows
from ppduck.values import folded

COLUMNS = ("column_name", "role", "note")
_SAID = {
    Treatment.KEEP: "released as it is",
    Treatment.DROP: "left out of the output",
}


def explained(planned: Planned) -> sql.Expr:
    return text_rows(COLUMNS, rows(planned))


def rows(planned: Planned) -> list[tuple[str | None, str, str]]:
    """(column, what it is to the policy, what becomes of it), and what each mask promises for its columns."""
    found: list[tuple[str | None, str, str]] = []
    for name, treatment in planned.layout.columns:
        if treatment is None:
            found.append((name, "not used", "read by masks, and left out of the output"))
        else:
            found.append((name, ROLES[treatment], _note(planned, name, treatment)))
    for step, mask, call in planned.calls:
        of = listed(step.columns)
        found += [(None, "guaranteed", f"{of}: {each}") for each in mask.kept(call)]
        found += [(None, "not guaranteed", f"{of}: {each}") for each in mask.lost(call)]
    return found


def _note(planned: Planned, column: str, treatment: Treatment) -> str:
    if treatment in _SAID:
        return _SAID[treatment]
    own = {folded(name): mask.name for step, mask, _ in planned.calls for name in step.columns}
    said = {folded(name): text for name, text in planned.policy.said.items()}
    return f"{own[folded(column)]}: {said[folded(column)]}"
