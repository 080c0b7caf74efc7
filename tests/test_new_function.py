"""A new mask is one file, and a new measure is one: whatever speaks of functions finds them.

The files lie in a package of somebody's own, as they would lie in ppduck/masks and ppduck/measures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pages import ROOT, blocks

PACKAGE = "own_functions"

MASK = '''
"""Y = x̄ + √(1 - share)·(X - x̄) + √share·e, with e of the covariance of X: covariances are kept on average."""

import numpy as np

from ppduck.call.arguments import number
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.linear_mask import Request
from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.kernels.linear import Blocks, LinearForm, root
from ppduck.stages.linear import linear_mask


@parameters
class BlendCall(NumericCall):
    share: float = parameter(number(Range(0.01, 1)), "how much of each variance is noise", 0.5)


def solve(blocks: Blocks, request: Request) -> LinearForm:
    on_x, on_v = np.eye(blocks.q) * np.sqrt(1 - request.call.share), root(blocks.xx) * np.sqrt(request.call.share)
    return blocks.form(np.zeros((0, blocks.q)), on_x, on_v)


MASK = register(
    linear_mask(
        "blend_mask",
        BlendCall,
        solve=solve,
        summary="Blends values with noise that is correlated as they are; covariances are kept on average.",
        reference="Kim & Winkler 2003, Research Report Series (Statistics 2003-1)",
        keeps=(Guarantee(Promise.MOMENTS_ON_AVERAGE, "means and covariances of conf are kept on average"),),
        loses=(
            Loss(LossKind.RELATIONS, "relations with other columns shrink"),
            Loss(LossKind.EXTREMES, "secrecy of extremes: they stay far out"),
        ),
        example="FROM blend_mask('customers', conf=['x1','x2'], share=0.4, key='id')",
        reads_s=False,
        reads_x="own",
        reads_v="all",
        needs_noise=lambda call: True,
        stays_near=lambda call: True,
    )
)
'''

MEASURE = '''
"""missing_values(): how many values of each column are NULL."""

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.roles import resolve_columns
from ppduck.errors import Faults
from ppduck.query import aggregates
from ppduck.query import tree as sql

NAME = "missing_values"


@parameters
class MissingCall(Call):
    tbl: str = arguments.TABLE
    columns: Sequence[str] = parameter(arguments.columns, "the columns to count in")


def plan(catalog, call):
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    columns = resolve_columns(faults, source, "columns", call.columns)
    faults.raise_if_any()
    return sql.union_all([_counted(source, column.name) for column in columns])


def _counted(source, name):
    missing = sql.named(sql.minus(aggregates.rows(), sql.call("count", sql.column(name))), "missing")
    return sql.query([sql.named(sql.text(name), "column_name"), missing], sql.source(source.sql, "_pp_counted"))


FUNCTION = register(
    Function(
        NAME,
        MissingCall,
        plan,
        "How many values of each column are NULL.",
        "",
        kind=Kind.MEASURE,
        results=(
            Result("column_name", "VARCHAR", "the column"),
            Result("missing", "BIGINT", "how many of its values are NULL"),
        ),
        example="FROM missing_values('customers', ['x1','region'])",
    )
)
'''

ASKED = f'''
import json
import ppduck
from ppduck.call import registry
from ppduck.dbt.rules import masks, read_rule
from ppduck.guide.demo import DEMO
from ppduck.help import markdown, page

registry.discover("{PACKAGE}")
con = ppduck.connect(secret="correct horse battery staple")
con.execute(DEMO)
rows = lambda query: con.execute(query).fetchall()
refused = ""
try:
    con.execute("FROM blend_mask('customers', conf=['x1'], share=2)")
except Exception as error:
    refused = str(error)
print(json.dumps({{
    "masked": rows("SELECT count(*), count(DISTINCT x1) FROM blend_mask('customers', conf=['x1','x2'], key='id')"),
    "measured": rows(registry.function_named("missing_values").example),
    "refused": refused,
    "explained": rows("FROM mask_explain('blend_mask', 'customers', conf=['x1'], share=0.3, key='id')"),
    "help": rows("SELECT section, name, description FROM ppduck_help('blend_mask')"),
    "told": rows("SELECT name, description, takes FROM ppduck_help('missing_values') WHERE section = 'result'"),
    "functions": rows("SELECT name, kind FROM ppduck_functions() WHERE name IN ('blend_mask', 'missing_values')"),
    "overview": [name for name, in rows("SELECT name FROM ppduck_help()")],
    "page": page("blend_mask"),
    "table": markdown(),
    "rule": read_rule("m", {{"mask": "blend", "conf": ["x1"], "share": 0.3}}, {{}}).statement("t"),
    "masks": list(masks()),
}}))
'''


ASKED_OF_README = """
import json
import ppduck
from ppduck.call.registry import discover, function_named
from ppduck.guide.demo import DEMO

