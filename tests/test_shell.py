"""The ppduck command, run as its users run it: in a process of its own wherever that can make a difference."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck import shell
from tests.conftest import SECRET

pytestmark = pytest.mark.core

COMMAND = [sys.executable, "-m", "ppduck.shell"]
MISSION = "SELECT * FROM egadp_mask('customers', conf=['x1','x2']);"
CUSTOMERS = """
    CREATE TABLE customers AS
    SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 3) AS x1, cos(i) AS x2 FROM range(100) AS rows(i)
"""
ONE_AS_A = "┌───────┐\n│   a   │\n│ int32 │\n├───────┤\n│     1 │\n└───────┘\n"


def run(*arguments: str | Path, script: str | bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    """A finished ppduck that left neither a traceback nor a leak report behind."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=script.encode() if isinstance(script, str) else script,
        capture_output=True,
        env=os.environ | environment,
        timeout=60,
        check=False,
    )
    stdout, stderr = done.stdout.decode(), done.stderr.decode()
    for unwanted in ("Traceback", "At:", "leak", "Exception ignored", "Python exception"):
        assert unwanted not in stdout + stderr
    return subprocess.CompletedProcess(done.args, done.returncode, stdout, stderr)


def result_of(*arguments: str | Path, script: str | bytes = b"", **environment: str) -> str:
    """What a ppduck prints that meets no error."""
    done = run(*arguments, script=script, **environment)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def error_of(*arguments: str | Path, script: str | bytes = b"", **environment: str) -> str:
    """What a ppduck prints that prints no result but an error."""
    done = run(*arguments, script=script, **environment)
    assert (done.stdout, done.returncode) == ("", 1)
    return done.stderr


def commands(statements: Iterable[str]) -> list[str]:
    return [word for statement in statements for word in ("-c", statement)]


def headings(printed: str) -> list[list[str]]:
    """The column names of every box."""
    lines = printed.splitlines()
    tops = [number for number, line in enumerate(lines) if line.startswith("┌")]
    return [[name.strip() for name in lines[top + 1].strip("│").split("│")] for top in tops]


def rows_of(database: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database)) as con:
        return con.execute(query).fetchall()


@pytest.fixture(autouse=True)
def _python_as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with duckdb.connect(str(path)) as con:
        con.execute(CUSTOMERS)
    return path


def test_the_mission_statement_runs_from_a_file_against_a_file_database(database: Path, tmp_path: Path) -> None:
    script = tmp_path / "mask.sql"
    script.write_text(MISSION)
    masked = result_of(script, database, PPDUCK_SECRET=SECRET)
    assert headings(masked) == [["id", "s", "x1", "x2"]]
    assert "100 rows (40 shown)" in masked
    [(original,)] = rows_of(database, "SELECT x1::VARCHAR FROM customers WHERE id = 3")
    assert str(original) not in masked
    # Either order of the names will do, and the secret makes the noise the same again.
    assert result_of(database, script, PPDUCK_SECRET=SECRET) == masked


def test_whatever_returns_rows_is_shown_in_a_box_and_nothing_else_is(tmp_path: Path) -> None:
    shown = {
        "SELECT 1 AS a": ["a"],
        "FROM t": ["b", "c"],
        "WITH u AS (SELECT 2 AS d) FROM u": ["d"],
        "SELECT b AS empty FROM t WHERE false": ["empty"],
        "SELECT true AS Success WHERE false": ["Success"],
        "DESCRIBE t": ["column_name", "column_type", "null", "key", "default", "extra"],
        "SHOW TABLES": ["name"],
        "PRAGMA table_info('t')": ["cid", "name", "type", "notnull", "dflt_value", "pk"],
        "SUMMARIZE SELECT 1 AS e": ["column_name"],
        "CALL range(3)": ["range"],
        "INSERT INTO t VALUES (nextval('s'), 'returned') RETURNING b AS Count": ["Count"],
        "PIVOT (SELECT c FROM t) ON c USING count(*)": ["inserted", "returned"],
        "EXECUTE counting": ["Count"],
        "EXECUTE succeeding": ["Success"],
    }
    silent = [
        "CREATE SEQUENCE s",
        "CREATE TABLE t(b BIGINT, c VARCHAR)",
        "INSERT INTO t VALUES (nextval('s'), 'inserted')",
        f"COPY t TO '{tmp_path / 't.csv'}'",
        "PREPARE counting AS SELECT count(*) AS Count FROM t",
        "PREPARE succeeding AS SELECT true AS Success",
        "SET threads = 1",
        "BEGIN",
        "UPDATE t SET b = b",
        "COMMIT",
        "CHECKPOINT",
        "CREATE VIEW v AS FROM t",
        "DROP VIEW v",
    ]
    last = "SELECT list(b ORDER BY b) AS every_row_once FROM t"
    printed = result_of(*commands([*silent, *shown, "DELETE FROM t WHERE false", last]))
    found = headings(printed)
    wide = list(shown).index("SUMMARIZE SELECT 1 AS e")
    assert found[wide][0] == "column_name"
    assert found[:wide] + found[wide + 1 :] == [
        *(names for query, names in shown.items() if not query.startswith("SUMMARIZE")),
        ["every_row_once"],
    ]
    assert "[1, 2]" in printed
    assert printed.count("0 rows") == 2
    assert (tmp_path / "t.csv").read_text() == "b,c\n1,inserted\n"


