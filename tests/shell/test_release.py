"""ppduck release: a whole table by one command, or one clear message, exit code 1, and nothing written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pytest
import yaml

import ppduck
from ppduck.policy.schema import schema
from tests.conftest import SECRET
from tests.pages import ROOT

POLICY = ROOT / "examples/customers.release.yml"
ROWS = 3000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with a policy and a release."""
    folder = tmp_path_factory.mktemp("made")
    with duckdb.connect(folder / "my.db") as con:
        con.execute((ROOT / "examples/customers.sql").read_text(encoding="utf-8").replace("200000", str(ROWS)))
    (folder / "release.yml").write_text(POLICY.read_text(encoding="utf-8").replace("k: 5", "k: 1"))
    assert run(folder, "release.yml", "my.db", "--to", "before.parquet").returncode == 0
    return folder


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Path:
    for name in ("my.db", "release.yml"):
        shutil.copy(made / name, tmp_path)
    return tmp_path


def run(folder: Path, *arguments: str, secret: str | None = SECRET, **options: Any) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PPDUCK_SECRET"}
    env |= {} if secret is None else {"PPDUCK_SECRET": secret}
    command = [sys.executable, "-m", "ppduck.shell", "release", *arguments]
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False, **options
    )


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_released_as_in_sql_and_in_python(shop: Path) -> None:
    done = run(shop, "release.yml", "my.db", "--to", "public.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"public.parquet: {ROWS:,} rows of 13 columns; ")
    with ppduck.connect(shop / "my.db", secret=SECRET) as con:
        shell = con.execute(f"FROM '{shop}/public.parquet' ORDER BY customer_id").fetchall()
        ppduck.release(con, shop / "release.yml", to="public")
        python = con.execute("FROM public ORDER BY customer_id").fetchall()
        asked = f"FROM release_table('customers', policy='{shop}/release.yml') ORDER BY customer_id"
        assert shell == python == con.execute(asked).fetchall()


def test_a_table_and_a_secret_in_a_file(shop: Path) -> None:
    (shop / "secret").write_text(SECRET + "\n")
    (shop / "secret").chmod(0o600)
    done = run(shop, "release.yml", "my.db", "--to", "public", "--secret-file", "secret", secret=None)
    assert (done.returncode, done.stderr) == (0, "")
    with ppduck.connect(shop / "my.db", secret=SECRET) as con:
        told = con.execute("SELECT note FROM release_manifest('public') WHERE role = 'rows'").fetchall()
        assert told == [(str(ROWS),)]


def test_explaining_reads_no_row_and_needs_no_secret(shop: Path) -> None:
    with duckdb.connect(shop / "my.db") as con:
        # whoever counted its batches would not forget the day that is NULL
        con.execute("ALTER TABLE customers ADD COLUMN load_date DATE")
    changed(shop, "churned:     keep", "churned:     keep\n  load_date: keep")
    changed(shop, "key: customer_id", "key: customer_id\nbatch: load_date")
    changed(shop, "{randomize: 0.9}", "{randomize: {p: 0.9, levels: [male, female, other]}}")
    changed(shop, "{randomize: 0.8}", "{randomize: {p: 0.8, levels: [home, office, school, travel]}}")
    done = run(shop, "release.yml", "my.db", "--explain", secret=None)
    assert (done.returncode, done.stderr) == (0, "")
    assert "full_name    dropped" in done.stdout
    assert "income       masked" in done.stdout
    assert "egadp_mask: mask egadp, nonconf [age_band, segment], round true" in done.stdout


def test_the_schema_is_printed() -> None:
    done = run(ROOT, "--schema")
    assert json.loads(done.stdout) == schema()
    jsonschema.Draft202012Validator.check_schema(json.loads(done.stdout))


def changed(shop: Path, before: str, after: str) -> None:
    text = (shop / "release.yml").read_text()
    assert before in text
    (shop / "release.yml").write_text(text.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("  full_name:   drop\n", "", 'of the table column "full_name" is not named'),
        ("{mask: egadp}", "{mask: egadpp}", "there is no mask 'egadpp'. Did you mean \"egadp\"?"),
        (
            "  full_name:   drop\n",
            "  full_name:   drop\n  full_name: keep\n",
            "columns.full_name is there twice, at line 6",
        ),
        ("{pseudonym: email}", "keep", "failed: identifier of email"),
        ("linkage: 0.05", "linkag: 0.05", 'limits names rule "linkag", which does not exist. Did you mean "linkage"?'),
        ("{pseudonym: token}", "{pseudonym: tokn}", 'Did you mean "token"?'),
        ("{keep: 3}", "{width: 3}", 'recode_mask on "customers": column "zip": its type is VARCHAR'),
        ("columns:\n", "columns: [\n", "is no YAML at line"),
    ],
)
def test_what_is_wrong_is_said_once_and_nothing_is_written(
    made: Path, shop: Path, before: str, after: str, said: str
) -> None:
    shutil.copy(made / "before.parquet", shop / "public.parquet")
    before_it = (shop / "public.parquet").read_bytes()
    changed(shop, before, after)
    there = files(shop)
    done = run(shop, "release.yml", "my.db", "--to", "public.parquet")
    assert done.returncode == 1
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert files(shop) == there
    assert (shop / "public.parquet").read_bytes() == before_it


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing.yml", "my.db", "--to", "p.parquet"), "cannot read the policy 'missing.yml'"),
        (("release.yml", "missing.db", "--to", "p.parquet"), "there is no database 'missing.db'"),
        (("release.yml", "my.db", "--to", "nowhere/p.parquet"), "there is no folder 'nowhere'"),
        (("release.yml", "my.db", "--to", "p.parquet", "--table", "costumers"), 'Did you mean "customers"?'),
        (("release.yml", "my.db", "--to", "p.parquet", "--secret-file", "none"), "cannot read the secret file"),
    ],
)
def test_who_names_what_is_not_there(shop: Path, arguments: tuple[str, ...], said: str) -> None:
    there = files(shop)
    done = run(shop, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert files(shop) == there


def test_a_missing_secret(shop: Path) -> None:
    done = run(shop, "release.yml", "my.db", "--to", "public.parquet", secret=None)
    assert done.returncode == 1
    assert "there is no secret" in done.stderr
    assert "public.parquet" not in files(shop)


def test_a_full_disk(shop: Path) -> None:
    limited = [
        "bash",
        "-c",
        f'ulimit -f 40; exec "{sys.executable}" -m ppduck.shell release release.yml my.db --to p.parquet',
    ]
    env = os.environ | {"PPDUCK_SECRET": SECRET}
    done = subprocess.run(limited, cwd=shop, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "Nothing was released." in done.stderr
    assert "p.parquet" not in files(shop)


@pytest.mark.parametrize(
    "arguments", [(), ("release.yml",), ("release.yml", "my.db"), ("a", "b", "--to", "c", "--explain")]
)
def test_calls_that_make_no_sense(shop: Path, arguments: tuple[str, ...]) -> None:
    done = run(shop, *arguments)
    assert done.returncode == 2
    assert "usage: ppduck release" in done.stderr


@pytest.mark.long
def test_the_example_on_its_whole_table_in_the_shell_in_sql_and_in_python(tmp_path: Path) -> None:
    """Sums of 200,000 rows may differ in their last digits with the threads, and so may a cent of what was rounded."""
    with duckdb.connect(tmp_path / "my.db") as con:
        con.execute((ROOT / "examples/customers.sql").read_text(encoding="utf-8"))
    done = run(tmp_path, str(POLICY), "my.db", "--to", "public.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("public.parquet: 200,000 rows of 13 columns; ")
    with ppduck.connect(tmp_path / "my.db", secret=SECRET) as con:
        con.execute(f"CREATE TABLE public AS FROM release_table('customers', policy='{POLICY}')")
        ppduck.release(con, yaml.safe_load(POLICY.read_text(encoding="utf-8")), to="in_python")
        for other in (f"'{tmp_path}/public.parquet'", "in_python"):
            same = f"SELECT * EXCLUDE (income, debt) FROM {other} EXCEPT SELECT * EXCLUDE (income, debt) FROM public"
            assert con.execute(f"SELECT count(*) FROM ({same})").fetchall() == [(0,)]
            together = f"public p JOIN {other} o USING (customer_id)"
            apart = "coalesce(abs({0}), 0) <= 0.01 AND (p.income IS NULL) = (o.income IS NULL)"
            near = " AND ".join(apart.format(f"p.{name} - o.{name}") for name in ("income", "debt"))
            assert con.execute(f"SELECT count_if({near}), count(*) FROM {together}").fetchall() == [(200_000, 200_000)]
