"""The example project is built by the real dbt: passing as it stands, failing where a release or a rule is bad."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from ppduck.dbt.cli import main
from tests.conftest import SECRET
from tests.dbt.projects import DATABASE, command, dbt, initialized, opened, tables

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
    # The confidential column, beside the masked one; the rule is in the call and in the meta.
    "models/masked/beside.sql": """
        select m.*, s.income as income_before
        from ({{ masked_by_id(ref('stg_customers'), conf=['income']) }}) m join {{ ref('stg_customers') }} s using (id)
    """,
    "models/masked/overridden.sql": """
        {%- set level = run_query('select 0.8').columns[0].values()[0] | float if execute -%}
        select * exclude (age) from ({{ ppduck_mask(ref('stg_customers'), mask='noise', conf=['debt'], level=level) }})
    """,
    # A column more, which is declared or is not.
    **{
        f"models/masked/{name}.sql": "select *, age > 40 as older from ({{ ppduck_mask(ref('stg_customers')) }})"
        for name in ("undeclared", "by_role", "by_argument")
    },
    "models/masked/undrawn.sql": "{{ ppduck_mask(ref('stg_customers'), mask='rr', p={'plan': 0.95}, key='id') }}",
    "models/masked/fewer.sql": "select * exclude (age) from ({{ ppduck_mask(ref('stg_customers')) }})",
    "models/masked/on_text.sql": """
        {{ ppduck_mask('(select id, income / 12 as monthly from ' ~ ref('stg_customers') ~ ')', conf='monthly') }}
    """,
    "models/masked/asserted.sql": """
        {{ config(post_hook={"sql": "from assert_release('{{ ref(\'stg_customers\') }}', '{{ this }}', conf=['income'], "
                  ~ "key='id', limits={'linkage': 0.05})", "transaction": false}) }}
        select id, income from {{ ref('stg_customers') }}
    """,
    "models/masked/behind.sql": "select * from {{ ref('asserted') }}",
    "models/masked/tested.sql": "{{ ppduck_mask(ref('stg_customers'), mask='noise', conf='debt', level=0.5) }}",
    "macros/mine.sql": """
        {% macro masked_by_id(relation) %}{{ ppduck_mask(relation, key='id', **kwargs) }}{% endmacro %}
    """,
    "models/masked/leaks.yml": """
unit_tests:
  - name: tried
    model: tested
    given: [{input: ref('stg_customers'), rows: [{id: 1, debt: 2}]}]
    expect: {rows: [{id: 1}]}
sources:
  - name: before
    schema: main
    tables: [{name: customers, data_tests: [ppduck_release]}]
models:
  - name: beside
    config: {meta: {ppduck: {mask: egadp}}}
    data_tests: [ppduck_release]
    columns: [{name: income, data_tests: [ppduck_release]}]
  - name: overridden
    config: {meta: {ppduck: {mask: egadp, conf: [income], nonconf: [age], key: id}}}
    data_tests: [ppduck_release]
  - name: fewer
    config: {meta: {ppduck: {mask: egadp, conf: [income], nonconf: [age], key: id}}}
    data_tests: [ppduck_release]
  - name: undeclared
    config: {meta: {ppduck: {mask: egadp, conf: [income], nonconf: [age], key: id}}}
    data_tests: [ppduck_release]
  - name: by_role
    config: {meta: {ppduck: {mask: egadp, conf: [income], nonconf: [age], key: id}}}
    data_tests: [ppduck_release]
    columns: [{name: older, config: {meta: {ppduck: keep}}}]
  - name: by_argument
    config: {meta: {ppduck: {mask: egadp, conf: [income], nonconf: [age], key: id}}}
    data_tests: [{ppduck_release: {arguments: {keep: older}}}]
  - name: undrawn
    data_tests: [{ppduck_release: {arguments: {p: 0.5}}}]
  - name: on_text
    config: {meta: {ppduck: {mask: noise, level: 0.5, key: id}}}
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
    "models/masked/wrong_call.sql": "{{ ppduck_mask(ref('stg_customers'), mask='noise', conf='dept', level=0.5) }}",
    "snapshots/wrong_snapshot.sql": """
        {% snapshot wrong_snapshot %}
        {{ config(unique_key='id', strategy='check', check_cols='all', meta={'ppduck': {'mask': 'noise', 'conf': 'ag'}}) }}
        {{ ppduck_mask(ref('stg_customers'), level=0.5) }}
        {% endsnapshot %}
    """,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = initialized(tmp_path_factory.mktemp("built"))
    ran = dbt(project, "build")
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"Done\. PASS=20 WARN=0 ERROR=0 SKIP=0", ran.stdout), ran.stdout
    assert "Concurrency: 4 threads" in ran.stdout
    return project


