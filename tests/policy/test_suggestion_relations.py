"""A number that other columns tell is said to be told, and by how much."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from tests.policy.proposals import Ask

pytestmark = pytest.mark.core


def test_a_number_that_others_tell_is_said_to_be_told(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, 9 + sin(i) AS a, 9 + cos(i * 3) AS b, a + b + 0.2 * sin(i * 5) AS total, "
        "9 + sin(i * 7) AS c FROM range(1000) r(i)"
    )
    why = {row["column_name"]: row["reason"] for row in ask("FROM suggest_policy('t')")}
    values = con.execute("SELECT a, b, c, total FROM t").fetchnumpy()
    design = np.column_stack([np.ones(1000), values["a"], values["b"], values["c"]])
    _, [left], *_ = np.linalg.lstsq(design, values["total"])
    share = 1 - left / (1000 * values["total"].var())
    assert f"tell {int(100 * share)} % of its variance" in why["total"]
    assert "of its variance" not in why["c"]
