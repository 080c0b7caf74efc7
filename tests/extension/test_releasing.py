"""ppduck.release: through the gate or not at all; files and tables are replaced whole; batches are added once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import ppduck
from tests.conftest import SECRET

POLICY: dict[str, Any] = {
    "from": "people",
    "key": "id",
    "columns": {
        "id": {"pseudonym": "token"},
        "name": "drop",
        "s": "drop",
        "x": {"mask": "egadp"},
        "g": {"randomize": {"p": 0.8, "levels": ["a", "b"]}},
    },
    "masks": {"egadp": {"nonconf": ["s"]}},
}
PEOPLE = (
    "SELECT i AS id, 'name ' || i AS name, sin(i) AS s, 50 + sin(i) + cos(i * 3.7) AS x, ['a', 'b'][1 + i % 2] AS g "
    "FROM range({}, {}) r(i)"
)


@pytest.fixture
def people(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(f"CREATE TABLE people AS {PEOPLE.format(0, 2000)}")
    return con


def test_a_file_holds_what_release_table_gives_and_says_what_it_is(
    people: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    file = tmp_path / "public.parquet"
    made = ppduck.release(people, POLICY, to=file)
    assert made.rows == 2000
    assert made.columns == ("id", "x", "g")
    assert made.verdict["passed"] is True
    assert people.execute(f"DESCRIBE FROM '{file}'").fetchall()[0][0] == "id"
    rows = dict(
        people.execute(f"SELECT role, note FROM release_manifest('{file}') WHERE column_name IS NULL").fetchall()
    )
    manifest = json.loads(rows["manifest"])
    assert manifest == made.manifest
    assert manifest["rows"] == 2000
    assert SECRET not in rows["manifest"]
    assert os.listdir(tmp_path) == ["public.parquet"]


def test_the_same_rows_as_in_sql(people: duckdb.DuckDBPyConnection) -> None:
    ppduck.release(people, POLICY, to="public")
    text = json.dumps(POLICY).replace("'", "''") + "\n"
    one = people.execute("FROM public ORDER BY ALL").fetchall()
    other = people.execute(f"FROM release_table('people', policy='{text}') ORDER BY ALL").fetchall()
    assert [(token, g) for token, _, g in one] == [(token, g) for token, _, g in other]
    assert [x for _, x, _ in one] == pytest.approx([x for _, x, _ in other], rel=1e-11)


@pytest.mark.parametrize("to", ["public", "public.parquet"])
def test_the_order_of_rows_tells_nothing(people: duckdb.DuckDBPyConnection, tmp_path: Path, to: str) -> None:
    """In the table's order the i-th token would be that of the i-th person."""
    place = f"{tmp_path}/{to}" if to.endswith(".parquet") else to
    ppduck.release(people, POLICY, to=place)
    tokens = people.execute(f"SELECT id FROM '{place}'").fetchall()
    people.execute("CREATE OR REPLACE TABLE people AS FROM people ORDER BY hash(id)")
    ppduck.release(people, POLICY, to=place)
    assert people.execute(f"SELECT id FROM '{place}'").fetchall() == tokens
    text = json.dumps(POLICY).replace("'", "''") + "\n"
    people.execute(f"CREATE TABLE staged AS FROM release_table('people', policy='{text}', staged=true)")
    place_of = {token: i for i, token in people.execute("SELECT id, released_id FROM staged").fetchall()}
    found = np.array([place_of[token] for (token,) in tokens])
    assert abs(np.corrcoef(found, np.arange(len(found)))[0, 1]) < 0.05


def test_an_invariant_design_travels_as_its_matrix(people: duckdb.DuckDBPyConnection) -> None:
    people.execute("UPDATE people SET g = 'b' WHERE id % 10 < 8")
    invariant = {"randomize": {"p": 0.95, "levels": ["a", "b"], "invariant": True}}
    made = ppduck.release(people, POLICY | {"columns": POLICY["columns"] | {"g": invariant}}, to="public")
    own = next(each for each in made.manifest["columns"] if each["name"] == "g")
    before = np.array([1 - 0.9, 0.9])
    assert own["mask"] == "pram_mask"
    assert np.array(own["matrix"]) @ before == pytest.approx(before, abs=1e-9)
    agreement = next(each for each in made.verdict["rules"] if each["rule"] == "agreement")
    assert agreement["passed"] is True
    shares = people.execute("SELECT estimate FROM rr_reconstruct('public', ['g'])").fetchall()
    assert [share for (share,) in shares] == pytest.approx(before.tolist(), abs=0.05)


