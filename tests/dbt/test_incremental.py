"""An incremental model adds the batches that are new, each masked and judged by itself, and touches no older row."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.dbt.projects import DATABASE, dbt, initialized, opened, tables

EVENTS = """
    SELECT i AS id, (DATE '2026-01-01' + (i // 600)::INTEGER)::DATE AS load_date, sin(i) AS score,
           50 + 5 * cos(i * 3) + 3 * sin(i) + 2 * sin(i * i) AS amount
    FROM range($1, $2) AS r(i)
"""
RULES = """
sources:
  - name: shop
    schema: shop
    tables: [{name: events}]
models:
  - name: growing
    config:
      materialized: incremental
      meta: {ppduck: {key: id, batch: load_date, columns: {score: drop}, masks: {egadp: {nonconf: [score]}}}}
      post_hook: "{{ ppduck_comment() }}"
    columns:
      - {name: id, config: {meta: {ppduck: {pseudonym: token}}}}
      - {name: load_date, config: {meta: {ppduck: keep}}}
      - {name: amount, config: {meta: {ppduck: {mask: egadp}}}}
  - name: leaking
    config:
      materialized: incremental
      meta: {ppduck: {key: id, batch: load_date, columns: {score: drop}, masks: {noise: {level: 0.001}}}}
    columns:
      - {name: id, config: {meta: {ppduck: drop}}}
      - {name: load_date, config: {meta: {ppduck: keep}}}
      - {name: amount, config: {meta: {ppduck: {mask: noise}}}}
"""
FILES = {
    "models/masked/events.yml": RULES,
    "models/masked/growing.sql": "{{ ppduck_release_table(source('shop', 'events')) }}",
    "models/masked/leaking.sql": "{{ ppduck_release_table(source('shop', 'events')) }}",
}


def loaded(project: Path, first: int, end: int) -> None:
    with duckdb.connect(project.parent / DATABASE) as con:
        con.execute("CREATE SCHEMA IF NOT EXISTS shop")
        con.execute(f"CREATE TABLE IF NOT EXISTS shop.events AS FROM ({EVENTS.replace('$1', '0').replace('$2', '0')})")
        con.execute(f"INSERT INTO shop.events {EVENTS}", [first, end])


def released(project: Path) -> list[tuple[object, ...]]:
    with opened(project) as con:
        return con.execute("SELECT id, load_date::VARCHAR, amount FROM growing ORDER BY load_date, id").fetchall()


def test_batches_are_added_once(tmp_path: Path) -> None:
    project = initialized(tmp_path, FILES)
    loaded(project, 0, 2000)  # 800 of them wait
    ran = dbt(project, "build", "--select", "growing")
    assert ran.returncode == 0, ran.stdout
    first = released(project)
    assert {day for _, day, _ in first} == {"2026-01-01", "2026-01-02"}
    assert len(first) == 1200
    ran = dbt(project, "build", "--select", "growing")  # nothing is new
    assert ran.returncode == 0, ran.stdout
    assert released(project) == first
    loaded(project, 2000, 4000)
    ran = dbt(project, "build", "--select", "growing")
    assert ran.returncode == 0, ran.stdout
    second = released(project)
    assert second[:1200] == first
    assert len(second) == 3600
    assert len({token for token, *_ in second}) == 3600
    with opened(project) as con:
        true = dict(con.execute("SELECT load_date::VARCHAR, avg(amount) FROM shop.events GROUP BY ALL").fetchall())
        kept = "SELECT count(*) FROM growing AS g JOIN shop.events AS e ON g.amount = e.amount"
        assert con.execute(kept).fetchall() == [(0,)]
        told = con.execute("SELECT role FROM release_manifest('growing') WHERE column_name = 'amount'").fetchall()
    assert told == [("masked",)]
    # EGADP keeps the mean of what was masked together: here of two days each.
    for days in (("2026-01-01", "2026-01-02"), ("2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06")):
        own = [float(str(amount)) for _, day, amount in second if day in days]
        assert abs(sum(own) / len(own) - sum(true[day] for day in days) / len(days)) < 1e-9
    # Another policy makes another release, whose rows do not go into this one.
    rules = project / "models/masked/events.yml"
    rules.write_text(RULES.replace("{pseudonym: token}", "{pseudonym: uuid}"), encoding="utf-8")
    loaded(project, 4000, 6000)
    ran = dbt(project, "build", "--select", "growing")
    assert ran.returncode == 1
    assert 'model "growing": the table that is there does not say that it was made by this policy' in ran.stdout
    assert released(project) == second


def test_a_batch_that_fails_the_gate_is_not_added(tmp_path: Path) -> None:
    project = initialized(tmp_path, FILES)
    loaded(project, 0, 2000)
    ran = dbt(project, "build", "--select", "leaking")
    assert ran.returncode == 1
    assert 'ppduck_release on "leaking": r2_gain of amount is ' in ran.stdout
    assert "rules fail (above), and nothing was added." in ran.stdout
    assert tables(project) == {"events"}
