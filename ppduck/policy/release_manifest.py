"""release_manifest(): what a release says of itself: of a Parquet file or table that has one, or of one to be made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ppduck.call.arguments import TABLE
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs import manifest
from ppduck.errors import Faults, quoted
from ppduck.policy import manifest as made
from ppduck.policy import planning, release_table
from ppduck.query import tree as sql
from ppduck.query.text_rows import text_rows

NAME = "release_manifest"
WHOLE = "manifest"  # the role of the row that has it as JSON


@parameters
class ReleaseManifestCall(Call):
    tbl: str = TABLE
    policy: str | Mapping[str, Any] | None = parameter(
        release_table.told,
        "the policy of a release that is still to be made of tbl, as release_table takes it; by default tbl is one",
        None,
    )


def plan(catalog: Catalog, call: ReleaseManifestCall) -> sql.Expr:
    found = _read(catalog, call) if call.policy is None else _to_be(catalog, call)
    rows: list[tuple[str | None, str, str]] = []
    for own in found["columns"]:
        said = {name: value for name, value in own.items() if name not in ("name", "role")}
        rows.append((own["name"], own["role"], _note(said)))
    rows += [(None, "guaranteed", each) for each in found["guaranteed"]]
    rows += [(None, "not guaranteed", each) for each in found["not_guaranteed"]]
    told = ("ppduck", "duckdb", "policy", "rows", "gate")
    rows += [(None, name, _note(found[name])) for name in told if name in found]
    rows.append((None, WHOLE, json.dumps(found, ensure_ascii=False)))
    return text_rows([each.name for each in RESULTS], rows)


def _read(catalog: Catalog, call: ReleaseManifestCall) -> dict[str, Any]:
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(catalog.unseen(source, "commit first, or name the file."))
    found = manifest.of_source(catalog, source, faults)
    if found is None:
        raise faults.refuse(
            f"{quoted(source.label)} has no manifest: ppduck release writes one into a Parquet file, or into the "
            "comment of a table."
        )
    return found


def _to_be(catalog: Catalog, call: ReleaseManifestCall) -> dict[str, Any]:
    assert call.policy is not None
    asked = release_table.ReleaseTableCall(tbl=call.tbl, policy=call.policy)
    policy = release_table.policy_of(NAME, catalog, asked)
    return made.written(catalog, planning.beside(NAME, catalog, call.tbl, policy, reads=False))


def _note(said: Any) -> str:
    if isinstance(said, str):
        return said
    if not isinstance(said, Mapping):
        return json.dumps(said)
    return "; ".join(
        f"{name} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in said.items()
    )


RESULTS = (
    Result("column_name", "VARCHAR", "a released column; NULL for what holds of all"),
    Result("role", "VARCHAR", "what became of it, or what the row tells"),
    Result("note", "VARCHAR", "by which mask and design; the row manifest has all of it as JSON"),
)
FUNCTION = register(
    Function(
        NAME,
        ReleaseManifestCall,
        plan,
        "What a release says of itself: each column's treatment and design, guarantees, policy and versions.",
        "",
        kind=Kind.HELP,
        results=RESULTS,
        example="FROM release_manifest('(SELECT id, gender, disease, smoker FROM survey)', policy={'key': 'id', "
        "'columns': {'id': 'drop', 'gender': "
        "{'randomize': 0.9}, 'disease': {'randomize': 0.8}, 'smoker': 'keep'}})",
    )
)
