"""Models that are released by a policy are built by the real dbt: what metas say is what a policy's file says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

import ppduck
from ppduck.dbt.cli import main
from tests.conftest import SECRET
from tests.dbt.projects import DATABASE, EXAMPLE, dbt, initialized, opened, tables

EXAMPLES = EXAMPLE.parent
POLICY = (EXAMPLES / "customers.release.yml").read_text(encoding="utf-8")
CUSTOMERS = (
    (EXAMPLES / "customers.sql")
    .read_text(encoding="utf-8")
    .replace("200000", "2000")
    .replace("TABLE customers", "TABLE shop.customers")
)
SELECTED = ("released_by_metas", "released_by_file", "narrowed", "widened", "stale")
SOURCE = """
sources:
  - name: shop
    schema: shop
    tables: [{name: customers}]
"""
# A policy that the gate lets pass, but for what the models below do beside it.
SMALL = """
  - name: {name}
    config:
      materialized: {materialized}
      meta:
        ppduck:
          key: id
          columns: {{age: drop, plan: drop, debt: drop}}
          masks: {{egadp: {{nonconf: [region]}}}}
    data_tests: [{{ppduck_release: {{arguments: {{limits: {{k: null}}}}}}}}]
    columns:
      - {{name: id, config: {{meta: {{ppduck: drop}}}}}}
      - {{name: region, config: {{meta: {{ppduck: keep}}}}}}
      - {{name: income, config: {{meta: {{ppduck: {{mask: egadp}}}}}}}}
      - {{name: spending, meta: {{ppduck: {{mask: egadp}}}}}}
"""


def by_metas(name: str) -> dict[str, Any]:
    """The policy of the examples as a model's metas."""
    whole = yaml.safe_load(POLICY)
    del whole["from"]
    columns = whole.pop("columns")
    described = [{"name": each, "config": {"meta": {"ppduck": own}}} for each, own in columns.items()]
    return {"name": name, "config": {"meta": {"ppduck": whole}}, "columns": described}


RELEASES = {
    "customers.release.yml": POLICY,
    "models/staging/shop.yml": SOURCE,
    "models/masked/released_by_metas.sql": "{{ ppduck_release_table(source('shop', 'customers')) }}",
    "models/masked/released_by_file.sql": "{{ ppduck_release_table(source('shop', 'customers')) }}",
    "models/masked/narrowed.sql": "select income, region from ({{ ppduck_release_table(ref('stg_customers')) }})",
    "models/masked/widened.sql": "select *, income > 0 as rich from ({{ ppduck_release_table(ref('stg_customers')) }})",
    "models/masked/stale.sql": """
        select * replace (round(income, 2) as income) from ({{ ppduck_release_table(ref('stg_customers')) }})
    """,
    "models/masked/releases.yml": "models:"
    + "".join(SMALL.format(name=name, materialized="table") for name in ("narrowed", "widened", "stale")),
    "models/masked/customers.yml": yaml.safe_dump(
        {
            "models": [
                by_metas("released_by_metas"),
                {
                    "name": "released_by_file",
                    "config": {
                        "meta": {"ppduck": {"policy": "customers.release.yml"}},
                        "post_hook": "{{ ppduck_comment() }}",
                    },
                },
            ]
        },
        sort_keys=False,
    ),
}