def test_a_plan_is_drawn_on_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", "EXPLAIN SELECT 42 AS answer"]) == 0
    plan = capsys.readouterr().out
    assert "\\n" not in plan
    assert "explain_value" not in plan
    assert "answer" in plan
    assert len({len(line) for line in plan.splitlines()}) == 1, "the frame is straight"


def test_commands_run_in_order_on_one_connection() -> None:
    assert result_of("-c", "CREATE TEMP TABLE t AS SELECT 1 AS a; FROM t", "-c", "FROM t;;") == ONE_AS_A * 2


def test_a_statement_may_need_what_an_earlier_one_makes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "exported"
    moved = f"CREATE TABLE t AS SELECT 1 AS a; EXPORT DATABASE '{folder}'; DROP TABLE t; IMPORT DATABASE '{folder}'"
    assert shell.main(["-c", f"{moved}; FROM t"]) == 0
    assert capsys.readouterr() == (ONE_AS_A, "")


def test_a_script_from_standard_input(database: Path) -> None:
    printed = result_of(
        database, script="\ufeffSELECT 1 AS a;\r\n-- the rest is silence\r\nCREATE TABLE new AS SELECT 7 AS b"
    )
    assert printed == ONE_AS_A
    assert rows_of(database, "FROM new") == [(7,)]


def test_an_empty_script_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", " \n-- nothing; at all\n/* ; */ ;", "-c", ""]) == 0
    assert capsys.readouterr() == ("", "")


def test_without_anything_to_run_a_terminal_gets_the_usage() -> None:
    pty = pytest.importorskip("pty")
    master, terminal = pty.openpty()
    try:
        done = subprocess.run(COMMAND, stdin=terminal, capture_output=True, timeout=60, check=False)
    finally:
        os.close(master)
        os.close(terminal)
    assert (done.stdout, done.returncode) == (b"", 2)
    assert done.stderr.startswith(b"usage: ppduck")


def test_boxes_are_as_wide_as_the_terminal_or_120() -> None:
    columns = ", ".join(f"{i} AS col{i}" for i in range(30))
    query = f"SELECT {columns}"
    assert 100 < max(map(len, result_of("-c", query, COLUMNS="90").splitlines())) <= 120
    pty = pytest.importorskip("pty")
    master, terminal = pty.openpty()
    try:
        subprocess.run(
            [*COMMAND, "-c", query], stdout=terminal, env=os.environ | {"COLUMNS": "90"}, timeout=60, check=True
        )
        on_terminal = os.read(master, 100_000).decode()
    finally:
        os.close(master)
        os.close(terminal)
    assert 80 < max(map(len, on_terminal.splitlines())) <= 90