def test_masks_keep_what_they_promise(built: Path) -> None:
    with opened(built) as con:
        farthest = con.execute(
            "SELECT max(abs(difference)) FROM moments_check('stg_customers', 'masked_customers', "
            "conf := ['income', 'spending', 'debt', 'age', 'region', 'plan'])"
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
        ["released_customers", "stg_customers", "release_table", "debt: drop; id: pseudonym token; age: recode {width: 20}; region: keep; plan: randomize 0.7; income: mask egadp, nonconf [age, region]; spending: mask egadp, nonconf [age, region]; key: id"],
        ["shuffled_customers", "stg_customers", "shuffle_mask", "conf: income, spending; nonconf: age; key: id; drop: region, plan, debt"],
    ]  # fmt: skip


def test_a_query_without_a_model(built: Path) -> None:
    query = "select count(*) as n from ({{ ppduck_mask(ref('stg_customers'), mask='kim', conf='income', level=0.1) }})"
    ran = dbt(built, "--quiet", "show", "--inline", query, "--output", "json")
    assert ran.returncode == 0, ran.stdout
    assert '"n": 300' in ran.stdout


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory, built: Path) -> tuple[Path, str]:
    """A project whose releases leak, and what dbt says of it."""
    project = initialized(tmp_path_factory.mktemp("leaking"), LEAKS, like=built)
    only = [f"+{Path(name).stem}" for name in LEAKS if name.startswith("models/masked/") and name.endswith(".sql")]
    ran = dbt(project, "build", "--select", *only, "source:before")
    assert ran.returncode == 1
    return project, ran.stdout


def test_leaks_fail_the_build(leaking: tuple[Path, str]) -> None:
    project, said = leaking
    assert 'ppduck_release on "copied": linkage is 1.0, above its limit of 0.05: share of masked records' in said
    assert 'ppduck_release on "copied": copy of spending is 1.0, above its limit of 0.5: share of' in said
    assert 'ppduck_release on "scaled": moments of income is ' in said
    assert re.search(r"FAIL \d+ ppduck_release_scaled", said)
    assert re.search(
        r'"asserted"\S* fails \d+ of \d+ rules and must not be released: .*; linkage is 1, above its', said
    )
    assert "behind" not in tables(project), "what reads a table that failed is not built"
    # Their columns are known only once what they mask is there; they fail all the same before they are made.
    assert 'model "late": conf names column "wage", which "renamed" does not have. Did you mean "wages"?' in said
    assert 'model "unseen": its source "__dbt__cte__passing" is ephemeral and cannot be masked' in said
    assert {"copied", "scaled"} <= tables(project)
    assert not {"late", "unseen"} & tables(project)
    with duckdb.connect(project.parent / DATABASE) as con:
        stored = con.execute("FROM main_dbt_test__audit.copied_leaks").fetchall()
        told = [name for name, *_ in con.description or ()]
    assert told == ["rule", "column_name", "at_most", "value", "why"]
    assert {rule for rule, *_ in stored} >= {"linkage", "r2_gain", "interval", "unchanged", "copy", "tells"}
    assert {("copy", "income"), ("copy", "spending"), ("linkage", None)} <= {
        (rule, column) for rule, column, *_ in stored
    }
    assert all(value > limit for _, _, limit, value, _ in stored)


def test_a_copy_of_a_confidential_column_fails_the_build(leaking: tuple[Path, str]) -> None:
    project, said = leaking
    assert 'ppduck_release on "beside": declared of income_before is 1.0, above its limit of 0.0: is new, and' in said
    assert re.search(r'ppduck_release on "beside": tells of income_before is [\d.]+, above its .* tells income', said)
    assert 'ppduck_release on "beside": copy of income_before is 1.0, above its limit of 0.5' in said
    assert "FAIL 3 ppduck_release_beside_ " in said
    with opened(project) as con:  # the masked column itself is fine
        passed = "FROM release_check('stg_customers', 'beside', conf := 'income', key := 'id') SELECT bool_and(passed) WHERE column_name = 'income'"
        assert con.execute(passed).fetchall() == [(True,)]


def test_what_may_be_kept_is_said_by_a_role(leaking: tuple[Path, str]) -> None:
    """A new column fails, unless the model's meta or the test says that it may be released."""
    said = leaking[1]
    assert 'ppduck_release on "undeclared": declared of older is 1.0, above its limit of 0.0' in said
    assert "FAIL 1 ppduck_release_undeclared_ " in said
    assert "PASS ppduck_release_by_role_ " in said
    assert "PASS ppduck_release_by_argument_older " in said
    assert 'ppduck_release on "undrawn": agreement of plan is ' in said


