"""The example project is built by the real dbt: passing as it stands, failing where a release or a rule is bad."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from ppduck.dbt.cli import main
from tests.dbt.projects import command, dbt, initialized, opened, tables

LEAKS = {
    "models/masked/copied.sql": "select * from {{ ref('stg_customers') }}",
    "models/masked/scaled.sql": """
        with masked as ({{ ppduck_mask(ref('stg_customers'), mask='ipso', conf='income', key='id') }})
        select * replace (income * 1.001 as income) from masked
    """,
    "models/staging/renamed.sql": "select id, income as {{ var('called', 'wages') }} from {{ ref('stg_customers') }}",
    "models/masked/late.sql": "{{ ppduck_mask(ref('renamed')) }}",
    "models/staging/passing.sql": "{{ config(materialized='ephemeral') }} select * from {{ ref('stg_customers') }}",
    "models/masked/unseen.sql": "{{ ppduck_mask(ref('passing'), mask='egadp', conf='income') }}",
    "models/masked/leaks.yml": """
models:
  - name: copied
    data_tests:
      - ppduck_release:
          arguments: {original: ref('stg_customers'), key: id, conf: [income, spending]}
          config: {store_failures: true, alias: copied_leaks}
  - name: scaled
    data_tests:
      - ppduck_release:
          arguments: {key: id, conf: income, nonconf: [age], moments: true, tolerance: 1.0e-6, limits: {linkage: 1}}
  - name: late
    config: {meta: {ppduck: {mask: noise, level: 0.5, conf: wage, key: id}}}
""",
}
WRONG_RULES = {
    "models/masked/wrong.yml": """
models:
  - name: wrong_mask
    config: {meta: {ppduck: {mask: egad, conf: income}}}
  - name: wrong_column
    meta: {ppduck: {mask: egadp, conf: [incme], key: id}}
  - name: wrong_parameter
    config: {meta: {ppduck: {mask: noise, conf: income, levle: 0.2}}}
  - name: forgotten
    config: {meta: {ppduck: {mask: egadp, conf: income}}}