discover("my_masks")
con = ppduck.connect(secret="correct horse battery staple")
con.execute(DEMO)
rows = lambda query: con.execute(query).fetchall()
predicted = "predicted_mask('customers', conf=['x1'], nonconf=['s1','s2'], key='id')"
sums = "count(*), regr_r2(x1, s1) + regr_r2(x1, s2), avg(x1)"
print(json.dumps({
    "example": len(rows(function_named("predicted_mask").example)),
    "masked": rows(f"SELECT {sums} FROM {predicted}"),
    "original": rows(f"SELECT {sums} FROM customers"),
    "help": rows("SELECT section, name, description FROM ppduck_help('predicted_mask')"),
    "explained": rows("FROM mask_explain('predicted_mask', 'customers', conf=['x1'], key='id')"),
}))
"""


GOOD_TABLE = "SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(200) AS r(i)"
ODD_TABLES = {
    "good": GOOD_TABLE,
    "NULL in nonconf": f"SELECT * REPLACE (if(id = 7, NULL, s) AS s) FROM ({GOOD_TABLE})",
    "NaN in nonconf": f"SELECT * REPLACE (if(id = 7, 'nan'::DOUBLE, s) AS s) FROM ({GOOD_TABLE})",
    "no key": f"SELECT * REPLACE (NULL::BIGINT AS id) FROM ({GOOD_TABLE})",
    "one key for all": f"SELECT * REPLACE (1 AS id) FROM ({GOOD_TABLE})",
    "a constant": f"SELECT * REPLACE (3.0 AS x) FROM ({GOOD_TABLE})",
}
ASKED_OF_ODD_TABLES = """
import json, duckdb, ppduck
from ppduck.call.registry import discover

discover("my_masks")
con = ppduck.connect()
said = {}
for name, table in TABLES.items():
    con.execute(f"CREATE OR REPLACE TABLE t AS {table}")
    try:
        con.execute("SELECT count(x) FROM predicted_mask('t', conf=['x'], nonconf=['s'], key='id')").fetchall()
        said[name] = "masked"
    except duckdb.Error as error:
        said[name] = str(error)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, which nobody else's tests see."""
    folder = tmp_path_factory.mktemp("somewhere")
    (folder / PACKAGE).mkdir()
    for name, text in {"__init__": "", "blend": MASK, "missing_values": MEASURE}.items():
        (folder / PACKAGE / f"{name}.py").write_text(text.lstrip(), encoding="utf-8")
    return folder


def run(package: Path, *arguments: str) -> str:
    paths = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def told(package: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(package, "-c", ASKED).splitlines()[-1])
    return found


def test_sql_calls_them(told: dict[str, Any]) -> None:
    assert told["masked"] == [[400, 400]]
    assert told["measured"] == [["x1", 0], ["region", 0]]
    assert "blend_mask: share must be from 0.01 to 1, got 2." in told["refused"]