def with_customers(project: Path) -> Path:
    with duckdb.connect(project.parent / DATABASE) as con:
        con.execute("CREATE SCHEMA shop")
        con.execute(CUSTOMERS)
        con.execute("DROP MACRO chance; DROP MACRO bell")
    return project


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A project with releases of several kinds, and what dbt says of it."""
    project = with_customers(initialized(tmp_path_factory.mktemp("released"), RELEASES))
    ran = dbt(project, "build", "--select", "+released_customers", *(f"+{name}" for name in SELECTED))
    assert ran.returncode == 1, ran.stdout
    return project, ran.stdout


def test_metas_and_file_release_what_the_policy_does(built: tuple[Path, str]) -> None:
    with opened(built[0]) as con:
        policy = str(EXAMPLES / "customers.release.yml")
        rows = con.execute("FROM release_table('shop.customers', policy=$1)", [policy]).fetchall()
        assert len(rows) == 2000
        assert con.execute("FROM released_by_metas").fetchall() == rows
        assert con.execute("FROM released_by_file").fetchall() == rows
        income = (
            "SELECT count(*) FROM shop.customers AS c POSITIONAL JOIN released_by_metas AS r WHERE c.income = r.income"
        )
        assert con.execute(income).fetchall()[0][0] < 20


def test_the_gate_is_asked_of_the_whole_release(built: tuple[Path, str]) -> None:
    project, said = built
    assert "PASS ppduck_release_released_customers_" in said
    assert "PASS ppduck_release_narrowed_" in said
    with opened(project) as con:
        assert [name for name, *_ in con.execute("DESCRIBE released_customers").fetchall()] == [
            "id", "age", "region", "plan", "income", "spending",
        ]  # fmt: skip
        tokens = "SELECT count(*) FROM released_customers WHERE id IN (SELECT id::VARCHAR FROM stg_customers)"
        assert con.execute(tokens).fetchall() == [(0,)]


def test_what_the_policy_does_not_make_fails(built: tuple[Path, str]) -> None:
    """Columns and values that the model's SQL adds were not judged by the gate, which judges the policy's release."""
    said = built[1]
    assert 'ppduck_release on "widened": policy of rich is 1.0, above its limit of 0.0: is none of the columns' in said
    assert "FAIL 1 ppduck_release_widened_" in said
    assert re.search(r'ppduck_release on "stale": policy is 600\.0, above its limit of 0\.0: rows that the model', said)
    assert "FAIL 1 ppduck_release_stale_" in said


def test_the_comment_is_the_manifest(built: tuple[Path, str]) -> None:
    with opened(built[0]) as con:
        told = dict(con.execute("SELECT column_name, role FROM release_manifest('released_customers')").fetchall())
        assert told["id"] == "pseudonym"
        assert (told["plan"], told["income"], told["region"]) == ("randomized", "masked", "kept")
        assert "debt" not in told
        [(comment,)] = con.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'released_by_file'"
        ).fetchall()
        assert "full_name" not in {column["name"] for column in json.loads(comment)["columns"]}


def test_releases_are_listed(built: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    project = built[0]
    assert main(["rules", str(project), "--manifest", str(project / "target" / "manifest.json")]) == 0
    told = capsys.readouterr()
    listed = {line.split()[0]: re.split(r"  +", line)[1:] for line in told.out.splitlines()}
    assert listed["released_customers"] == [
        "stg_customers",
        "release_table",
        "debt: drop; id: pseudonym token; age: recode {width: 20}; region: keep; plan: randomize 0.7; "
        "income: mask egadp, nonconf [age, region]; spending: mask egadp, nonconf [age, region]; key: id",
    ]
    assert listed["released_by_file"] == listed["released_by_metas"]
    assert listed["released_by_file"][:2] == ["customers", "release_table"]
    assert told.err == ""


def test_an_empty_build_has_the_columns_of_the_policy(tmp_path: Path, built: tuple[Path, str]) -> None:
    project = initialized(tmp_path, like=built[0])
    ran = dbt(project, "build", "--empty", "--select", "+released_customers")
    assert ran.returncode == 0, ran.stdout
    with opened(project) as con:
        names = [name for name, *_ in con.execute("DESCRIBE released_customers").fetchall()]
    assert names == ["id", "age", "region", "plan", "income", "spending"]


WRONG = {
    "models/staging/shop.yml": SOURCE,
    "models/masked/forgets.sql": "{{ ppduck_release_table(source('shop', 'customers')) }}",
    "models/masked/misspelt.sql": "{{ ppduck_release_table(ref('stg_customers')) }}",
    "models/masked/untreated.sql": "select * from {{ ref('stg_customers') }}",
    "models/masked/grows.sql": "{{ ppduck_release_table(ref('stg_customers')) }}",
    "models/masked/both.sql": "{{ ppduck_release_table(ref('stg_customers')) }} union all {{ ppduck_mask(ref('stg_customers')) }}",
    "models/masked/wrong.yml": "models:"
    + SMALL.format(name="grows", materialized="incremental")
    + SMALL.format(name="untreated", materialized="table")
    + """
  - name: both
    config: {meta: {ppduck: {key: id}}}
  - name: forgets
    config: {meta: {ppduck: {columns: {customer_id: drop, full_nam: drop}}}}
    columns: [{name: churned, config: {meta: {ppduck: keep}}}]
  - name: misspelt
    config: {meta: {ppduck: {key: id, maks: {egadp: {}}, columns: {debt: drop}}}}
    columns:
      - {name: income, config: {meta: {ppduck: {mask: egad}}}}
      - {name: debt, config: {meta: {ppduck: keep}}}
      - {name: plan, config: {meta: {ppduck: {randomise: 0.7}}}}