def test_estimates_need_no_p_from_a_file_or_a_table(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    for to in (f"{tmp_path}/public.parquet", "public"):
        ppduck.release(people, POLICY, to=to)
        shares = people.execute(f"SELECT g, estimate FROM rr_reconstruct('{to}', ['g'])").fetchall()
        assert [g for g, _ in shares] == ["a", "b"]
        assert [share for _, share in shares] == pytest.approx([0.5, 0.5], abs=0.06)
        told = people.execute(f"SELECT estimate FROM rr_reconstruct('{to}', ['g'], p={{'g': 0.8}})").fetchall()
        assert [share for _, share in shares] == [share for (share,) in told]


def refused(con: duckdb.DuckDBPyConnection, policy: Any, to: Any, **more: Any) -> str:
    with pytest.raises(ppduck.PpduckError, match=r"^(ppduck\.release|release_table)") as raised:
        ppduck.release(con, policy, to=to, **more)
    return str(raised.value)


def test_what_fails_the_gate_is_not_written(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    before = ppduck.release(people, POLICY, to="public").rows
    leaking = POLICY | {"columns": POLICY["columns"] | {"name": "keep"}}
    for to in ("public", f"{tmp_path}/public.parquet"):
        with pytest.raises(ppduck.ReleaseRefused, match=r"must not be released: identifier of name is 1") as raised:
            ppduck.release(people, leaking, to=to)
        assert raised.value.verdict["passed"] is False
    assert people.execute("SELECT count(*) FROM public").fetchall() == [(before,)]
    assert os.listdir(tmp_path) == []
    left = people.execute("SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'ppduck%'").fetchall()
    assert left == []


def test_a_column_that_appears_in_the_source_stops_the_release(people: duckdb.DuckDBPyConnection) -> None:
    ppduck.release(people, POLICY, to="public")
    people.execute("ALTER TABLE people ADD COLUMN salary DOUBLE")
    with pytest.raises(ppduck.PpduckError, match=r'of the table column "salary" is not named: say under columns'):
        ppduck.release(people, POLICY, to="public")
    assert people.execute("SELECT count(*) FROM public").fetchall() == [(2000,)]


def test_who_has_no_secret_or_no_place_is_told(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with duckdb.connect() as other:
        assert "is not loaded" in refused(other, POLICY, "public")
        ppduck.load(other)
        assert "there is no secret" in refused(other, POLICY, "public")
    assert "there is no folder" in refused(people, POLICY, tmp_path / "nowhere" / "public.parquet")
    assert "to is a file that ends in .parquet" in refused(people, POLICY, "public.csv; DROP TABLE people")
    assert "cannot read the policy" in refused(people, tmp_path / "missing.yml", "public")
    assert "does not say from which table" in refused(people, {"columns": {"id": "drop"}}, "public")
    people.execute("BEGIN")
    assert "in a transaction" in refused(people, POLICY, "public")
    people.execute("ROLLBACK")


def test_a_full_disk_leaves_what_was_there(
    people: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "public.parquet"
    ppduck.release(people, POLICY, to=file)
    before = file.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ppduck.extension.releasing.os.fsync", full)
    assert "No space left on device. Nothing was released." in refused(people, POLICY, file)
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["public.parquet"]


def test_nothing_but_a_release_is_replaced(people: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    people.execute(f"COPY people TO '{tmp_path}/people.parquet'")
    for to in ("people", "main.PEOPLE", f"{tmp_path}/people.parquet"):
        assert "is no release that ppduck has written" in refused(people, POLICY, to)
    assert people.execute("SELECT count(*) FROM people").fetchall() == [(2000,)]
    for _ in range(2):
        assert ppduck.release(people, POLICY, to=tmp_path / "public.parquet").rows == 2000


BATCHED = POLICY | {"batch": "day", "columns": POLICY["columns"] | {"day": "keep"}}


def add(con: duckdb.DuckDBPyConnection, day: str, first: int, last: int) -> None:
    con.execute(f"INSERT INTO people SELECT *, DATE '{day}' AS day FROM ({PEOPLE.format(first, last)})")


def test_batches_are_added_once_and_small_ones_wait(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE people AS SELECT *, DATE '2026-01-01' AS day FROM ({PEOPLE.format(0, 1500)})")
    assert ppduck.release(con, BATCHED, to="public").rows == 1500
    first = con.execute("FROM public ORDER BY ALL").fetchall()
    add(con, "2026-01-02", 1500, 1900)
    assert ppduck.release(con, BATCHED, to="public").rows == 0
    add(con, "2026-01-03", 1900, 3000)
    assert ppduck.release(con, BATCHED, to="public").rows == 1500
    assert con.execute("FROM public WHERE day = '2026-01-01' ORDER BY ALL").fetchall() == first
    days = con.execute("SELECT day::VARCHAR, count(*) FROM public GROUP BY day ORDER BY day").fetchall()
    assert days == [("2026-01-01", 1500), ("2026-01-02", 400), ("2026-01-03", 1100)]


def test_the_manifest_tells_of_all_batches(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(f"CREATE TABLE people AS SELECT *, DATE '2026-01-01' AS day FROM ({PEOPLE.format(0, 1200)})")
    con.execute(f"ATTACH '{tmp_path}/lake.db' AS lake")
    for to in ("public", "lake.public"):
        ppduck.release(con, BATCHED, to=to)
    con.execute(f"INSERT INTO people SELECT *, DATE '2026-01-02' FROM ({PEOPLE.format(1200, 2300)})")
    for to in ("public", "lake.public"):
        made = ppduck.release(con, BATCHED, to=to)
        assert (made.rows, made.manifest["rows"]) == (1100, 2300)
        told = con.execute(f"SELECT note FROM release_manifest('{to}') WHERE role = 'rows'").fetchall()
        assert told == [("2300",)]
        assert con.execute(f"SELECT count(*) FROM {to}").fetchall() == [(2300,)]


def test_a_table_takes_batches_of_its_own_policy_only(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute(f"CREATE TABLE people AS SELECT *, DATE '2026-01-01' AS day FROM ({PEOPLE.format(0, 1500)})")
    ppduck.release(con, BATCHED, to="public")
    other = BATCHED | {"smallest_batch": 500}
    assert "was not made by this policy" in refused(con, other, "public")
    assert "batches are added to a table" in refused(con, BATCHED, tmp_path / "public.parquet")
    dropped = BATCHED | {"columns": BATCHED["columns"] | {"day": "drop"}}
    assert 'keep column "day"' in refused(con, dropped, "public2")
