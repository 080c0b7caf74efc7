"""The plugin's configuration, its refusals, and its functions on several cursors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pytest

import ppduck
from ppduck.dbt.answers import answer, register
from ppduck.errors import PpduckError
from ppduck.shell.secret_file import read_secret
from tests.conftest import SECRET
from tests.dbt.test_answers import ASKED

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dbt's own
    from dbt.adapters.duckdb.credentials import DuckDBCredentials
    from dbt.adapters.duckdb.plugins import BasePlugin
    from dbt_common.exceptions import DbtRuntimeError

    from ppduck.dbt import plugin as plugin_module
    from ppduck.dbt.plugin import secret_of


GIVEN = "the secret itself, by mistake"


def test_ppduck_imports_without_dbt() -> None:
    code = "import sys; sys.modules['dbt'] = None; import ppduck, ppduck.dbt, ppduck.dbt.cli; print('fine')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout == "fine\n", ran.stderr


def test_where_the_secret_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", SECRET)
    (tmp_path / "secret").write_text(SECRET + "\n", encoding="utf-8")
    assert secret_of({"secret_env": "MINE"}) == SECRET.encode()
    assert secret_of({"secret_file": str(tmp_path / "secret")}) == SECRET.encode()
    assert secret_of({}) is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"secret_evn": "MINE"}, r'key "secret_evn", which is not known. Did you mean "secret_env"\? Keys: "secret_env", "secret_file"'),
        ({"secret_env": "NOT_SET"}, "names an environment variable that is not set or empty"),
        ({"secret_env": GIVEN}, r"It takes the name of the variable, as in secret_env: CUSTOMERS_SECRET, without env_var\(\)"),
        ({"secret_env": "SHORT"}, "the secret that secret_env names is too short to protect anything; give 16 bytes"),
        ({"secret_env": GIVEN + "=short"}, "the secret that secret_env names is too short"),
        ({"secret_env": [GIVEN, "b"]}, "secret_env takes a text, got list. It takes the name of the variable"),
        ({"secret_env": 4711}, "secret_env takes a text, got int"),
        ({"secret_file": "no/such/file"}, "secret_file names a file that cannot be read: No such file"),
        ({"secret_file": GIVEN}, "It takes the path of the file that holds the secret, not the secret"),
        ({"secret_file": GIVEN + "\0"}, "cannot be read: ValueError"),
        ({"secret_env": "A", "secret_file": "b"}, "both secret_env and secret_file"),
    ],
)  # fmt: skip
def test_refused(config: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "0123456789")
    monkeypatch.setattr(plugin_module.os, "environ", os.environ | {GIVEN + "=short": "0123456789"})
    with pytest.raises(PpduckError, match=message) as refused:
        secret_of(config)
    for untold in ("0123456789", GIVEN, "4711"):
        assert untold not in str(refused.value)


def test_settings_of_the_profile_are_no_keys_of_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", SECRET)
    credentials = DuckDBCredentials(database="memory", schema="main", path=":memory:", settings={"threads": "2"})
    settings: dict[str, Any] = dict(credentials.settings or {})
    plugin = BasePlugin.create("ppduck.dbt", config=settings | {"secret_env": "MINE"}, credentials=credentials)
    with duckdb.connect() as con:
        plugin.configure_connection(con)
        plugin.configure_connection(con)
        cursors = [con.cursor(), con.cursor()]
        con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(50) r(i)")
        rows = []
        for cursor in cursors:
            plugin.configure_cursor(cursor)
            rows.append(
                cursor.execute("FROM egadp_mask('t', conf := 'x', nonconf := []::VARCHAR[], key := 'id')").fetchall()
            )
        assert rows[0] == rows[1]
    with pytest.raises(DbtRuntimeError, match='config has key "thread", which is not known'):
        BasePlugin.create("ppduck.dbt", config=settings | {"thread": "4"}, credentials=credentials)


def test_a_run_without_a_secret_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(plugin_module.LOGGER, "warning", said.append)
    BasePlugin.create("ppduck.dbt", config={})
    assert len(said) == 1
    assert "no secret is given, so that every run is another release" in said[0]
    monkeypatch.setenv("PPDUCK_SECRET", SECRET)
    BasePlugin.create("ppduck.dbt", config={})
    assert len(said) == 1


def test_questions_of_the_macros() -> None:
    rule = {"name": "m", "raw_code": "", "config": {"meta": {"ppduck": {"mask": "egadp", "conf": ["x"]}}}}
    given = dict.fromkeys(ASKED)
    with duckdb.connect() as con:
        register(con)
        request = {"node": rule, "given": given, "masked": "m", "made_of": {}}
        [(said,)] = con.execute("SELECT ppduck_dbt('release', ?)", [json.dumps(request)]).fetchall()
    assert "parameter 'original' is missing" in json.loads(said)["error"]
    assert "parameter 'key' is missing, and the model's rule does not name it either" in json.loads(said)["error"]
    told = given | {"original": '"o"', "key": "id", "limits": {"linkage": 0.1}}
    request = {"node": rule, "given": told, "masked": '(select * from "m" where true) dbt_subquery', "made_of": {}}
    statement = json.loads(answer("release", json.dumps(request)))["sql"]
    masked = "'(select * from (select * from \"m\" where true) dbt_subquery)'"
    assert f"release_check('o', {masked}, conf := ['x'], key := 'id', limits := {{'linkage': 0.1}})" in statement
    assert f"moments_check('o', {masked}, key := 'id')" in statement
    there = request | {"columns": ["id", "x", "z"]}
    statement = json.loads(answer("release", json.dumps(there | {"given": told | {"nonconf": ["y"]}})))["sql"]
    assert f"moments_check('o', {masked}, conf := ['x'])" in statement  # y is not released
    without = json.loads(answer("release", json.dumps(request | {"given": told | {"moments": False}})))["sql"]
    assert "moments_check" not in without


def test_what_the_gate_cannot_know() -> None:
    given = dict.fromkeys(ASKED) | {"original": "data/o.parquet"}
    noise = {"mask": "['noise']", "conf": "['x']", "level": "[0.5]"}
    calls = {
        "ppduck_call_1": {"arguments": noise | {"key": "[Undefined]"}, "over_text": False},
        "ppduck_call_2": {"arguments": noise | {"key": "['id']"}, "over_text": False},
    }
    for names, message in [
        (["ppduck_call_1"], "'key' is missing, and the model's call of ppduck_mask tells it only when it runs"),
        (list(calls), "'conf' is missing, and the model calls ppduck_mask more than once"),
    ]:
        node = {"name": "m", "config": {"meta": {name: calls[name] for name in names}}}
        request = {"node": node, "given": given, "masked": '"m"', "made_of": {}}
        assert message in json.loads(answer("release", json.dumps(request)))["error"]
    node = {"name": "m", "config": {"meta": {"ppduck_call_2": calls["ppduck_call_2"]}}}
    said = json.loads(answer("release", json.dumps(request | {"node": node})))
    assert "release_check('data/o.parquet', 'm', conf := ['x'], key := ['id'])" in said["sql"]
    assert said["release"] == "m"
    of_file = json.loads(answer("release", json.dumps(request | {"node": node, "masked": "data/m.parquet"})))
    assert of_file["release"] == '"data/m.parquet"'


def test_a_lost_row_is_not_told_in_standard_deviations() -> None:
    node = {"name": "m", "config": {"meta": {"ppduck": {"mask": "egadp", "conf": "x", "nonconf": [], "key": "id"}}}}
    given = dict.fromkeys(ASKED) | {"original": "o"}
    request = {"node": node, "given": given, "masked": "m", "made_of": {}}
    moments = json.loads(answer("release", json.dumps(request)))["sql"].split("UNION ALL")[1]
    with ppduck.connect() as con:
        con.execute("CREATE TABLE o AS SELECT i AS id, sin(i) AS x FROM range(99) r(i)")
        con.execute("CREATE TABLE m AS FROM o WHERE id > 4")
        said = {row[1]: row[4] for row in con.execute(moments).fetchall() if "variance" not in row[4]}
    assert said[None] == "rows that the release has more or fewer than the original (moments_check)"
    assert said["x"].startswith("mean that the mask promises to keep, as a difference in standard deviations")


@pytest.mark.parametrize(
    ("relation", "table"),
    [
        ('"db"."main"."stg"', "db.main.stg"),
        ('"db"."main"."Odd name"', '"db"."main"."Odd name"'),
        ('"db"."main"."stg""x"', '"db"."main"."stg""x"'),
        ("(select * from x limit 0)", "(select * from x limit 0)"),
        ("data.parquet", "data.parquet"),
    ],
)
def test_sources_are_named_as_a_user_would(relation: str, table: str) -> None:
    node = {"name": "m", "config": {"meta": {"ppduck": {"mask": "egadp", "conf": "x"}}}}
    source = {"name": "s", "table": relation, "is_cte": False, "columns": ["x"]}
    said = json.loads(answer("mask", json.dumps({"node": node, "source": source, "call": {}})))
    assert said["sql"] == f"select * from egadp_mask('{table}', conf := 'x')"


def test_a_file_holds_the_same_secret_for_dbt_and_for_the_prompt(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(SECRET.encode() + b"\r\n\r\n")
    file.chmod(0o600)
    assert secret_of({"secret_file": str(file)}) == read_secret(str(file))
