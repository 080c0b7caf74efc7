"""An analyst's connection: all that reads releases, and nothing by which noise could be made again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import ppduck
from ppduck.call.plain_macros import OWN
from ppduck.call.registry import Function, Kind, functions, masks, udfs
from ppduck.call.udf import Udf
from ppduck.errors import PpduckError, PpduckWarning
from ppduck.extension.connections import planner_of
from ppduck.extension.role import ENVIRONMENT, Role, asked
from ppduck.guide.demo import DEMO
from tests.conftest import SECRET
from tests.laws import steady
from tests.registry_calls import takes

pytestmark = pytest.mark.core

KEPT = {"gender": "0.9", "disease": "0.8", "smoker": "1", "bread": "0.9", "butter": "0.9", "jam": "0.9"}
READING = [each for each in functions() if each.kind is not Kind.MASK]
REFUSED = r"{}: this connection is an analyst's .*Read the release as a table or a file that its owner made"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with originals, releases, and views over masks, which its owner has closed."""
    path = tmp_path_factory.mktemp("role") / "demo.db"
    with warnings.catch_warnings(), ppduck.connect(path, secret=SECRET) as owner:
        warnings.simplefilter("ignore", PpduckWarning)
        owner.execute(DEMO)
        owner.execute("CREATE TABLE survey_table AS FROM survey_rr; CREATE TABLE baskets_table AS FROM baskets_rr")
        owner.execute("CREATE VIEW masked AS SELECT id, x1 FROM egadp_mask('customers', conf=['x1','x2'], key='id')")
        owner.execute(
            f"CREATE VIEW masked_plainly AS FROM egadp_plain('customers', ['x1'], secret := '{SECRET}', key := 'id')"
        )
        owner.execute("CREATE VIEW of_view AS SELECT gender FROM survey_rr")
    return path


