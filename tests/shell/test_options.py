"""--mode, --secret-file, --role and subcommands."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import types
from pathlib import Path

import duckdb
import pytest

from ppduck import shell
from tests.conftest import SECRET

pytestmark = pytest.mark.core

MASK = """CREATE TABLE c AS SELECT i AS id, sin(i) AS x FROM range(50) r(i);
SELECT md5(string_agg(x::VARCHAR, ' ' ORDER BY id)) AS m FROM noise_mask('c', conf=['x'], level=0.5, key='id')"""
ROWS = """SELECT 1 AS a, 'x,"y' AS "b ü", NULL::TEXT AS c, [1.5, 2] AS d, {'k': DATE '2020-01-02'} AS e
UNION ALL SELECT 2, E'one\\ntwo|', 'é', [], NULL ORDER BY a"""


def out(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert shell.main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(out(capsys, "--mode", "csv", "-c", ROWS))))
    assert rows == [
        ["a", "b ü", "c", "d", "e"],
        ["1", 'x,"y', "", "[1.5, 2.0]", "{'k': 2020-01-02}"],
        ["2", "one\ntwo|", "é", "[]", ""],
    ]


def test_line(capsys: pytest.CaptureFixture[str]) -> None:
    """No text is cut, however long."""
    long = "word " * 100
    query = f"SELECT 1 AS a, NULL AS longer, '{long}' AS ü UNION ALL SELECT 2, 'x', 'y'"
    printed = out(capsys, "--mode", "line", "-c", query)
    assert printed == f"     a = 1\nlonger = NULL\n     ü = {long}\n\n     a = 2\nlonger = x\n     ü = y\n"
    assert out(capsys, "-c", ".mode line", "-c", "SELECT 1 AS a WHERE false") == ""


@pytest.mark.parametrize("width", [80, 100, 300])
def test_maxwidth(capsys: pytest.CaptureFixture[str], width: int) -> None:
    printed = out(capsys, "-c", f".maxwidth {width}", "-c", f"SELECT '{'word ' * 200}' AS a")
    assert max(map(len, printed.splitlines())) <= width
    assert len(printed.splitlines()) > 5
    assert out(capsys, "-c", f".maxwidth {width}", "-c", ".maxwidth") == f"{width}\n"
    assert out(capsys, "-c", f".maxwidth {width}", "-c", ".maxwidth 0", "-c", ".maxwidth") == "that of the terminal\n"


@pytest.mark.parametrize("width", ["79", "-1", "1e3", "wide", "100001", "²"])
def test_a_width_that_makes_no_sense(capsys: pytest.CaptureFixture[str], width: str) -> None:
    assert shell.main(["-c", f".maxwidth '{width}'"]) == 1
    assert ".maxwidth takes a number of columns from 80 to 100000, or 0 for" in capsys.readouterr().err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    odd = ", 'NaN'::DOUBLE AS f, ['Infinity'::DOUBLE] AS g, 'NaN' AS h"
    found = json.loads(out(capsys, "--mode", "json", "-c", ROWS))
    assert found[0] == {"a": 1, "b ü": 'x,"y', "c": None, "d": [1.5, 2.0], "e": {"k": "2020-01-02"}}
    assert found[1] == {"a": 2, "b ü": "one\ntwo|", "c": "é", "d": [], "e": None}
    [strange] = json.loads(out(capsys, "--mode", "json", "-c", f"SELECT 1 AS a{odd}"), parse_constant=pytest.fail)
    assert strange == {"a": 1, "f": None, "g": [None], "h": "NaN"}
    assert out(capsys, "--mode", "json", "-c", "SELECT 1 AS a WHERE false") == "[]\n"


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "--mode", "markdown", "-c", ROWS).splitlines()
    assert lines[0].split() == ["|", "a", "|", "b", "ü", "|", "c", "|", "d", "|", "e", "|"]
    assert lines[1].startswith("|----:|-")
    assert "one<br>two\\|" in lines[3]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize("mode", ["csv", "json", "markdown"])
def test_every_row_is_printed_and_the_connection_stays_of_use(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = out(
        capsys, "--mode", mode, "-c", "FROM range(5000); CREATE TABLE t AS SELECT 1 AS a; FROM t; SHOW TABLES"
    )
    assert all(f"{i}" in printed for i in range(5000))
    assert "t" in printed.splitlines()[-1]


def test_a_secret_from_a_file_is_the_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n")
    file.chmod(0o600)
    monkeypatch.setenv("PPDUCK_SECRET", SECRET)
    expected = out(capsys, "-c", MASK)
    monkeypatch.setenv("PPDUCK_SECRET", "another secret of some length")
    assert out(capsys, "-c", MASK) != expected
    assert out(capsys, "--secret-file", str(file), "-c", MASK) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="knows no permissions of this kind")
def test_a_secret_that_others_can_read_is_warned_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    assert shell.main(["--secret-file", str(file), "-c", "SELECT 1"]) == 0
    assert capsys.readouterr().err == f"Warning: other users can read the secret file {file}; chmod 600 {file}\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot read the secret file {}: No such file or directory"),
        (b"", "the secret file {} is empty; write 16 bytes or more into it."),
        (b" \n\n", "the secret file {} is empty; write 16 bytes or more into it."),
        (b"abc\r\n", "the secret file {} is too short to protect anything; write 16 bytes or more into it."),
        (b"x" * 70_000, "the secret file {} is longer than 65,536 bytes; is it the right one?"),
    ],
)
def test_a_secret_file_of_no_use(
    content: bytes | None, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, database = tmp_path / "secret", tmp_path / "new.db"
    if content is not None:
        file.write_bytes(content)
    assert shell.main(["--secret-file", str(file), "-c", "SELECT 1", str(database)]) == 1
    assert capsys.readouterr() == ("", f"Error: {complaint.format(file)}\n")
    assert not database.exists()


def test_an_analyst_has_no_masks_and_needs_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "released.db"
    monkeypatch.setenv("PPDUCK_SECRET", SECRET)
    table = "CREATE TABLE t AS SELECT i AS id, i % 2 AS a, sin(i) AS x FROM range(100) r(i)"
    view = "CREATE VIEW masked AS FROM rr_mask('t', p={'a': 0.9}, key='id')"
    assert shell.main(["-c", table, "-c", view, "-c", "FROM masked", "--mode", "csv", str(database)]) == 0
    monkeypatch.setenv("PPDUCK_SECRET", "short")
    capsys.readouterr()
    estimate = "SELECT a FROM rr_reconstruct('t', ['a'], p={'a': 0.9})"
    assert out(capsys, "--role", "analyst", "--mode", "csv", "-c", estimate, str(database)) == "a\n0\n1\n"
    for statement in ("FROM masked", "FROM noise_mask('t', ['x'], level=1, key='id')"):
        assert shell.main(["--role", "analyst", "--mode", "csv", "-c", statement, str(database)]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert re.search(r"_mask: this connection is an analyst's .* neither masks nor a secret", printed.err)


def test_dbt_is_a_command_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []
    module = types.ModuleType("ppduck.dbt.cli")
    module.main = lambda argv: asked.append(list(argv)) or 3  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ppduck.dbt", types.ModuleType("ppduck.dbt"))
    monkeypatch.setitem(sys.modules, "ppduck.dbt.cli", module)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dbt").mkdir()  # the folder of a dbt project is no database
    assert shell.main(["dbt", "rules", "--json"]) == 3
    assert asked == [["rules", "--json"]]
    monkeypatch.setitem(sys.modules, "ppduck.dbt.cli", None)
    assert shell.main(["dbt", "rules"]) == 1
    assert capsys.readouterr().err == "Error: ppduck dbt needs ppduck.dbt.cli: pip install 'ppduck[dbt]'\n"
    (tmp_path / "dbt").rmdir()
    duckdb.connect(str(tmp_path / "dbt")).close()
    assert shell.main(["dbt", "-c", "CREATE TABLE t AS SELECT 1"]) == 0


def test_a_database_that_is_missing_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.db"
    assert shell.main(["--readonly", str(missing), "-c", "SELECT 1"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"Error: cannot open {missing}: ")
    assert "does not exist" in error
    assert error.count("\n") == 1
