"""The manifest of a release tells its design, and neither a secret nor a person's value."""

from __future__ import annotations

import json

import duckdb
import pytest

from tests.conftest import SECRET

pytestmark = pytest.mark.core

POLICY = (
    "{'key': 'id', 'columns': {'id': {'pseudonym': {'as': 'hash', 'salt': 'of the sea'}}, 'g': {'randomize': 0.75}, "
    "'h': {'randomize': [[0.75, 0.5], [0.25, 0.5]]}, 'x': {'mask': 'egadp'}, 'name': 'drop'}, "
    "'masks': {'egadp': {'nonconf': ['g']}}}"
)


def test_it_tells_designs_roles_and_guarantees(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, ['a', 'b', 'c'][1 + i % 3] AS g, ['u', 'v'][1 + i % 2] AS h, sin(i) AS x, "
        "'Mrs Planted ' || i AS name FROM range(600) r(i)"
    )
    query = f"SELECT note FROM release_manifest('t', policy={POLICY}) WHERE role = 'manifest'"
    [(text,)] = con.execute(query).fetchall()
    found = json.loads(text)
    columns = {each["name"]: each for each in found["columns"]}
    assert columns["g"] == {"name": "g", "role": "randomized", "mask": "rr_mask", "levels": ["a", "b", "c"], "p": 0.75}
    assert columns["h"]["matrix"] == [[0.75, 0.5], [0.25, 0.5]]
    assert columns["x"] == {"name": "x", "role": "masked", "mask": "egadp_mask"}
    assert columns["id"] == {"name": "id", "role": "pseudonym", "mask": "pseudonym_mask"}
    assert set(columns) == {"id", "g", "h", "x"}
    assert any(each.startswith("x: means") for each in found["guaranteed"])
    assert all(found[name] for name in ("policy", "ppduck", "duckdb"))
    for hidden in (SECRET, "Planted", "of the sea"):
        assert hidden not in text