@pytest.fixture(scope="module")
def analyst(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(file, role="analyst", read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def owner(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Who has the same database, in a file of his own."""
    copy = shutil.copy(file, file.with_name("owner.db"))
    with ppduck.connect(copy, secret=SECRET) as con:
        yield con


def names(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in con.execute("SELECT function_name FROM duckdb_functions()").fetchall()}


def brought(role: str) -> set[str]:
    """The functions that loading adds, in Python without what tells the database apart."""
    with duckdb.connect() as con:
        before = names(con)
        ppduck.load(con, role=role)  # type: ignore[arg-type]
        planner = planner_of(con)
        assert planner is not None
        return {name.removesuffix(f"_{planner.token}") for name in names(con) - before}


# What is there, and what is not


def test_nothing_that_makes_noise_is_there() -> None:
    noisy = {udf.name for udf in udfs() if udf.noise is not None}
    of_masks = {udf.name for mask in masks().values() for udf in mask.udfs}
    others = {udf.name for function in READING for udf in function.udfs}
    owners, analysts = brought("owner"), brought("analyst")
    assert {"ppduck_keyed_draws", "ppduck_seeded_draws", "ppduck_keyed_words_1", "ppduck_seeded_words_4"} <= noisy
    assert noisy | of_masks | others <= owners
    assert analysts & (noisy | (of_masks - others)) == set()
    assert others <= analysts
    plain = {name.removeprefix(OWN) for name in owners if name.startswith(OWN)}
    assert plain & set(masks()) != set()
    assert {name.removeprefix(OWN) for name in analysts if name.startswith(OWN)} == plain - set(masks())
    assert set(masks()) <= analysts  # to be refused


@pytest.mark.parametrize("mask", masks())
def test_every_mask_is_refused(analyst: duckdb.DuckDBPyConnection, mask: str) -> None:
    example = masks()[mask].example
    call = example[example.index("FROM ") :]
    for statement in (call, f"SELECT count(*) {call}", f"FROM {mask}('customers', seed=1)", f"FROM {mask}()"):
        with pytest.raises(duckdb.InvalidInputException, match=REFUSED.format(mask)):
            analyst.execute(statement).fetchall()


def test_the_planner_itself_plans_no_mask(analyst: duckdb.DuckDBPyConnection) -> None:
    """Its function can be called under its whole name, past the macros."""
    planner = planner_of(analyst)
    assert planner is not None
    called = f"ppduck_plan_{planner.token}('''survey''', [[NULL]], 'rr_mask', ['a', 'b', 'c', '', 'false', '', '1 1'])"
    with pytest.raises(duckdb.InvalidInputException, match=REFUSED.format("rr_mask")):
        analyst.execute(f"SELECT {called}").fetchall()


def test_a_function_that_makes_noise_and_is_no_mask_is_not_brought() -> None:
    draws = Udf("any_draws", print, ("BIGINT",), "UBIGINT", noise="seeded")
    function = Function("any", masks()["rr_mask"].takes, print, "", "", kind=Kind.MEASURE, udfs=(draws,))  # type: ignore[arg-type]
    assert Role.OWNER.brings(function)
    assert not Role.ANALYST.brings(function)
    assert (Role.OWNER.udfs([function]), Role.ANALYST.udfs([function])) == ([draws], [])


# What an analyst reads


def on_tables(function: Function) -> str:
    """Its example over tables in the place of views, with p, which no definition tells then."""
    call = function.example.replace("_rr", "_table")
    if call == function.example or not takes(function, "p"):
        return call
    randomized = ", ".join(f"'{name}': {p}" for name, p in KEPT.items() if re.search(rf"\b{name}\b", call))
    return f"{call[:-1]}, p={{{randomized}}})"


@pytest.mark.parametrize("function", READING, ids=lambda function: function.name)
def test_all_others_answer_as_they_answer_the_owner(
    analyst: duckdb.DuckDBPyConnection, owner: duckdb.DuckDBPyConnection, function: Function
) -> None:
    answers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        for con in (analyst, owner):
            wanted = "COLUMNS(lambda name: name <> 'seconds')"  # that rr_optimize took
            rows = con.execute(f"SELECT {wanted} {on_tables(function)}").fetchall()
            answers.append([tuple(map(steady, row)) for row in rows])
    assert answers[0] == answers[1] != []


@pytest.mark.parametrize("view", ["survey_rr", "of_view", "masked", "masked_plainly"])
def test_no_view_over_a_mask_can_be_read(analyst: duckdb.DuckDBPyConnection, view: str) -> None:
    mask = {"masked": "egadp_mask", "masked_plainly": "egadp_plain"}.get(view, "rr_mask")
    for statement in (
        f"FROM {view}", f"SELECT count(*) FROM {view}", f"DESCRIBE {view}", f"EXPLAIN FROM {view}",
        f"SELECT * FROM k_anonymity('{view}', ['id'])",
    ):  # fmt: skip
        with pytest.raises(duckdb.InvalidInputException, match=REFUSED.format(mask)):
            analyst.execute(statement).fetchall()


@pytest.mark.parametrize("p", ["", ", p={'gender': 0.9}"])
def test_an_estimate_over_such_a_view_says_what_to_ask_for(analyst: duckdb.DuckDBPyConnection, p: str) -> None:
    told = r"rr_mask: this connection is an analyst's .* not as a view over the mask; what estimates from it takes p :="
    with pytest.raises(duckdb.InvalidInputException, match=told):
        analyst.execute(f"FROM rr_reconstruct('survey_rr', ['gender']{p})").fetchall()
    found = analyst.execute("SELECT sum(estimate) FROM rr_reconstruct('survey_table', ['gender'], p={'gender': 0.9})")
    assert found.fetchall() == [(pytest.approx(1),)]


def test_a_parquet_file_is_a_release_too(owner: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    released = tmp_path / "release.parquet"
    owner.execute(f"COPY (FROM survey_rr) TO '{released}'")
    expected = owner.execute("FROM rr_reconstruct('survey_rr', ['disease'])").fetchall()
    with ppduck.connect(role="analyst") as con:
        found = con.execute(f"FROM rr_reconstruct('{released}', ['disease'], p={{'disease': 0.8}})").fetchall()
    assert [row[1:] for row in found] == [pytest.approx(row[1:]) for row in expected]


# Who is loaded with what


def test_neither_a_secret_nor_the_environment_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PPDUCK_SECRET", "short")
    with ppduck.connect(role="analyst") as con:  # which an owner could not open with so short a secret
        planner = planner_of(con)
        assert planner is not None
        assert planner._fingerprint is None
    assert asked("analyst", None) == (Role.ANALYST, None)
    monkeypatch.setenv("PPDUCK_SECRET", SECRET)
    assert asked("owner", None) == (Role.OWNER, SECRET.encode())
    for secret in (SECRET, b"", "short"):
        with pytest.raises(PpduckError, match=r"^ppduck\.load: role 'analyst' takes no secret, .* leave secret out\.$"):
            ppduck.connect(tmp_path / "new.db", secret=secret, role="analyst")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("analist", r"got 'analist'\. Did you mean \"analyst\"\?$"),
        ("Owner", r"got 'Owner'\."),
        ("", r"got str\.$"),
        (None, r"got NoneType\.$"),
        (["owner"], r"got list\.$"),
        (Role.OWNER, r"got Role\.$"),
    ],
)
def test_an_unknown_role_is_refused_before_a_database_is_made(role: object, told: str, tmp_path: Path) -> None:
    with pytest.raises(PpduckError, match=rf'^ppduck\.load: role takes one of "owner", "analyst", {told}'):
        ppduck.connect(tmp_path / "new.db", role=role)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_database_has_one_role(tmp_path: Path) -> None:
    path = tmp_path / "my.db"
    other = r"^ppduck\.load: this database is loaded with role '{}', not '{}', .* {}"
    with ppduck.connect(path, secret=SECRET) as owner, owner.cursor() as cursor:
        for con in (owner, cursor):
            with pytest.raises(PpduckError, match=other.format("owner", "analyst", "Give analysts a database of")):
                ppduck.load(con, role="analyst")
        with pytest.raises(PpduckError, match=other.format("owner", "analyst", "Give analysts a database of")):
            ppduck.connect(path, role="analyst")
        owner.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(50) r(i)")
        assert len(owner.execute("FROM noise_mask('t', ['x'], level=1, key='id')").fetchall()) == 50
    with ppduck.connect(path, role="analyst") as analyst, analyst.cursor() as cursor:
        for given in (None, SECRET):
            with pytest.raises(PpduckError, match=other.format("analyst", "owner", "Load its connections with role")):
                ppduck.load(cursor, given)
        with pytest.raises(duckdb.CatalogException, match="noise_mask"):
            cursor.execute("FROM noise_mask('t', ['x'], level=1, key='id')")
        ppduck.load(cursor, role="analyst")
        with pytest.raises(duckdb.InvalidInputException, match=REFUSED.format("noise_mask")):
            cursor.execute("FROM noise_mask('t', ['x'], level=1, key='id')")
        assert cursor.execute("SELECT rows FROM k_anonymity('t', ['id'])").fetchall() == [(50,)]
    with ppduck.connect(path, secret=SECRET) as owner:  # closed, it is nobody's
        assert len(owner.execute("FROM noise_mask('t', ['x'], level=1, key='id')").fetchall()) == 50


def test_an_owner_beside_an_analyst_attaches_nothing_of_his(tmp_path: Path) -> None:
    """An attached file brings its views, and none of the functions of another database."""
    path = tmp_path / "owner.db"
    with ppduck.connect(path, secret=SECRET) as owner:
        owner.execute("CREATE TABLE t AS SELECT i AS id, i % 2 AS a FROM range(50) r(i)")
        owner.execute("CREATE VIEW v AS FROM rr_mask('t', p={'a': 0.9}, key='id')")
    with ppduck.connect(role="analyst") as con:
        con.execute(f"ATTACH '{path}' AS theirs (READ_ONLY)")
        with pytest.raises(duckdb.InvalidInputException, match=REFUSED.format("rr_mask")):
            con.execute("FROM theirs.v").fetchall()


@pytest.mark.skipif(not Path(ENVIRONMENT).is_file(), reason="this system shows no process's environment as a file")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "this process was started with PPDUCK_SECRET, which SQL on an analyst's connection reads"),
        (", config={'enable_external_access': False}", "loaded"),
    ],
)
def test_a_secret_that_sql_could_read_is_refused(options: str, said: str) -> None:
    """SELECT content FROM read_blob('/proc/self/environ') shows what the process was started with."""
    program = f"import ppduck; ppduck.connect(role='analyst'{options}); print('loaded')"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PPDUCK_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in ran.stdout + ran.stderr
    assert SECRET not in ran.stdout + ran.stderr
