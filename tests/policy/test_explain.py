"""What a policy does with every column is told before anything is read."""

from __future__ import annotations

import json

import duckdb
import pytest

from ppduck.policy.reading import maskings
from tests.pages import ROOT

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


UNREADABLE = "CREATE VIEW unread AS SELECT i AS id, CASE WHEN error('a row was read') THEN 'a' END AS g, i + 0.5 AS x FROM range(9) r(i)"


def explained(con: duckdb.DuckDBPyConnection, policy: str) -> list[tuple[str | None, str, str]]:
    return con.execute(f"FROM mask_explain('release_table', 'unread', policy={policy})").fetchall()


def test_no_row_is_read(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(UNREADABLE)
    for of_g in ("{'randomize': 0.8}", "{'pseudonym': 'token'}", "{'recode': {'rare_below': 5}}", "'drop'"):
        policy = f"{{'key': 'id', 'columns': {{'id': 'drop', 'g': {of_g}, 'x': {{'mask': 'egadp'}}}}}}"
        assert explained(con, policy)
    with pytest.raises(duckdb.Error, match="a row was read"):
        con.execute("FROM unread").fetchall()


GIVEN = {
    "kim": {"level": 0.2},
    "noise": {"level": 0.2},
    "sufficiency": {"level": 0.2},
    "microaggregate": {"k": 3},
    "rank_swap": {"reach": 9},
}


@pytest.mark.parametrize("name", sorted(maskings()))
def test_nothing_is_refused_because_no_row_was_read(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.execute(
        "CREATE TABLE unread AS SELECT i AS id, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END AS g, sin(i) AS x "
        "FROM range(60) r(i)"
    )
    of_g = "{'randomize': {'p': 0.8, 'levels': ['a', 'b'], 'invariant': true}}"
    masks = f", 'masks': {{'{name}': {json.dumps(GIVEN[name])}}}" if name in GIVEN else ""
    policy = f"{{'key': 'id', 'columns': {{'id': 'drop', 'g': {of_g}, 'x': {{'mask': '{name}'}}}}{masks}}}"
    assert explained(con, policy)


@pytest.mark.parametrize(
    ("of_g", "of_x", "said"),
    [
        ("{'pseudonym': 'tokn'}", "'keep'", 'Did you mean "token"'),
        ("{'recode': {'kep': 3}}", "'keep'", 'Did you mean "keep"'),
        ("{'recode': {'width': 3}}", "'keep'", 'recode_mask on "unread": column "g": its type is VARCHAR'),
        ("{'mask': 'egadp'}", "'keep'", 'egadp_mask on "unread": conf names column "g" of type VARCHAR'),
        ("'drop'", "{'date': 'year'}", 'date_mask on "unread": columns names column "x"'),
        ("'drop'", "{'pseudonym': 'digits'}", 'pseudonym_mask on "unread": columns'),
    ],
)
def test_what_the_masks_refuse_is_refused_before_a_row_is_read(
    con: duckdb.DuckDBPyConnection, of_g: str, of_x: str, said: str
) -> None:
    con.execute(UNREADABLE)
    with pytest.raises(duckdb.Error, match=r"release_table on \"unread\": ") as raised:
        explained(con, f"{{'key': 'id', 'columns': {{'id': 'drop', 'g': {of_g}, 'x': {of_x}}}}}")
    assert said in str(raised.value)
    assert "a row was read" not in str(raised.value)