def test_rules_of_calls(leaking: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """What the call says counts, in the list and in the gate, also where it stands in a macro of the user's own."""
    project, said = leaking
    assert main(["rules", "--manifest", str(project / "target" / "manifest.json")]) == 0
    told = capsys.readouterr()
    listed = {line.split()[0]: re.split(r"  +", line)[2:] for line in told.out.splitlines()}
    assert listed["overridden"] == ["noise_mask", "conf: debt; nonconf: age; key: id; level: known when it runs"]
    assert listed["beside"] == ["egadp_mask", "conf: income; key: id"]
    assert listed["scaled"] == ["ipso_mask", "conf: income; key: id"]
    assert listed["on_text"] == ["noise_mask", "conf: monthly; key: id; level: 0.5"]
    assert "Warning" not in told.err
    assert 'ppduck_release on "overridden": r2_gain of debt is' in said
    with opened(project) as con:
        kept = "SELECT bool_and(o.income = m.income), bool_or(o.debt = m.debt) FROM stg_customers o JOIN overridden m USING (id)"
        assert con.execute(kept).fetchall() == [(True, False)]


def test_a_release_may_leave_out_columns(leaking: tuple[Path, str]) -> None:
    assert "PASS ppduck_release_fewer_ " in leaking[1]


def test_misplaced_tests(leaking: tuple[Path, str]) -> None:
    _, said = leaking
    where = "ppduck_release goes under data_tests of a model that is released, not of "
    assert where + "a source." in said
    assert where + 'its column "income"; name columns by conf.' in said
    assert 'ppduck rule of model "tried": masks cannot be unit-tested: what they give depends on' in said


def test_threads_give_the_same_rows(tmp_path: Path, built: Path) -> None:
    project = initialized(tmp_path, like=built)
    ran = dbt(project, "build", "--threads", "1", "--resource-type", "seed", "--resource-type", "model")
    assert ran.returncode == 0, ran.stdout
    assert "Concurrency: 1 threads" in ran.stdout
    masked = ("masked_customers", "shuffled_customers", "randomized_plans", "spending_by_region")
    rows = []
    for each in (project, built):
        with opened(each) as con:
            rows.append({table: con.execute(f"FROM {table} ORDER BY ALL").fetchall() for table in masked})
    assert rows[0] == rows[1]
    assert len(rows[0]["masked_customers"]) == 300


def test_an_empty_build_has_the_columns_of_the_rule(tmp_path: Path, built: Path) -> None:
    project = initialized(tmp_path, like=built)
    ran = dbt(project, "build", "--empty", "--select", "+shuffled_customers")
    assert ran.returncode == 0, ran.stdout
    described = []
    for each in (project, built):
        with opened(each) as con:
            described.append([row[0] for row in con.execute("DESCRIBE shuffled_customers").fetchall()])
    assert described[0] == described[1] == ["id", "age", "income", "spending"]


def test_wrong_rules_stop_dbt_before_any_data(tmp_path: Path, built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = initialized(tmp_path, WRONG_RULES, like=built)
    ran = dbt(project, "build")
    assert ran.returncode != 0
    for message in (
        'model "wrong_mask": there is no mask "egad". Did you mean "egadp"?',
        'model "wrong_column": conf names column "incme", which "stg_customers" does not have. Did you mean "income"?',
        'model "wrong_call": conf names column "dept", which "stg_customers" does not have. Did you mean "debt"?',
        'model "wrong_snapshot": conf names column "ag", which "stg_customers" does not have. Did you mean "age"?',
        'model "wrong_parameter": noise_mask has no parameter "levle". Did you mean "level"?',
    ):
        assert message in ran.stdout
    assert tables(project) == set()
    assert main(["rules", "--manifest", str(project / "target" / "manifest.json")]) == 1
    listed = capsys.readouterr().err
    assert listed.count("Error: ppduck rule of model") == 5
    assert 'Warning: model "forgotten" has a masking rule and does not call ppduck_mask' in listed


def test_a_wrong_key_of_the_plugin_stops_dbt_before_there_is_a_database(tmp_path: Path, built: Path) -> None:
    project = initialized(tmp_path, like=built)
    profile = project / "profiles.yml"
    wrong = "secret_evn: \"{{ env_var('CUSTOMERS_SECRET') }}\""  # and the secret itself for its name
    changed = profile.read_text(encoding="utf-8").replace("secret_env: CUSTOMERS_SECRET", wrong)
    profile.write_text(changed, encoding="utf-8")
    ran = dbt(project, "build")
    assert ran.returncode != 0
    assert 'config has key "secret_evn", which is not known. Did you mean "secret_env"?' in ran.stdout
    assert not (project.parent / DATABASE).exists()
    assert SECRET not in ran.stdout + ran.stderr
    assert with_the_secret(project) == []


def test_a_build_keeps_the_secret(built: Path) -> None:
    assert (built / "logs" / "dbt.log").is_file()
    assert with_the_secret(built.parent) == []


def with_the_secret(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