def test_help_tells_them(told: dict[str, Any]) -> None:
    sections = {section for section, _, _ in told["help"]}
    assert sections == {
        *("signature", "summary", "parameter", "guarantee", "not guaranteed", "reference", "example"),
    }
    assert ["parameter", "share", "how much of each variance is noise"] in told["help"]
    assert told["told"] == [
        ["column_name", "the column", "VARCHAR"],
        ["missing", "how many of its values are NULL", "BIGINT"],
    ]
    assert sorted(told["functions"]) == [["blend_mask", "mask"], ["missing_values", "measure"]]
    assert told["overview"][-2:] == ["blend_mask", "missing_values"]
    assert "share := 0.5" in told["page"]
    assert "| `missing_values` | How many values of each column are NULL. |" in told["table"]


def test_mask_explain_explains_the_mask(told: dict[str, Any]) -> None:
    notes = {(column, role): note for column, role, note in told["explained"] if column}
    assert notes["x1", "confidential"] == "replaced by its masked value, as DOUBLE; NULL stays NULL"
    assert notes["id", "key"] == "noise key: named as key; 400 values in 400 rows: unique"
    assert [None, "guaranteed", "means and covariances of conf are kept on average"] in told["explained"]


def test_dbt_knows_the_mask(told: dict[str, Any]) -> None:
    assert "blend" in told["masks"]
    assert told["rule"] == "select * from blend_mask('t', conf := ['x1'], share := 0.3)"


def test_the_contract_of_masks_holds_for_it(package: Path) -> None:
    ran = run(
        package, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--discover", PACKAGE,
        "tests/masks/test_contract.py", "tests/guide/test_explain.py", "-k", "blend_mask",
    )  # fmt: skip
    assert " passed" in ran
    assert int(ran.rsplit(" passed", 1)[0].split()[-1]) >= 9, ran[-500:]


@pytest.fixture(scope="module")
def readme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the mask that the README adds."""
    folder = tmp_path_factory.mktemp("readme")
    [block] = [each for each in blocks("README.md") if each.file and each.file.startswith("my_masks/")]
    assert block.file is not None
    (folder / "my_masks").mkdir()
    (folder / "my_masks" / "__init__.py").touch()
    (folder / block.file).write_text(block.code, encoding="utf-8")
    return folder


def test_the_mask_of_the_readme_masks_and_is_told_of(readme: Path) -> None:
    told = json.loads(run(readme, "-c", ASKED_OF_README).splitlines()[-1])
    assert told["example"] == 400
    [[count, r2, mean]], [[_, original_r2, original_mean]] = told["masked"], told["original"]
    assert count == 400
    assert mean == pytest.approx(original_mean, rel=1e-9)
    assert r2 == pytest.approx(1, abs=0.01)  # a line of two columns that are next to uncorrelated
    assert original_r2 < 0.5
    assert {section for section, _, _ in told["help"]} == {
        *("signature", "summary", "parameter", "guarantee", "not guaranteed", "reference", "example"),
    }
    assert ["x1", "confidential"] in [row[:2] for row in told["explained"]]
    assert [None, "guaranteed", "means of all conf columns exactly"] in told["explained"]


def test_the_mask_of_the_readme_is_registered_as_others_are(readme: Path) -> None:
    """With a reference that has its year, for one."""
    ran = run(
        readme, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--discover", "my_masks",
        "tests/guide/test_functions.py", "tests/guide/test_explain.py", "tests/masks/test_contract.py",
        "-k", "catalogue or predicted_mask",
    )  # fmt: skip
    assert int(ran.rsplit(" passed", 1)[0].split()[-1]) >= 9, ran[-500:]


def test_the_mask_of_the_readme_refuses_what_others_refuse(readme: Path) -> None:
    """It has no noise that would read the first look's check, and DuckDB leaves out what nothing reads."""
    said = json.loads(run(readme, "-c", ASKED_OF_ODD_TABLES.replace("TABLES", repr(ODD_TABLES))).splitlines()[-1])
    assert said.pop("good") == "masked"
    assert len(said) == 5
    assert {name: text for name, text in said.items() if "predicted_mask" not in text} == {}
