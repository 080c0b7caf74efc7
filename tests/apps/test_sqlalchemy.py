"""SQLAlchemy by duckdb_engine: an event listener loads every connection of the pool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import sqlalchemy as sa

import ppduck
from tests.conftest import SECRET

MASKED = "FROM egadp_mask('customers', conf=['x1'], nonconf=['s1'], key='id')"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    path = tmp_path / "shop.db"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE customers AS SELECT i AS id, sin(i) AS s1, cos(i * 3) AS x1 FROM range(200) r(i)")
    engine = sa.create_engine(f"duckdb:///{path}")

    @sa.event.listens_for(engine, "connect")
    def load(connection: Any, _: object) -> None:
        ppduck.load(connection, SECRET)

    yield engine
    engine.dispose()


def test_every_connection_of_the_pool_masks(engine: sa.Engine) -> None:
    with engine.connect() as one, engine.connect() as other:
        rows = [con.execute(sa.text(f"{MASKED} ORDER BY id")).all() for con in (one, other)]
        original = one.execute(sa.text("FROM customers ORDER BY id")).all()
    assert [row.x1 for row in rows[0]] == pytest.approx([row.x1 for row in rows[1]])
    assert all(masked.s1 == row.s1 and masked.x1 != row.x1 for masked, row in zip(rows[0], original, strict=True))


def test_parameters_transactions_and_pandas(engine: sa.Engine) -> None:
    with engine.begin() as con:
        con.execute(sa.text(f"CREATE TABLE release AS {MASKED}"))
    with engine.connect() as con:
        query = sa.text("SELECT count(*) FROM egadp_mask(:t, conf := ['x1'], nonconf := ['s1']) WHERE id < :last")
        assert con.execute(query, {"t": "customers", "last": 50}).scalar() == 50
        frame = pd.read_sql(sa.text(f"{MASKED} ORDER BY id"), con)
        released = con.execute(sa.text("SELECT x1 FROM release ORDER BY id")).scalars().all()
    assert frame["x1"].tolist() == pytest.approx(released)


def test_a_refusal_comes_through(engine: sa.Engine) -> None:
    with engine.connect() as con, pytest.raises(sa.exc.DBAPIError, match=r'column "x9", which does not exist'):
        con.execute(sa.text("FROM egadp_mask('customers', conf=['x9'])"))
