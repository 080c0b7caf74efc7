"""The gate of examples/app.py: a view that tells too much, or that cannot be judged, keeps the service from starting."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppduck
from tests.apps.running_service import ROOT
from tests.conftest import SECRET

OWNER = """
    CREATE TABLE staff AS
    SELECT i AS id, 'name ' || i AS name, (hash(i + 99) % 45)::INT AS age, ['east', 'west'][1 + (hash(i) % 2)::INT] AS region,
           1000 + 30 * age + 200 * sin(i * 12.9898) AS salary, round(salary / 12) AS monthly
    FROM range(600) AS rows(i);
    CREATE SCHEMA masked;
"""
EGADP = "egadp_mask('main.staff', conf=['salary'], nonconf=['age'], key='id', drop=['name', 'monthly'])"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("fastapi")
    monkeypatch.syspath_prepend(ROOT / "examples")
    import app

    yield app
    for name in ("app", "app_door", "app_gate"):
        sys.modules.pop(name, None)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(tmp_path / "owner.db", secret=SECRET) as con:
        con.execute(OWNER)
        yield con


def published(app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path, body: str, names: str = "") -> Any:
    owner.execute(f"CREATE OR REPLACE VIEW masked.v{names} AS {body}")
    return app.publish(owner, tmp_path / "masked.db")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"FROM {EGADP}".replace("'name', ", ""), 'identifier of "name" is .*, above its limit of 0.3333 .*drop it'),
        (f"FROM {EGADP}".replace(", 'monthly'", ""), 'tells of "monthly" is .*tells salary.*drop it, or mask it'),
        (f"SELECT *, salary * 2 AS twice FROM {EGADP}", 'declared of "twice" is 1, above its limit of 0 .*is new'),
        (
            f"SELECT * REPLACE (upper(region) AS region) FROM {EGADP}",
            'declared of "region" is 1, above its limit of 0 .*differs',
        ),
        (
            "FROM noise_mask('main.staff', conf=['salary', 'monthly'], level=0.1, key='id', drop=['name'])",
            'r2_gain of "salary" is .*; r2_gain of "monthly" is ',
        ),
        (
            "SELECT region FROM pram_mask('main.staff', p={'region': 0.9}, invariant=true, key='id')",
            'agreement of "region"',
        ),
    ],
)
def test_what_fails_a_rule_is_not_published(
    app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises(SystemExit, match=f'^app.py: view "v" must not be published: .*{message}'):
        published(app, owner, tmp_path, body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"SELECT age FROM {EGADP} JOIN {EGADP} USING (age)", "Make a view of each mask"),
        (f"FROM {EGADP} UNION ALL FROM {EGADP}", "Make a view of each mask"),
        (f"FROM (FROM {EGADP})", "Make a view of each mask"),
        (f"FROM {EGADP} WHERE age > 3", "without WHERE, GROUP BY, .* mask a view of them"),
        (f"SELECT age, avg(salary) FROM {EGADP} GROUP BY age", "without WHERE, GROUP BY"),
        (f"SELECT DISTINCT age FROM {EGADP}", "without WHERE, GROUP BY, DISTINCT"),
        (f"FROM {EGADP} LIMIT 5", "without WHERE"),
        (f"WITH a AS (SELECT 1) SELECT age FROM {EGADP}", "the gate judges the rows of one mask"),
        (f"SELECT avg(salary) FROM {EGADP}", "the rows of one mask: .*, of which the key is one"),
        ("FROM egadp_mask('main.staff', conf=['salary'], nonconf=['age'])", "egadp_mask is called without key here"),
        (f"FROM {EGADP}".replace("'name'", "'name', 'id'"), "key"),
        ("FROM generalize_mask('main.staff', qi=['age'], k=5)", "generalize_mask is called without conf here"),
    ],
)
def test_what_cannot_be_judged_is_not_published(
    app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path, body: str, message: str
) -> None:
    with pytest.raises((SystemExit, duckdb.Error), match=message):
        published(app, owner, tmp_path, body)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (f"FROM {EGADP}", ["id", "age", "region", "salary"]),
        (f"SELECT salary, age AS years FROM {EGADP} AS m", ["salary", "years"]),
        (f"SELECT m.* EXCLUDE (id) FROM {EGADP} AS m", ["age", "region", "salary"]),
        ("SELECT region FROM rr_mask('main.staff', p={'region': 0.8}, key='id')", ["region"]),
        ("SELECT region FROM rr_mask('main.staff', p = 0.8, conf := ['region'], key => 'id')", ["region"]),
        (
            "SELECT region AS r FROM rr_mask('main.staff', matrix={'region': [[0.8, 0.3], [0.2, 0.7]]}, "
            "levels={'region': ['east', 'west']}, key=['id'])",
            ["r"],
        ),
    ],
)
def test_what_is_judged_is_what_is_published(
    app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path, body: str, names: list[str]
) -> None:
    """All rows of the view, under its names, and no key that it leaves out."""
    [view] = published(app, owner, tmp_path, body)
    assert (view.rows, [*view.columns]) == (600, names)
    assert {path.name for path in tmp_path.iterdir()} >= {"masked.db"}
    assert not (tmp_path / "masked.judged").exists()
    owner.execute(f"ATTACH '{tmp_path / 'masked.db'}' AS p")
    assert owner.execute("FROM p.v ORDER BY ALL").fetchall() == owner.execute("FROM masked.v ORDER BY ALL").fetchall()
    assert owner.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'p'").fetchall() == [("v",)]


def test_names_that_the_view_gives(app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    [view] = published(app, owner, tmp_path, f"SELECT age, id FROM {EGADP}", ' ("salary AS ", "a""b")')
    assert [*view.columns] == ["salary AS ", 'a"b']


def test_a_key_that_tells_may_be_left_out(app: Any, owner: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    owner.execute("CREATE TABLE ranked AS SELECT row_number() OVER (ORDER BY salary) AS id, age, salary FROM staff")
    mask = "egadp_mask('main.ranked', conf=['salary'], nonconf=['age'], key='id')"
    with pytest.raises(SystemExit, match=r'tells of "id" is .*tells salary'):
        published(app, owner, tmp_path, f"FROM {mask}")
    for name in ("masked.db", "masked.judged"):
        (tmp_path / name).rename(tmp_path / f"{name}.old")
    with ppduck.load(owner.cursor(), SECRET) as again:
        again.execute('DETACH "judged rows"; DETACH "masked views"')
        [view] = published(app, again, tmp_path, f"SELECT age, salary FROM {mask}")
    assert [*view.columns] == ["age", "salary"]