""",
    "models/masked/wrong_mask.sql": "{{ ppduck_mask(ref('stg_customers')) }}",
    "models/masked/wrong_column.sql": "{{ ppduck_mask(ref('stg_customers')) }}",
    "models/masked/wrong_parameter.sql": "{{ ppduck_mask(ref('stg_customers')) }}",
    "models/masked/forgotten.sql": "select * from {{ ref('stg_customers') }}",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = initialized(tmp_path_factory.mktemp("built"))
    ran = dbt(project, "build")
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"Done\. PASS=15 WARN=0 ERROR=0 SKIP=0", ran.stdout), ran.stdout
    assert "Concurrency: 4 threads" in ran.stdout
    return project


def test_masks_keep_what_they_promise(built: Path) -> None:
    with opened(built) as con:
        farthest = con.execute(
            "SELECT max(abs(difference)) FROM moments_check('stg_customers', 'masked_customers', "
            "columns := ['income', 'spending', 'debt', 'age', 'region', 'plan'])"
        ).fetchall()
        assert farthest[0][0] < 1e-9
        unchanged = "SELECT count(*) FROM stg_customers o JOIN masked_customers m USING (id) WHERE o.income = m.income"
        assert con.execute(unchanged).fetchall() == [(0,)]
        shuffled = "SELECT array_agg({0} ORDER BY {0}) FROM {1}"
        for column in ("income", "spending"):
            original, masked = (
                con.execute(shuffled.format(column, table)).fetchall()
                for table in ("stg_customers", "shuffled_customers")
            )
            assert original == masked
        kept = "SELECT avg((o.plan = m.plan)::INT) FROM stg_customers o JOIN randomized_plans m USING (id)"
        assert 0.6 < con.execute(kept).fetchall()[0][0] < 0.8


def test_the_secret_of_the_profile_keys_the_noise(built: Path) -> None:
    call = "egadp_mask('stg_customers', conf := ['income', 'spending', 'debt'], nonconf := ['age', 'region', 'plan'], key := 'id')"
    with opened(built) as con:
        differ = f"SELECT max(abs(a.income - b.income)) FROM masked_customers a JOIN {call} b USING (id)"
        assert con.execute(differ).fetchall()[0][0] < 1e-6


def test_rules_are_listed(built: Path) -> None:
    ran = command(built, "-m", "ppduck.dbt", "rules")
    assert (ran.returncode, ran.stderr) == (0, "")
    head, *lines = ran.stdout.splitlines()
    assert head.split() == ["model", "source", "mask", "columns", "and", "parameters"]
    assert sorted(re.split(r"  +", line) for line in lines) == [
        ["masked_customers", "stg_customers", "egadp_mask", "conf: income, spending, debt; nonconf: age, region, plan; key: id"],
        ["randomized_plans", "stg_customers", "rr_mask", 'conf: plan; key: id; p: {"plan": 0.7}'],
        ["shuffled_customers", "stg_customers", "shuffle_mask", "conf: income, spending; nonconf: age; key: id; drop: region, plan, debt"],
    ]  # fmt: skip


def test_a_query_without_a_model(built: Path) -> None:
    query = "select count(*) as n from ({{ ppduck_mask(ref('stg_customers'), mask='kim', conf='income', level=0.1) }})"
    ran = dbt(built, "--quiet", "show", "--inline", query, "--output", "json")
    assert ran.returncode == 0, ran.stdout
    assert '"n": 300' in ran.stdout


def test_leaks_fail_the_build(tmp_path: Path, built: Path) -> None:
    project = initialized(tmp_path, LEAKS, like=built)
    ran = dbt(project, "build", "--select", "+copied", "+scaled", "+late", "+unseen")
    assert ran.returncode == 1
    said = ran.stdout
    assert 'ppduck_release on "copied": linkage is 1.0, above its limit of 0.05: share of masked records' in said
    assert 'ppduck_release on "scaled": moments: mean income is ' in said
    assert re.search(r"FAIL \d+ ppduck_release_scaled", said)
    # Their columns are known only once what they mask is there; they fail all the same before they are made.
    assert 'model "late": conf names column "wage", which "renamed" does not have. Did you mean "wages"?' in said
    assert 'model "unseen": its source "__dbt__cte__passing" is ephemeral and cannot be masked' in said
    assert {"copied", "scaled"} <= tables(project)
    assert not {"late", "unseen"} & tables(project)
    with duckdb.connect(project.parent / "database" / "customers.duckdb") as con:
        stored = con.execute('SELECT rule, "limit", "value" FROM main_dbt_test__audit.copied_leaks').fetchall()
    assert {rule for rule, _, _ in stored} == {"linkage", "cc_gain", "r2_gain", "interval", "unchanged"}
    assert all(value > limit for _, limit, value in stored)


def test_wrong_rules_stop_dbt_before_any_data(tmp_path: Path, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = initialized(tmp_path, WRONG_RULES, like=built)
    ran = dbt(project, "build")
    assert ran.returncode != 0
    for message in (
        'model "wrong_mask": there is no mask "egad". Did you mean "egadp"?',
        'model "wrong_column": conf names column "incme", which "stg_customers" does not have. Did you mean "income"?',
        'model "wrong_parameter": noise_mask has no parameter "levle". Did you mean "level"?',
    ):
        assert message in ran.stdout
    assert tables(project) == set()
    assert main(["rules", "--manifest", str(project / "target" / "manifest.json")]) == 1
    listed = capsys.readouterr().err
    assert listed.count("Error: ppduck rule of model") == 3
    assert 'Warning: model "forgotten" has a masking rule and does not call ppduck_mask' in listed


def test_a_wrong_key_of_the_plugin(tmp_path: Path) -> None:
    project = initialized(tmp_path)
    profile = project / "profiles.yml"
    profile.write_text(profile.read_text(encoding="utf-8").replace("secret_env:", "secret_evn:"), encoding="utf-8")
    ran = dbt(project, "debug")
    assert ran.returncode != 0
    assert 'config has key "secret_evn", which is not known. Did you mean "secret_env"?' in ran.stdout
    assert not (project.parent / "database" / "customers.duckdb").exists()
