"""Sums over two releases are those that numpy has, about a centre that both share."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.catalogue.tables import Catalog
from ppduck.measures import _number_sums
from ppduck.measures._number_sums import ALONE, MOMENTS, SUMS, NumbersTold
from ppduck.measures._two_releases import FIRST, SECOND, TwoReleases
from ppduck.query import tree as sql

pytestmark = pytest.mark.core


def test_sums_counts_and_rows_are_those_of_numpy(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE one AS SELECT i AS id, i % 7 AS s, i % 3 AS z, 1e6 + sin(i) AS x FROM range(60) r(i)")
    con.execute(
        "CREATE TABLE two AS SELECT id, s, z + id % 2 AS z, x + cos(id) AS x FROM one WHERE id > 1 UNION ALL SELECT 99, 5, 1, 1e6"
    )
    tables = TwoReleases("release_intersection", Catalog(con), {FIRST: "one", SECOND: "two"})
    tables.use_key(["id"])
    tables.use_conf(["x"], [])
    tables.use_nonconf(None)
    statement = sql.Statement()
    tables.join(statement)
    _number_sums.sum_up(tables, statement)
    fields = _number_sums.told()
    assert set(fields) == set(NumbersTold.__dataclass_fields__) - {"checked"}
    rows = sql.table(SUMS).cross(sql.table(MOMENTS)).cross(sql.table(ALONE))
    found = con.execute(sql.render(statement.query(sql.query(sql.columns(fields), rows)))).fetchall()
    told = {name: np.array(value, dtype=float) for name, value in zip(fields, found[0], strict=True)}
    one, two = (
        np.array(con.execute(f"SELECT id, s, z, x FROM {name} ORDER BY id").fetchall(), dtype=float)
        for name in ("one", "two")
    )
    either = np.vstack([one, two[-1:]])
    centres = either[:, 1:].mean(axis=0)
    assert told["centres"] == pytest.approx(centres)
    assert told["spreads"] == pytest.approx(either[:, 1:].std(axis=0))
    assert told["changed"].tolist() == [0, np.sum(two[:-1, 0] % 2)]
    assert (told["only_first"].tolist(), told["only_second"].tolist(), told["common"].tolist()) == ([2], [1], [58])
    assert told["same"].tolist() == [0]
    for name, own in (("first", one), ("second", two)):
        d = own[:, 3] - centres[2]
        s = own[:, 1] - centres[0]
        assert told[name][:2] == pytest.approx([d.sum(), (s * d).sum()], abs=1e-6)
    assert told["n"] == 58
    alone = told["alone"].reshape(3, 5)
    assert sorted(alone[:, 0] + centres[0]) == pytest.approx([0, 1, 5])
    assert np.isnan(alone[:, 2:]).sum(axis=1).tolist() == [2, 2, 2]
