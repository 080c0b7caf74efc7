"""The manifest of a release that a policy makes, known before a row is read."""

from __future__ import annotations

from functools import partial
from typing import Any

from ppduck.catalogue.tables import Catalog
from ppduck.designs import manifest
from ppduck.designs.design import Attribute, Design
from ppduck.policy.model import ROLES, Treatment
from ppduck.policy.planning import Planned
from ppduck.values import folded
from ppduck.version import __version__


def written(catalog: Catalog, planned: Planned) -> dict[str, Any]:
    """What is told of every released column, what is guaranteed, and by what it was made."""
    designs = _designs(catalog, planned)
    steps = {folded(name): each for each in planned.calls for name in each[0].columns}
    columns = []
    for name, treatment in planned.layout.columns:
        if treatment in (None, Treatment.DROP):
            continue
        assert treatment is not None
        own: dict[str, Any] = {"name": name, "role": ROLES[treatment]}
        if folded(name) in steps:
            own["mask"] = steps[folded(name)][1].name
        if folded(name) in designs:
            own |= manifest.told(designs[folded(name)])
        columns.append(own)
    kept, lost = [], []
    for step, mask, call in planned.calls:
        of = ", ".join(step.columns)
        kept += [f"{of}: {each}" for each in mask.kept(call)]
        lost += [f"{of}: {each}" for each in mask.lost(call)]
    return {
        "schema": manifest.SCHEMA,
        "version": manifest.VERSION,
        "columns": columns,
        "guaranteed": kept,
        "not_guaranteed": lost,
        "policy": planned.policy.digest,
        "ppduck": __version__,
        "duckdb": str(catalog.evaluate("version()")),
    }


def _designs(catalog: Catalog, planned: Planned) -> dict[str, Attribute]:
    """What the masks that randomize record of themselves when they are planned."""
    found: dict[str, Attribute] = {}
    for step, mask, call in planned.calls:
        if step.treatment is Treatment.RANDOMIZE:
            _, records = catalog.trip.captured(partial(mask.plan, catalog, call))
            for each in records:
                if isinstance(each, Design):
                    found |= {folded(own.name): own for own in each.attributes}
    return found
