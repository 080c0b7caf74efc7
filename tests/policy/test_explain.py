"""What a policy does with every column is told before anything is read."""

from __future__ import annotations

import duckdb
import pytest

from tests.one_connection import con, loaded
from tests.pages import ROOT

__all__ = ["con", "loaded"]

pytestmark = pytest.mark.core


def test_every_column_has_a_line_and_every_mask_its_promises(con: duckdb.DuckDBPyConnection) -> None:
    con.execute((ROOT / "examples/customers.sql").read_text().replace("200000", "0"))
    policy = ROOT / "examples/customers.release.yml"
    rows = con.execute(f"FROM mask_explain('release_table', 'customers', policy='{policy}')").fetchall()
    lines = {name: (role, note) for name, role, note in rows if name is not None}
    assert lines["full_name"] == ("dropped", "left out of the output")
    assert lines["churned"] == ("kept", "released as it is")
    assert lines["age_band"] == ("not used", "read by masks, and left out of the output")
    assert lines["phone"] == ("pseudonym", "pseudonym_mask: pseudonym digits")
    assert lines["birth_date"] == ("date", "date_mask: date shift, per customer_id, within 30 days")
    assert lines["zip"] == ("recoded", "recode_mask: recode {keep: 3}")
    assert lines["gender"] == ("randomized", "rr_mask: randomize 0.9")
    assert lines["income"] == ("masked", "egadp_mask: mask egadp, nonconf [age_band, segment], round true")
    promises = [(role, note) for name, role, note in rows if name is None]
    assert any(role == "guaranteed" and note.startswith('"income", "debt": ') for role, note in promises)
    assert any(role == "not guaranteed" and note.startswith('"n_orders": ') for role, note in promises)