""",
}


def test_wrong_policies_stop_dbt_before_any_data(
    tmp_path: Path, built: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    project = with_customers(initialized(tmp_path, WRONG, like=built[0]))
    ran = dbt(project, "build")
    assert ran.returncode != 0
    for message in (
        'model "forgets", released from "customers": columns.full_nam: the table has no column "full_nam". '
        'Did you mean "full_name"?',
        'also: of the table columns "full_name", "email", "phone", "birth_date",',
        'model "misspelt": columns.debt: column "debt" has a meta of its own, and stands under columns in the',
        "also: maks: a policy has no 'maks'. Did you mean \"masks\"?",
        'also: columns.plan: column "plan" does not say what becomes of it',
        "also: columns.income: there is no mask 'egad'. Did you mean \"egadp\"?",
        'model "grows": the model is incremental, and would release every row anew in each run',
        'model "both": it calls both ppduck_mask and ppduck_release_table',
    ):
        assert message in ran.stdout
    assert tables(project) == {"customers"}
    assert main(["rules", str(project), "--manifest", str(project / "target" / "manifest.json")]) == 1
    listed = capsys.readouterr().err
    assert 'Warning: model "untreated" has a release policy and does not call ppduck_release_table' in listed


def test_a_column_that_appears_in_the_source_stops_the_model(built: tuple[Path, str], tmp_path: Path) -> None:
    """Where nobody checks at the start, too."""
    project = with_customers(initialized(tmp_path, RELEASES, like=built[0]))
    with duckdb.connect(project.parent / DATABASE) as con:
        con.execute("ALTER TABLE shop.customers ADD COLUMN passport VARCHAR")
    settings = project / "dbt_project.yml"
    settings.write_text(re.sub("on-run-start.*", "", settings.read_text(encoding="utf-8")), encoding="utf-8")
    ran = dbt(project, "build", "--select", "released_by_metas", "released_by_file")
    assert ran.returncode == 1
    told = 'released from "customers": of the table column "passport" is not named'
    assert ran.stdout.count(f'model "released_by_metas", {told}') >= 1
    assert ran.stdout.count(f'model "released_by_file", {told}') >= 1
    assert tables(project) == {"customers"}


def test_the_secret_keys_the_release(built: tuple[Path, str]) -> None:
    with ppduck.connect(built[0].parent / DATABASE, read_only=True, secret=SECRET[::-1]) as con:
        policy = str(EXAMPLES / "customers.release.yml")
        same = con.execute(
            "SELECT count(*) FROM (SELECT customer_id FROM released_by_metas INTERSECT SELECT customer_id FROM "
            "release_table('shop.customers', policy=$1))",
            [policy],
        ).fetchall()
    assert same == [(0,)]