def test_an_error_names_its_line_and_ends_the_run(database: Path, tmp_path: Path) -> None:
    script = tmp_path / "mistake.sql"
    script.write_text(
        "SELECT 1 AS a; -- über; 'alles\n"
        "CREATE TABLE before AS SELECT $$ ; $$ AS b, ';\n' AS c;\n"
        "/* one; \n two */\n"
        "BEGIN; INSERT INTO before VALUES ('x', 'y');\n"
        "  SELECT *\n"
        "    FROM egadp_mask('customers', conf=['x1', 'xx']);\n"
        "CREATE TABLE after AS SELECT 1;\n"
    )
    done = run(script, database)
    assert (done.stdout, done.returncode) == (ONE_AS_A, 1)
    assert re.fullmatch(
        'Error: Invalid Input Error: egadp_mask on "customers": [^\n]*"xx"[^\n]* Did you mean "x1"\\?[^\n]*\n'
        f"  in {re.escape(str(script))}, line 7\n",
        done.stderr,
    )
    assert rows_of(database, "SELECT count(*) FROM before") == [(1,)], "what was not committed is gone"
    assert rows_of(database, "FROM duckdb_tables() SELECT table_name ORDER BY 1") == [("before",), ("customers",)]
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".wal"] == []


def test_the_caret_of_an_error_points_at_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    create = f"{CUSTOMERS};\nCREATE TABLE m AS FROM egadp_mask('customers', conf=['zz'])"
    assert shell.main(["-c", create]) == 1
    printed = capsys.readouterr()
    message, empty, text, caret, where = printed.err.splitlines()[-5:]
    assert printed.out == empty == ""
    assert '"zz"' in printed.err
    assert text[caret.index("^") :].startswith("egadp_mask('customers'")
    assert where == "  in -c, line 5"
    assert not re.search(r"At:|\.py|LINE|UDF|PpduckError", printed.err)
    assert message


def test_a_script_that_does_not_parse_is_not_begun(database: Path, tmp_path: Path) -> None:
    script = tmp_path / "typo.sql"
    script.write_text("CREATE TABLE new AS SELECT 1;\n" * 9 + "\nSELECT 1\n  FROM customers WHERE WHERE;\nSELECT 2;")
    message = error_of(script, database)
    assert message.startswith('Error: Parser Error: syntax error at or near "WHERE"')
    _, _, _, text, caret, where, *rest = ["", *message.split("\n")]
    assert text.strip() == "FROM customers WHERE WHERE"
    assert text[caret.index("^") :] == "WHERE"
    assert where == f"  in {script}, line 12"
    assert rest == [""]
    assert rows_of(database, "SELECT table_name FROM duckdb_tables()") == [("customers",)]


@pytest.mark.parametrize("rest", ["'no end", "/* no end", "$$ no end;", "SELECT (1; 2)", "DROP"])
def test_a_text_that_ends_too_early_is_not_overlooked(rest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", "SELECT 1;", "-c", f"SELECT 2;\n\n{rest}"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Error: Parser Error: ")
    assert printed.err.endswith("  in -c number 2, line 3\n")


