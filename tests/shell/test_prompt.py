"""The prompt, used as its users use it: typed at a real pseudo-terminal, read from a screen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.help import page

if sys.platform == "win32":
    pytest.skip("has no pseudo-terminals", allow_module_level=True)

from tests.shell.terminal import COMMAND, CTRL_C, CTRL_D, ENTER, PROMPT, TAB, UP, Terminal, tell

CTRL_Z, LEFT = "\x1a", "\x1b[D"

ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b;"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    with duckdb.connect(str(path)) as con:
        con.execute(
            "CREATE TABLE customers AS SELECT i AS id, sin(i) AS s, sin(i) + cos(i * 3) AS x1, cos(i) AS x2 FROM range(300000) r(i)"
        )
    return path


@pytest.fixture(scope="module")
def shared(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with Terminal(database, state=tmp_path_factory.mktemp("state")) as terminal:
        yield terminal


@pytest.fixture
def terminal(shared: Terminal) -> Iterator[Terminal]:
    """One session for many tests, as for many questions of a user; a test must leave an empty prompt."""
    yield shared
    shared.type(CTRL_C)
    shared.clear()
    for setting in (".mode table", ".timer off"):
        shared.ask(setting)


def ran(screen: str) -> list[str]:
    """The lines below the ones that were typed."""
    return [line for line in screen.splitlines() if not line.startswith((PROMPT, "   ...>"))]


def test_it_greets_and_answers(database: Path, terminal: Terminal) -> None:
    greeting = terminal.ready()
    versions = f"ppduck {ppduck.__version__} with DuckDB {duckdb.__version__}, {database}"
    assert re.search(rf"^{re.escape(versions)}$", greeting, re.M)
    assert ".help tells more" in greeting
    box = ["┌───────┐", "│   a   │", "│ int32 │", "├───────┤", "│     1 │", "└───────┘"]
    assert ran(terminal.ask("SELECT 1 AS a;")) == box
    assert "│     1 │" in terminal.ask("SELECT 1 AS a; -- and a comment;")


def test_a_statement_takes_as_many_lines_as_it_wants(terminal: Terminal) -> None:
    screen = terminal.ask("SELECT 40 +\r-- not yet;\r2 AS b, ';\r' AS c\r;")
    assert screen.startswith(
        "ppduck> SELECT 40 +\n   ...> -- not yet;\n   ...> 2 AS b, ';\n   ...> ' AS c\n   ...> ;\n"
    )
    assert re.search(r"│ +42 │", screen)
    assert ran(terminal.ask("\r")) == []


def test_two_statements_on_one_line(terminal: Terminal) -> None:
    screen = terminal.ask("SELECT 1 AS a; SELECT 2 AS b;")
    assert screen.index("│   a   │") < screen.index("│   b   │")


def test_the_input_is_highlighted(terminal: Terminal) -> None:
    terminal.clear()
    terminal.type("SELECT name, 'text' FROM nothing")
    terminal.see("nothing")
    colours = terminal.colours
    assert colours["SELECT"] == colours["FROM"] != "default"
    assert colours["name,"] == "default" or colours["name,"] != colours["SELECT"]
    assert colours["'text'"] not in ("default", colours["SELECT"])


def test_a_pasted_insert_of_many_rows(terminal: Terminal) -> None:
    terminal.ask("CREATE TEMP TABLE pasted(id INTEGER, name VARCHAR);")
    terminal.clear()
    rows = "INSERT INTO pasted VALUES " + ",\n".join(f"({i}, 'name {i}')" for i in range(4000))
    # In parts, as a terminal takes no more at a time than it has room for.
    for at in range(0, len(rows), 2000):
        terminal.type(("\x1b[200~" if at == 0 else "") + rows[at : at + 2000])
    terminal.type("\x1b[201~")
    terminal.see("name 3999')")
    began = time.monotonic()
    terminal.type(TAB + " ;" + ENTER)
    terminal.ready()
    assert time.monotonic() - began < 30  # it took minutes when the time went with the square of the rows
    assert "│         4000 │" in terminal.ask("SELECT count(*) FROM pasted;")
    terminal.ask("DROP TABLE pasted;")


def test_dollars_in_a_name_quote_nothing(terminal: Terminal) -> None:
    assert "│ a$b$c │" in terminal.ask("SELECT 1 AS a$b$c;")


def test_ctrl_z_is_no_part_of_a_statement(terminal: Terminal) -> None:
    terminal.clear()
    terminal.type("SELECT 40" + CTRL_Z)
    terminal.see("SELECT 40")
    terminal.type(" + 2 AS b;" + ENTER)
    terminal.wait(lambda lines: len(lines) > 1 and lines[-1] == PROMPT, "an answer")
    assert re.search(r"│ +42 │", terminal.text)


def test_an_error_is_told_and_the_session_goes_on(terminal: Terminal) -> None:
    screen = terminal.ask("SELECT * FROM egadp_mask('customers', conf=['x1', 'xx']);")
    assert 'Error: Invalid Input Error: egadp_mask on "customers"' in screen
    assert 'Did you mean "x1"?' in screen
    assert "Traceback" not in screen
    assert "syntax error" in terminal.ask("SELECT SELECT;")
    assert "│     1 │" in terminal.ask("SELECT 1 AS a;")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("SELECT * FROM cust", "SELECT * FROM customers"),
        ("descr", "describe"),
        ("DESCR", "DESCRIBE"),
        ("FROM egadp_m", "FROM egadp_mask("),
        ("FROM egadp_mask('cu", "FROM egadp_mask('customers'"),
        ("FROM egadp_mask('customers', con", "FROM egadp_mask('customers', conf="),
        ("FROM egadp_mask('customers', conf=['x1', 'i", "FROM egadp_mask('customers', conf=['x1', 'id'"),
        ("SELECT c.i FROM customers c WHERE c.i", "SELECT c.i FROM customers c WHERE c.id"),
        ("SELECT 1,\rcustomers.i", "customers.id"),
        (".ta", ".tables"),
        (".mode ma", ".mode markdown"),
        (".help egadp_m", ".help egadp_mask"),
        (".schema cus", ".schema customers"),
        (".timer of", ".timer off"),
    ],
)
def test_tab_completes(typed: str, completed: str, terminal: Terminal) -> None:
    terminal.clear()
    terminal.type(typed)
    terminal.see(typed.split("\r")[-1])
    terminal.type(TAB)
    terminal.wait(lambda lines: lines[-1][len(PROMPT) + 1 :] == completed, repr(completed))


@pytest.mark.parametrize(
    ("typed", "after", "completed"),
    [
        ("SELECT c.i", " FROM customers c", "SELECT c.id FROM customers c"),
        ("FROM egadp_mask('customers', conf=['i", "'])", "FROM egadp_mask('customers', conf=['id'])"),
    ],
)
def test_tab_reads_what_follows_the_cursor(typed: str, after: str, completed: str, terminal: Terminal) -> None:
    terminal.clear()
    terminal.type(typed + after + LEFT * len(after))
    terminal.see(typed + after)
    terminal.type(TAB)
    terminal.wait(lambda lines: lines[-1] == f"{PROMPT} {completed}", repr(completed))


def test_tab_offers_parameters_with_what_they_mean(terminal: Terminal) -> None:
    terminal.clear()
    terminal.type("FROM egadp_mask('customers', ")
    terminal.see("'customers',")
    terminal.type(TAB)
    menu = terminal.see("on_null=")
    assert "the columns that identify a row" in menu
    assert "tbl=" not in menu
    terminal.type(TAB + ENTER)
    terminal.wait(lambda lines: lines[-1].endswith("'customers', conf="), "the first parameter, taken by Enter")


def test_tab_indents_a_line_that_is_blank(terminal: Terminal) -> None:
    terminal.clear()
    terminal.type("SELECT\r" + TAB + "7 AS seven")
    terminal.see("   ...>     7 AS seven")


def test_ctrl_c_clears_the_input(terminal: Terminal) -> None:
    terminal.clear()
    terminal.type("SELECT 1,\r'never")
    terminal.see("'never")
    terminal.type(CTRL_C)
    terminal.ready()
    assert "│     1 │" in terminal.ask("SELECT 1 AS a;")


def test_ctrl_c_cancels_a_query_and_the_session_goes_on(terminal: Terminal) -> None:
    terminal.ask("SET progress_bar_time = 100;")
    terminal.clear()
    terminal.type(ENDLESS + ENTER)
    terminal.see("% ▕")  # DuckDB's progress bar: the query runs
    began = time.monotonic()
    terminal.type(CTRL_C)
    terminal.see("\nError: the query was cancelled.\n")
    assert time.monotonic() - began < 20  # left alone, it would take far longer
    assert "│     1 │" in terminal.ask("SELECT 1 AS a;")


def test_a_cancelled_mask_leaves_no_table(terminal: Terminal) -> None:
    terminal.clear()
    # Its networks are trained in Python, for the better part of a minute.
    terminal.type("CREATE TABLE release AS FROM onn_mask('customers', conf=['x1', 'x2'], key='id');" + ENTER)
    time.sleep(1)
    began = time.monotonic()
    terminal.type(CTRL_C)
    terminal.see("\nError: the query was cancelled.\n")
    assert time.monotonic() - began < 20  # left alone, it would take far longer
    assert ran(terminal.ask(".tables")) == ["customers"]
    again = "SELECT count(*) AS n FROM egadp_mask('customers', conf=['x1', 'x2'], key='id');"
    assert re.search(r"│ +300000 │", terminal.ask(again))


def test_ctrl_c_cancels_what_is_being_printed(terminal: Terminal) -> None:
    terminal.ask(".mode csv")
    terminal.clear()
    terminal.type("FROM range(1000000000);" + ENTER)
    terminal.see("99")
    terminal.type(CTRL_C)
    terminal.see("Error: the query was cancelled.")
    assert ran(terminal.ask("SELECT 1 AS a;")) == ["a", "1"]


def test_tables_and_schema(terminal: Terminal) -> None:
    terminal.ask('CREATE TEMP TABLE "my notes" (id INTEGER, note VARCHAR);')
    terminal.ask("CREATE TEMP VIEW few AS SELECT 1 AS one;")
    assert ran(terminal.ask(".tables")) == ["customers", "few        (view)", "my notes"]
    assert "CREATE TABLE customers(id BIGINT, s DOUBLE, x1 DOUBLE, x2 DOUBLE);" in terminal.ask(".schema")
    assert re.search(
        r'^CREATE (TEMP )?TABLE "my notes"\(id INTEGER, note VARCHAR\);$', terminal.ask('.schema "my notes"'), re.M
    )
    assert 'no table or view "customer". Did you mean "customers"?' in terminal.ask(".schema customer")
    for name in ("main.customers", "shop.main.customers", "shop.customers", "Main.Customers;"):
        assert "CREATE TABLE customers(" in terminal.ask(f".schema {name}")
    terminal.ask("CREATE SCHEMA other; CREATE TABLE other.orders(id INTEGER);")
    for start, completed in (
        (".schema ord", "other.orders"),
        (".schema my", "'my notes'"),
        (".schema 'my", "'my notes'"),
    ):
        terminal.clear()
        terminal.type(start + TAB)
        terminal.wait(lambda lines, wanted=completed: lines[0] == f"{PROMPT} .schema {wanted}", repr(completed))
        terminal.type(ENTER + ENTER)  # takes it from the menu, and runs it
        terminal.wait(lambda lines: len(lines) > 1 and lines[-1] == PROMPT, "the next prompt")
        assert "CREATE" in terminal.ready()
    terminal.ask('DROP TABLE "my notes"; DROP VIEW few; DROP SCHEMA other CASCADE;')


def test_read(terminal: Terminal, tmp_path: Path) -> None:
    script = tmp_path / "my script.sql"
    script.write_text("SELECT 1 AS a;\n\nSELECT nothing;\n")
    screen = terminal.ask(f".read '{script}'")
    assert "│     1 │" in screen
    assert '"nothing"' in screen
    assert "my script.sql, line 3" in screen.replace("\n", "")
    assert "cannot read missing.sql: No such file or directory" in terminal.ask(".read missing.sql")
    assert ".read takes the name of a file" in terminal.ask(".read")


def test_mode(terminal: Terminal) -> None:
    query = "SELECT 1 AS a, 'x|y' AS b, NULL::TEXT AS c;"
    assert ran(terminal.ask(".mode")) == ["table"]
    expected = {
        "line": ["a = 1", "b = x|y", "c = NULL"],
        "csv": ["a,b,c", "1,x|y,"],
        "json": ['[{"a":1,"b":"x|y","c":null}]'],
        "markdown": ["|   a | b    | c    |", "|----:|------|------|", "|   1 | x\\|y | NULL |"],
    }
    for mode, lines in expected.items():
        terminal.ask(f".mode {mode}")
        assert ran(terminal.ask(query)) == lines
    assert json.loads(expected["json"][0]) == [{"a": 1, "b": "x|y", "c": None}]
    assert '.mode takes table, line, csv, json, markdown, got "jsonn". Did you mean "json"?' in terminal.ask(
        ".mode jsonn"
    )


def test_timer(terminal: Terminal) -> None:
    assert ran(terminal.ask(".timer")) == ["off"]
    terminal.ask(".timer on")
    assert re.search(r"^Run Time \(s\): real \d+\.\d{3} cpu \d+\.\d{3}$", terminal.ask("SELECT 1 AS a;"), re.M)
    assert '.timer takes on or off, got "maybe"' in terminal.ask(".timer maybe")


def test_help(terminal: Terminal, tmp_path: Path) -> None:
    assert ".read FILE" in terminal.ask(".help") == terminal.ask("help").replace("ppduck> help", "ppduck> .help")
    with Terminal(state=tmp_path, rows=120) as tall:
        told = " ".join(ran(tall.ask(".help egadp_mask")))
    assert re.sub(r"\s+", "", page("egadp_mask")) in re.sub(r"\s+", "", told)
    assert '"egadp_maks". Did you mean "egadp_mask"?' in terminal.ask(".help egadp_maks")
    assert "sets how results are printed" in terminal.ask(".help .mode")


def test_dot_commands_that_make_no_sense(terminal: Terminal) -> None:
    assert 'there is no .tabels. Did you mean ".tables"?' in terminal.ask(".tabels")
    assert ".mode takes table|line|csv|json|markdown, got 2 words" in terminal.ask(".mode csv json")
    assert "a quotation mark has no partner" in terminal.ask(".read 'half")
    assert "a dot command stands on a line of its own" in terminal.ask("SELECT 1; .tables;")


def test_a_query_that_fails_after_its_first_rows_does_not_end_the_session(terminal: Terminal) -> None:
    terminal.ask(".mode csv")
    screen = terminal.ask("SELECT if(i < 50000, '', error('too far')) AS a FROM range(60000) r(i);")
    assert "too far" in screen
    assert ran(terminal.ask("SELECT 1 AS a;")) == ["a", "1"]


def test_a_query_that_cannot_be_interrupted_leaves_a_way_out(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Terminal(state=tmp_path) as terminal:
        terminal.ready()
        terminal.type(f"FROM read_csv('{pipe}');{ENTER}")
        time.sleep(1)
        terminal.type(CTRL_C)
        terminal.see("Ctrl-C once more ends ppduck")
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_a_dot_command_after_a_statement_of_the_same_input(terminal: Terminal) -> None:
    screen = terminal.ask("SELECT 1 AS a;\x1b\r.mode")
    assert ran(screen)[-2:] == ["└───────┘", "table"]


@pytest.mark.parametrize(("encoding", "letter"), [("ascii", "?"), ("latin-1", "é")])
def test_a_terminal_that_cannot_draw_boxes(encoding: str, letter: str, tmp_path: Path) -> None:
    with Terminal(state=tmp_path, encoding=encoding, PYTHONIOENCODING=encoding) as terminal:
        screen = terminal.ask("SELECT 1 AS a, chr(233) AS e;")
        assert "+-------+---------+\n|   a   |    e    |" in screen
        assert f" {letter} " in screen
        terminal.clear()
        terminal.type("SELECT 'ü\u20ac';" + ENTER)  # in UTF-8, which is not what this terminal said it would send
        terminal.wait(lambda lines: len(lines) > 1 and lines[-1] == PROMPT, "an answer, of whatever kind")
        assert "|     1 |" in terminal.ask("SELECT 1 AS a;")
        terminal.ready()
        terminal.type(CTRL_D)
        assert terminal.end() == 0


def test_the_posix_locale_and_no_place_for_the_history(tmp_path: Path) -> None:
    (tmp_path / "ppduck").write_text("in the way")
    with Terminal(state=tmp_path, LC_ALL="C", LANG="C") as terminal:
        assert "Warning: the history is not kept" in terminal.ready()
        screen = terminal.ask("SELECT 'é' AS e;")
        assert "┌─────────┐" in screen
        assert "│ é       │" in screen
        terminal.type(UP)
        terminal.wait(lambda lines: lines[-1] == "ppduck> SELECT 'é' AS e;", "the statement of this session")
        terminal.type(CTRL_C)
        terminal.ready()
        terminal.type("QUIT ;" + ENTER)
        assert terminal.end() == 0


def test_a_database_that_another_process_holds(database: Path, tmp_path: Path, shared: Terminal) -> None:
    shared.ready()
    screen, code = tell([database], tmp_path)
    assert code == 1
    assert re.fullmatch(
        rf"Error: cannot open {re.escape(str(database))}: it is in use by another process \(PID \d+\); close it there first.",
        screen.replace("\n", ""),
    )


def test_without_prompt_toolkit(tmp_path: Path) -> None:
    # Found first, and not what is looked for: as if it were not there.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['prompt_toolkit'] = None\n")
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])}
    screen, code = tell([tmp_path / "new.db"], tmp_path, **environment)
    assert code == 1
    assert "pip install 'ppduck[shell]'" in screen
    assert not (tmp_path / "new.db").exists()
    done = subprocess.run(
        [sys.executable, *COMMAND, "-c", "SELECT 1"], env=os.environ | environment, capture_output=True, check=False
    )
    assert (done.stderr, done.returncode) == (b"", 0)
