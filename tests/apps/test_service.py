"""examples/app.py over real HTTP: what analysts may ask, what attackers may try, and what the owner must give."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import ppduck
from tests.apps.running_service import APP, CANARY, ROOT, Service
from tests.conftest import SECRET

ODD = {"id AS id": "BIGINT", "a": "BIGINT", "b": "DOUBLE", "h": "HUGEINT", "e": "ENUM('sad', 'glad')", "u": "UUID",
       "j": "JSON", "t": "BIT", "m": "INTERVAL", "d": "DECIMAL(18,0)", "o": "BLOB"}  # fmt: skip


def original(service: Service, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(service.owner)) as con:  # for writing: the service holds it no more
        return con.execute(query).fetchall()


def test_the_views_are_listed(service: Service) -> None:
    assert service.get("/views").json == [
        {"name": 'odd AS "odd', "about": None, "rows": 60, "columns": ODD},
        {"name": "regions", "about": None, "rows": 500, "columns": {"region": "VARCHAR"}},
        {
            "name": "staff",
            "about": "salary is masked",
            "rows": 500,
            "columns": {"id": "BIGINT", "age": "BIGINT", "region": "VARCHAR", "salary": "DOUBLE"},
        },
    ]


def test_an_analyst_gets_the_originals_regression_and_not_its_values(service: Service) -> None:
    query = "SELECT avg(salary) AS mean, stddev(salary) AS sd, regr_slope(salary, age) AS slope FROM {}"
    found = service.query(query.format("staff"))
    assert found.status == 200
    assert found.json["columns"] == ["mean", "sd", "slope"]
    assert found.json["truncated"] is False
    assert found.json["rows"][0] == pytest.approx(original(service, query.format("payroll"))[0], abs=1e-6)
    masked = dict(service.query("SELECT id, salary FROM staff").json["rows"])
    assert len(masked) == 500
    assert all(masked[id_] != salary for id_, salary in original(service, "SELECT id, salary FROM payroll"))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("WITH a AS (FROM staff), b AS (FROM a) SELECT count(*) FROM b JOIN a USING (id)", [[500]]),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) FROM r", [[10]]),
        ("SELECT count(*) FROM staff WHERE salary > (SELECT avg(salary) FROM STAFF) OR true", [[500]]),
        ("VALUES (1), (2)", [[1], [2]]),
        ("SELECT NULL, [1, NULL], {'d': DATE '2024-02-29'}, 1.5::DECIMAL(3, 1);", [[None, [1, None], {"d": "2024-02-29"}, 1.5]]),
        ("SELECT 'nan'::DOUBLE, ['inf'::FLOAT, '-inf'], {'NaN': 'NaN, \\\"-Infinity'}; -- the end;", [["NaN", ["Infinity", "-Infinity"], {"NaN": 'NaN, \\"-Infinity'}]]),
        ("SELECT h, e, u, j, t, m, d, o FROM \"odd AS \"\"odd\" WHERE \"id AS id\" = 7", [[2**100 + 2, "sad", "00000000-0000-0000-0000-000000000001", [1], "101", "1 month", 9007199254740993, r"\xFFa"]]),
        ("SELECT TIMESTAMPTZ '2024-02-29 12:00:00+00', [TIMESTAMPTZ '2024-02-29']", [["2024-02-29 12:00:00+00", ["2024-02-29 00:00:00+00"]]]),
        ("SELECT 1 AS a, 2 AS a, ';' UNION ALL SELECT 3, 4, '--' ORDER BY 1 DESC", [[3, 4, "--"], [1, 2, ";"]]),
        ("SELECT i, unnest([3]) FROM range(2) AS t(i) ORDER BY i", [[0, 3], [1, 3]]),
    ],
)  # fmt: skip
def test_selects_of_every_kind(service: Service, sql: str, rows: list[list[Any]]) -> None:
    found = service.query(sql)
    assert (found.status, found.json.get("rows")) == (200, rows), found.text


def test_an_analyst_reconstructs_what_was_randomized(service: Service) -> None:
    estimate = "SELECT region, estimate, lower, upper FROM rr_reconstruct('regions', ['region'], p={'region': 0.8})"
    found = service.query(f"WITH told AS ({estimate}) FROM told WHERE region = 'east'")
    assert found.status == 200, found.text
    [[region, share, lower, upper]] = found.json["rows"]
    assert lower < share < upper
    [truth] = original(service, f"SELECT avg((region = '{region}')::INTEGER) FROM payroll")[0]
    assert lower < truth < upper
    tested = service.query("SELECT count(*) FROM association_measures('staff', 'region', b='age')")
    assert (tested.status, tested.json["rows"]) == (200, [[6]]), tested.text


def test_answers_as_csv_and_their_end(service: Service) -> None:
    found = service.query('SELECT id, region AS "a,b" FROM staff ORDER BY id LIMIT 2', format="csv")
    assert (found.status, found.truncated) == (200, "false")
    assert list(csv.reader(found.text.splitlines())) == [["id", "a,b"], ["0", "east"], ["1", "west"]]
    for format in ("json", "csv"):
        assert service.query("FROM range(601)", format=format).truncated == "true"
        assert service.query("FROM range(600)", format=format).truncated == "false"
    odd = service.query("SELECT '' AS a, NULL AS b, 'x\"y\n' AS \"c\"\"d\", 'nan'::DOUBLE AS e", format="csv")
    assert odd.text == '"a","b","c""d","e"\r\n"",,"x""y\n","nan"\r\n'
    cut = service.query("FROM range(601)").json
    assert (len(cut["rows"]), cut["truncated"]) == (600, True)


ATTACKS = {
    "by name": ("FROM payroll", 403, "not_a_view"),
    "by schema": ("FROM main.payroll", 403, "not_a_view"),
    "by catalogue": ("FROM owner.main.payroll", 403, "not_a_view"),
    "the view's own schema": ("FROM masked.staff", 403, "not_a_view"),
    "in a subquery": ("SELECT (SELECT max(salary) FROM payroll) FROM staff", 403, "not_a_view"),
    "behind a name of WITH": ("WITH staff2 AS (FROM payroll) FROM staff2", 403, "not_a_view"),
    "a name of WITH out of its scope": ("SELECT (WITH payroll AS (SELECT 1) FROM payroll) FROM payroll", 403, "not_a_view"),
    "attach": ("ATTACH '{owner}' AS o", 403, "not_a_select"),
    "two statements": ("SELECT 1; ATTACH '{owner}' AS o", 403, "not_a_select"),
    "information_schema": ("FROM information_schema.tables", 403, "not_a_view"),
    "a catalogue view": ("FROM duckdb_tables", 403, "not_a_view"),
    "a catalogue function": ("FROM duckdb_tables()", 403, "function"),
    "definitions of views": ("SELECT sql FROM duckdb_views()", 403, "function"),
    "open databases": ("FROM pragma_database_list()", 403, "function"),
    "show": ("FROM (SHOW ALL TABLES)", 403, "not_a_view"),
    "read_csv": ("FROM read_csv('{folder}/secret.csv')", 403, "function"),
    "read_text": ("FROM read_text('{folder}/*')", 403, "function"),
    "a file's name": ("FROM '{folder}/secret.csv'", 403, "not_a_view"),
    "glob": ("FROM glob('{folder}/*')", 403, "function"),
    "query()": ("FROM query('FROM payroll')", 403, "function"),
    "query_table()": ("FROM query_table('payroll')", 403, "function"),
    "a pointer": ("FROM arrow_scan(1, 2, 3)", 403, "function"),
    "a mask with hardly any noise": ("FROM noise_mask('payroll', conf=['salary'], level=0.000001)", 403, "function"),
    "a SELECT to estimate from": ("FROM rr_reconstruct('(FROM payroll)', ['name'], p=0.9)", 403, "not_a_view"),
    "a file to estimate from": ("FROM rr_reconstruct('{folder}/secret.csv', ['name'], p=0.9)", 403, "not_a_view"),
    "a computed name": ("FROM rr_reconstruct('pay' || 'roll', ['name'], p=0.9)", 403, "not_a_view"),
    "a name by its parameter": ("FROM rr_reconstruct(columns=['name'], tbl='payroll')", 403, "not_a_view"),
    "a named first argument": ("FROM rr_reconstruct(tbl := 'staff')", 403, "not_a_view"),
    "two names": ("FROM rr_reconstruct('staff', ['id'], tbl := 'payroll', p=0.9)", 400, "sql"),
    "no name": ("FROM rr_reconstruct()", 403, "not_a_view"),
    "a query to estimate": ("FROM rr_query('SELECT count(*) FROM payroll')", 403, "function"),
    "a subquery as an argument": ("FROM rr_reconstruct('staff', (SELECT [name] FROM payroll))", 403, "not_a_view"),
    "what ppduck calls": ("SELECT ppduck_instance()", 403, "function"),
    "the planner": ("SELECT _pp_planned('a', 'rr_mask', [['b']])", 403, "function"),
    "a randomizing mask": ("FROM rr_mask('staff', p=0.8)", 403, "function"),
    "a measure": ("FROM moments_check('payroll', 'staff')", 403, "function"),
    "a quoted, qualified function": ("FROM system.main.\"QUERY\"('FROM payroll')", 403, "function"),
    "serialized SQL": ("FROM json_execute_serialized_sql(json_serialize_sql('FROM payroll'))", 403, "function"),
    "copy out": ("COPY staff TO '{folder}/out.csv'", 403, "not_a_select"),
    "copy in a file": ("COPY (FROM staff) TO '{folder}/out.csv'", 403, "not_a_select"),
    "export": ("EXPORT DATABASE '{folder}/out'", 403, "not_a_select"),
    "settings": ("SET enable_external_access = true", 403, "not_a_select"),
    "a setting's value": ("SELECT current_setting('temp_directory')", 403, "function"),
    "the secret": ("SELECT getenv('PPDUCK_SECRET')", 403, "function"),
    "extensions": ("INSTALL httpfs", 403, "not_a_select"),
    "changing a view": ("DELETE FROM staff", 403, "not_a_select"),
    "changing a view inside WITH": ("WITH gone AS (DELETE FROM staff RETURNING *) FROM gone", 403, "not_a_select"),
    "a new table": ("CREATE TABLE mine AS FROM staff", 403, "not_a_select"),
    "a macro": ("CREATE TEMP MACRO f() AS TABLE FROM staff", 403, "not_a_select"),
    "a variable of the program": ("FROM served", 403, "not_a_view"),
    "explain": ("EXPLAIN ANALYZE FROM staff", 403, "not_a_select"),
    "a near miss": ("SELECT names FROM staff", 400, "sql"),
    "a column of the original": ("SELECT name FROM staff", 400, "sql"),
    "a comment that hides": ("/* FROM staff */ FROM payroll -- FROM staff", 403, "not_a_view"),
    "nothing": ("-- nothing", 403, "not_a_select"),
    "no SQL": ("hello?", 400, "syntax"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_come_back_empty_handed(service: Service, attack: str) -> None:
    sql, status, kind = ATTACKS[attack]
    sql = sql.format(owner=service.owner, folder=service.owner.parent)
    found = service.query(sql)
    assert (found.status, found.kind) == (status, kind), found.text
    # What the message repeats of the question is no news.
    told = found.json["error"]["message"]
    for word in sorted(set(re.findall(r"\w+", sql)), key=len, reverse=True):  # "owner0" before "0"
        told = told.replace(word, "")
    assert not re.search(rf"{CANARY}|payroll|owner|98765|\.py|Traceback", told), told
    assert set(os.listdir(service.owner.parent)) == {"owner.db", "secret.csv", "log"}
    assert service.query("SELECT count(*) FROM staff").json["rows"] == [[500]]


@pytest.fixture(scope="module")
def app() -> Any:
    """The program as a module: what it does before it serves needs no process of its own."""
    sys.path.insert(0, str(ROOT / "examples"))  # as for a program that runs from there
    spec = importlib.util.spec_from_file_location("app_example", ROOT / "examples" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(str(ROOT / "examples"))
    return module


BEYOND_THE_WALL = {
    "ATTACH '{owner}' AS o": "file system operations are disabled|disabled by configuration",
    "FROM read_text('{owner}')": "disabled by configuration",
    "FROM '{folder}/secret.csv'": "disabled by configuration|does not exist",
    "FROM glob('{folder}/*')": "disabled by configuration",
    "COPY patients TO '{folder}/out.csv'": "disabled by configuration",
    "LOAD httpfs": "disabled (by|through) configuration",
    "INSTALL httpfs": "disabled (by|through) configuration",
    "SET enable_external_access = true": "configuration has been locked",
    "SET python_enable_replacements = true": "configuration has been locked",
    "RESET lock_configuration": "configuration has been locked",
    "SET memory_limit = '64GB'": "configuration has been locked",
    "DELETE FROM patients": "read-only",
    "CREATE TABLE t (a INT)": "read-only",
    "FROM frame": "frame does not exist",
    "FROM egadp_mask('patients', conf=['cost'])": "egadp_mask: this connection is an analyst's",
    "FROM rr_mask('diagnoses', p=0.8, seed=1)": "rr_mask: this connection is an analyst's",
}


def test_behind_the_door_is_a_wall(app: Any, tmp_path: Path) -> None:
    """The database that is served, asked directly: what a query could reach that the door overlooked."""
    (tmp_path / "secret.csv").write_text("name\nZaphod\n")
    with duckdb.connect(str(tmp_path / "owner.db")) as own:
        own.execute("CREATE TABLE payroll AS SELECT 1 AS salary")
    frame = pa.table({"salary": [1]})  # noqa: F841 - SQL that reads variables of Python would find it
    with app.published(None) as (file, views), app.opened(str(file)) as served:
        assert [view.name for view in views] == ["diagnoses", "patients"]
        visible = (
            "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
        )
        tables = served.execute(visible).fetchall()
        assert sorted(tables) == [("diagnoses",), ("patients",)]
        assert served.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal").fetchall() == [(1,)]
        assert served.table("patients").columns == ["id", "age", "sex", "cost"]
        for attempt, told in BEYOND_THE_WALL.items():
            with pytest.raises(duckdb.Error, match=told):
                served.execute(attempt.format(owner=tmp_path / "owner.db", folder=tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["owner.db", "secret.csv"]
    # Two settings keep variables away; either is enough.
    for other in ("enable_external_access", "python_enable_replacements"):
        with (
            duckdb.connect(config=app.CONFIG | {other: "true"}) as half_open,
            pytest.raises(duckdb.CatalogException, match="frame does not exist"),
        ):
            half_open.execute("FROM frame")
    with duckdb.connect() as open_door:  # where nothing is forbidden, the same words do reach it
        assert open_door.execute("FROM frame").fetchall() == [(1,)]
        assert open_door.execute(f"FROM '{tmp_path}/secret.csv'").fetchall() == [("Zaphod",)]


def test_views_cannot_be_joined_by_the_order_of_their_rows(service: Service) -> None:
    """The region of a row without a key is published with p = 0.8; put beside its key it would be right as often."""
    for joined in ("JOIN regions AS r ON s.rowid = r.rowid", "POSITIONAL JOIN regions AS r"):
        query = f"SELECT count(*), avg((s.region = r.region)::INT) FROM staff AS s {joined}"
        [[rows, right]] = service.query(query).json["rows"]
        assert rows == 500
        assert 0.35 < right < 0.65, "half of them, within seven standard errors"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "JSON decode error"),
        (b"", "required"),
        (b"[]", "valid dictionary"),
        (b"{}", "sql: Field required"),
        (b'{"sql": 5}', "sql: Input should be a valid string"),
        (b'{"sql": ""}', "sql: String should have at least 1 character"),
        (b'{"sql": "SELECT 1", "format": "xml"}', "format: Input should be 'json' or 'csv'"),
        (b'{"sql": "SELECT 1", "rows": 9}', "rows: Extra inputs are not permitted"),
        (json.dumps({"sql": "SELECT " + "1 + " * 9000 + "1"}).encode(), "at most 20000 characters"),
        (b'{"sql": "\xff"}', "JSON decode error|parsing the body|utf-8"),
    ],
)  # fmt: skip
def test_wrong_requests_are_told_what_is_wrong(service: Service, body: bytes, told: str) -> None:
    found = service.post(body)
    assert found.status in (400, 422)
    assert re.search(told, found.text), found.text
    assert found.kind == "request"


def test_other_addresses_and_methods(service: Service) -> None:
    found = [service.get(path) for path in ("/tables", "/query")]
    assert [(each.status, each.kind) for each in found] == [(404, "request"), (405, "request")]


def test_macros_in_the_owners_file_publish_no_original(app: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "owner.db")
    with ppduck.connect(path, secret=SECRET) as con:
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(500) AS r(i)")
        con.execute(
            "CREATE SCHEMA masked; CREATE VIEW masked.v AS FROM egadp_mask('main.t', conf=['x'], nonconf=['s'], key='id')"
        )
        con.execute("CREATE MACRO cos(a) AS 0; CREATE MACRO masked.sqrt(a) AS 0; CREATE MACRO hash(a) AS 0")
        con.execute("CREATE MACRO egadp_mask(tbl, conf := 1, nonconf := 1, key := 1) AS TABLE FROM main.t")
        con.execute("CREATE MACRO random() AS 0; CREATE MACRO ppduck_keyed_words_1(a, b) AS [0, 0]")

    def publish(name: str) -> int:
        """How many originals are published."""
        with ppduck.connect(path, secret=SECRET) as owner:
            app.publish(owner, tmp_path / name)
            owner.execute(f"ATTACH '{tmp_path / name}' AS p")
            found = owner.execute(
                "SELECT count(*) FROM p.main.v AS v JOIN main.t USING (id) WHERE v.x = t.x"
            ).fetchall()
        return int(found[0][0])

    with pytest.raises(SystemExit, match=r'view "v" must read masks only.*"egadp_mask" is a macro of the database'):
        publish("planted.db")
    with duckdb.connect(path) as con:
        con.execute("DROP MACRO TABLE egadp_mask")
    assert publish("masked.db") == 0
    with duckdb.connect(path) as con:
        con.execute('CREATE MACRO masked."*"(a, b) AS 0')
    with pytest.raises(duckdb.Error, match=r'DROP MACRO "owner"."masked"."\*";'):
        publish("refused.db")


def test_a_missing_secret_ends_the_program() -> None:
    ran = subprocess.run([*APP, "owner.db"], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.stdout, ran.returncode) == ("", 2)
    assert ran.stderr.splitlines()[-1].startswith("app.py: error: set PPDUCK_SECRET: without a secret")


def test_what_the_owner_must_give(
    app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str | Path) -> str:
        """What the program says that does not start."""
        monkeypatch.setattr(sys, "argv", ["app.py", *map(str, arguments)])
        monkeypatch.setattr(app.uvicorn, "run", lambda *_, **__: pytest.fail("it serves"))
        with pytest.raises(SystemExit, match=r"^2$|^app\.py: ") as ended:
            app.main()
        return f"{ended.value}{capsys.readouterr().err}"

    path = tmp_path / "owner.db"
    with ppduck.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert "give the owner's database, or --demo" in told()
    assert "give the owner's database, or --demo" in told(path, "--demo")
    assert "must be above 0" in told("--demo", "--seconds", "0")
    monkeypatch.setenv("PPDUCK_SECRET", "short")
    assert "PPDUCK_SECRET is too short" in told("--demo")
    monkeypatch.setenv("PPDUCK_SECRET", SECRET)
    assert "database does not exist" in told(tmp_path / "missing.db")
    assert 'the schema "masked" has no views' in told(path)
    with ppduck.connect(path) as con:
        con.execute("CREATE SCHEMA masked; CREATE VIEW masked.open AS FROM main.t")
    assert 'view "open" must read masks only, and none with a seed: ' in told(path)
    call = "FROM egadp_mask('main.t', conf {0} ['b'], nonconf {0} ['a'], key {0} 'id', {1} {0} 7)"
    seeded = {
        "anybody can repeat the noise of a seed": [
            *(call.format(sign, "seed") for sign in ("=", ":=", "=>")),
            call.format(":=", "SEED"),
            "SELECT d FROM rr_mask('main.t', p={'d': 0.8}, key='id', seed=7) JOIN rr_mask('main.t', p={'d': 0.8}, key='id') USING (d)",
        ],
        "give parameters by their names": ["FROM egadp_mask('main.t', ['b'], ['a'], NULL, 'id', 7)"],
    }
    with ppduck.connect(path) as con:
        con.execute(
            "CREATE OR REPLACE TABLE t AS SELECT i AS id, i % 5 AS a, i + sin(i) AS b, 'x' || i % 2 AS d FROM range(60) AS r(i)"
        )
        [(first,)] = con.execute(
            "SELECT min(list_position(parameters, 'seed')) FROM duckdb_functions() WHERE function_name LIKE '%\\_mask' ESCAPE '\\'"
        ).fetchall()
    assert first > 2, "no seed is among the parameters that need no name"
    for message, bodies in seeded.items():
        for body in bodies:
            with ppduck.connect(path) as con:
                con.execute(f"CREATE OR REPLACE VIEW masked.open AS {body}")
            assert message in told(path), body