def test_dot_commands_stand_between_statements(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", "SELECT 1 AS a;\n-- it's next\n .mode csv\nSELECT 2 AS b;\n.quit\nSELECT 3 AS c;"]) == 0
    assert capsys.readouterr() == (f"{ONE_AS_A}b\n2\n", "")
    assert shell.main(["-c", "\ufeff.mode json", "-c", "SELECT 1 AS a"]) == 0
    assert capsys.readouterr() == ('[{"a":1}]\n', "")


def test_a_wrong_dot_command_stops_the_script_before_it_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", "SELECT 1;\n.tabels\nSELECT (;"]) == 1
    refusal = 'Error: there is no .tabels. Did you mean ".tables"? .help lists the dot commands.\n'
    assert capsys.readouterr() == ("", f"{refusal}  in -c, line 2\n")
    assert shell.main(["-c", "\n.tables\n\nSELECT 1;\n SELECT (;"]) == 1
    assert capsys.readouterr().err.endswith("  in -c, line 5\n")
    assert shell.main(["-c", "SELECT 1; .tables"]) == 1
    alone = "Error: a dot command stands on a line of its own, before or after the SQL.\n"
    assert capsys.readouterr() == ("", f"{alone}  in -c, line 1\n")


def test_scripts_read_scripts_but_not_themselves(tmp_path: Path) -> None:
    outer, inner = tmp_path / "outer.sql", tmp_path / "inner.sql"
    outer.write_text(f"CREATE TABLE t AS SELECT 1 AS a;\n.read {inner}\n.read {inner}\n")
    inner.write_text("INSERT INTO t FROM t;\n.mode csv\nSELECT count(*) AS n FROM t;\n")
    assert result_of(outer) == "n\n2\nn\n4\n"
    inner.write_text(f".read '{tmp_path}/../{tmp_path.name}/outer.sql'\n")
    told = f"Error: .read: {tmp_path}/../{tmp_path.name}/outer.sql reads itself.\n"
    assert error_of(outer) == f"{told}  in {inner}, line 1\n  in {outer}, line 2\n"


def test_a_line_within_a_statement_may_start_with_a_dot(capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.main(["-c", "SELECT t\n.a FROM (SELECT 1 AS a, '\n.mode csv' AS b) AS t"]) == 0
    assert capsys.readouterr() == (ONE_AS_A, "")


def test_scripts_run_in_their_order_once_all_of_them_parse(tmp_path: Path) -> None:
    first, second, database = tmp_path / "first.sql", tmp_path / "second.sql", tmp_path / "new.db"
    first.write_text("CREATE TABLE t AS SELECT 1 AS a;")
    second.write_text("FROM t;")
    assert result_of(first, second, database) == ONE_AS_A
    second.write_text("\nDROP;")
    assert error_of(first, second, tmp_path / "other.db").endswith(f"  in {second}, line 2\n")


@pytest.mark.parametrize("mode", ["table", "line", "csv", "json", "markdown"])
def test_an_error_in_the_last_rows_is_an_error(mode: str) -> None:
    query = "SELECT 1;\nSELECT if(i = 99999, error('the last one'), i) AS a FROM range(100000) r(i)"
    done = run("--mode", mode, "-c", query)
    assert done.returncode == 1
    assert re.fullmatch(r"Error: .*the last one(.|\n)*\n  in -c, line 2\n", done.stderr)


def test_the_word_returning_in_a_literal_asks_for_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    insert = "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'é returning')"
    assert shell.main(["-c", insert]) == 0
    assert capsys.readouterr() == ("", "")
    assert shell.main(["-c", f"{insert} Returning a"]) == 0
    assert capsys.readouterr() == (ONE_AS_A, "")


def test_a_closed_output_and_a_name_that_is_no_text(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m ppduck.shell -c 'SELECT 1' >&-", shell=True, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    done = subprocess.run(
        [*COMMAND, os.fsencode(tmp_path) + b"/\xff.db", "-c", "SELECT 1"], capture_output=True, check=False
    )
    assert done.returncode == 1
    assert re.fullmatch(rb"Error: cannot open '.*udcff.db': its name is not UTF-8 text.\n", done.stderr)


def test_a_script_that_is_missing_or_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, database = tmp_path / "missing.sql", tmp_path / "new.db"
    assert error_of(missing, database) == f"Error: cannot read {missing}: No such file or directory\n"
    assert not database.exists()
    binary = tmp_path / "binary.sql"
    binary.write_bytes(b"SELECT '\xff'")
    assert shell.main([str(binary)]) == 1
    assert capsys.readouterr() == ("", f"Error: {binary} is not UTF-8 text: see byte 9\n")


def test_a_database_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    beyond = tmp_path / "no folder" / "x.db"
    message = error_of("-c", "SELECT 1", beyond)
    assert re.fullmatch(f"Error: cannot open {re.escape(str(beyond))}: IO Error: [^\n]+\n", message)
    monkeypatch.setenv("PPDUCK_SECRET", "abc")
    assert shell.main(["-c", "SELECT 1"]) == 1
    assert re.fullmatch("Error: [^\n]*PPDUCK_SECRET is too short[^\n]+\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["a.db", "b.db", "-c", "SELECT 1"], "one database at most"),
        (["a.sql", "-c", "SELECT 1"], "scripts or -c, not both"),
        (["--readonly", "a.sql"], "--readonly needs a database"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--role", "analist", "-c", "SELECT 1"], "argument --role: invalid choice: 'analist'"),
        (["--role", "analyst", "--secret-file", "f", "-c", "SELECT 1"], "an analyst has no secret"),
    ],
)
def test_bad_usage(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        shell.main(arguments)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: ppduck")
    assert complaint in printed.err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        shell.main(["--version"])
    assert capsys.readouterr() == (f"ppduck {ppduck.__version__}\n", "")


def test_readonly_reads_and_masks_but_does_not_write(database: Path) -> None:
    masked = "SELECT count(*)::INT // 100 AS a FROM egadp_mask('customers', conf=['x1','x2'])"
    done = run("-c", masked, "--readonly", database, "-c", "DELETE FROM customers")
    assert (done.stdout, done.returncode) == (ONE_AS_A, 1)
    assert re.search("^Error: .*read-only.*\n  in -c number 2, line 1\n$", done.stderr)
    assert rows_of(database, "SELECT count(*) FROM customers") == [(100,)]


def test_options_may_stand_between_the_names(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "count.SQL"
    script.write_text("SELECT count(*)::INT // 100 AS a FROM customers")
    assert shell.main([str(script), "--readonly", str(database)]) == 0
    assert capsys.readouterr() == (ONE_AS_A, "")


@pytest.mark.parametrize(("statement", "code"), [("SELECT 1", 0), ("SELECT nothing", 1), ("SELECT SELECT", 1)])
def test_the_connection_is_closed_at_the_end(statement: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[duckdb.DuckDBPyConnection] = []
    connect = ppduck.connect
    monkeypatch.setattr(ppduck, "connect", lambda *args, **kwargs: opened.append(connect(*args, **kwargs)) or opened[0])
    assert shell.main(["-c", statement]) == code
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        opened[0].execute("SELECT 1")


def test_boxes_and_messages_print_under_the_posix_locale() -> None:
    posix = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run("-c", "SELECT 'é' AS \"ü\"", "-c", "SELECT ä", **posix)
    assert headings(done.stdout) == [["ü"]]
    assert "│ é " in done.stdout
    assert '"ä"' in done.stderr


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    script, database = tmp_path / "long.sql", tmp_path / "new.db"
    script.write_text("SELECT repeat('x', 100) FROM range(40);\n" * 40 + "CREATE TABLE late AS SELECT 1;")
    with subprocess.Popen([*COMMAND, script, database], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().decode().startswith("┌─")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1
    assert rows_of(database, "SELECT table_name FROM duckdb_tables()") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_results_that_cannot_be_written_are_an_error() -> None:
    with Path("/dev/full").open("w") as full:
        command = [*COMMAND, "-c", "SELECT 1"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.stderr, done.returncode) == (b"Error: cannot write the results: No space left on device\n", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="cannot send Ctrl-C to one process")
def test_an_interrupted_statement_is_an_error() -> None:
    endless = "SELECT 1 AS a;\nSELECT count(*) FROM range(10000000) a, range(10000000) b"
    with subprocess.Popen([*COMMAND, "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().decode().startswith("┌─")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1
        assert process.stderr.read() in (
            b"Error: the query was cancelled.\n  in -c, line 1\n",
            b"Error: the query was cancelled.\n  in -c, line 2\n",
            b"Error: stopped after a statement that was done when Ctrl-C came.\n  in -c, line 1\n",
            b"Error: cancelled.\n",
        )


def test_sql_meets_neither_the_programs_variables_nor_a_progress_bar() -> None:
    done = run("-c", "SELECT (current_setting('enable_progress_bar')::INT + 1)::INT AS a", "-c", "FROM con")
    assert done.stdout == ONE_AS_A
    assert done.stderr.startswith("Error: Catalog Error: Table with name con does not exist!")


def test_warnings_are_said_plainly_and_every_time() -> None:
    query = "FROM rr_reconstruct('(SELECT i % 2 AS c FROM range(9) r(i))', ['c'], p=0.502);"
    ran = run("-c", query + query)
    assert ran.returncode == 0, ran.stderr
    assert (
        ran.stderr.count(
            'Warning: rr_reconstruct on "(SELECT i % 2 AS c FROM range(9) r(i))": the matrix of column "c"'
        )
        == 2
    )
    assert ".py" not in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_long_work_shows_its_progress_in_a_terminal_and_nowhere_else() -> None:
    import pty

    ask = "SELECT current_setting('enable_progress_bar') AS shown"  # DuckDB draws it after two seconds
    ours, theirs = pty.openpty()
    subprocess.run([*COMMAND, "-c", ask], stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=True)
    in_terminal = os.read(ours, 65536).decode()
    os.close(theirs)
    os.close(ours)
    assert "│ true" in in_terminal
    assert "│ false" in run("-c", ask).stdout
