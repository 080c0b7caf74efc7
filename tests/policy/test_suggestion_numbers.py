"""Numbers and dates: what is proposed is what masks take."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.policy.document import of_yaml
from tests.policy.proposals import DROP, EGADP, KEEP, Ask, proposal, treatments

pytestmark = pytest.mark.core


@pytest.mark.parametrize("every", [1, 6, 25, 200])
def test_a_shift_is_proposed_only_where_the_mask_takes_it(con: duckdb.DuckDBPyConnection, ask: Ask, every: int) -> None:
    """Of all rows that fall on one day, one in so many."""
    con.execute(
        f"CREATE TABLE t AS SELECT i AS id, DATE '2020-01-01' + (CASE WHEN i % {every} = 0 THEN 99 ELSE i * 7 % 1500 END)"
        "::INTEGER AS seen FROM range(3000) r(i)"
    )
    shifts = "shift" in treatments(ask, "t")["seen"]
    assert shifts == (every == 200)
    call = "SELECT count(*) FROM date_mask('t', columns={'seen': 'shift'}, per='id', within=30)"
    if shifts:
        assert con.execute(call).fetchall() == [(3000,)]


def test_nulls_nan_and_infinity(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 5 > 0 THEN 'c' || i % 3 END AS channel, CASE WHEN i % 4 > 0 THEN sin(i) + 9 "
        "END AS x, CASE WHEN i = 9 THEN 'nan'::DOUBLE ELSE cos(i) END AS y, CASE WHEN i = 9 THEN 'infinity'::DATE ELSE "
        "DATE '2020-01-01' + (i * 7 % 900)::INTEGER END AS d FROM range(1000) r(i)"
    )
    found = treatments(ask, "t")
    assert (found["x"], found["y"], found["channel"]) == (EGADP, DROP, KEEP)
    policy = proposal(con, "'t'")
    assert of_yaml(policy).plain["masks"] == {"egadp": {"nonconf": ["channel"], "on_null": "level"}}
    [(rows, missing)] = con.execute(
        "SELECT count(*), count_if(x IS NULL) FROM release_table('t', ?)", [policy]
    ).fetchall()
    assert (rows, missing) == (1000, 250)
