"""The limits of a call amend the defaults; a rule is switched off by NULL, and some never are."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pytest

from ppduck.gate import _groups
from ppduck.gate.limits import CHANCE, FIXED, NAMES
from ppduck.gate.rules import DEFAULTS, RULES
from tests.gate.releases import Rows, failed, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
CALL = "FROM release_check('t', '{}', conf=['x'], key='id', limits={})"
OF_NUMBERS = [name for name in NAMES if name not in (*_groups.RULES, "agreement")]


@pytest.fixture
def tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    people(con)
    return con


def limits(**given: object) -> str:
    def written(value: object) -> str:
        return "NULL" if value is None else repr(value)

    return "{" + ", ".join(f"'{name}': {written(value)}" for name, value in given.items()) + "}"


def test_a_limit_amends_the_defaults_and_leaves_the_others(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    plain = ask("FROM release_check('t', 'm', conf=['x'], key='id')")
    amended = ask(CALL.format("m", limits(linkage=0.2, r2=0.9, tells=0.01, leverage=0.001)))
    asked = [(row["rule"], row["column_name"]) for row in amended if row["rule"] != "r2"]
    assert sorted(asked, key=str) == sorted([(row["rule"], row["column_name"]) for row in plain], key=str)
    assert of_rule(amended, "linkage")[None]["at_most"] == 0.2
    assert of_rule(amended, "r2")["x"]["at_most"] == 0.9
    kept = {row["column_name"] for row in plain if row["why"].startswith("kept")}
    assert {row["at_most"] for name, row in of_rule(amended, "tells").items() if name not in kept} == {0.01}
    assert {of_rule(amended, "tells")[name]["at_most"] for name in kept} == {0.99}
    assert {row["at_most"] for row in of_rule(amended, "leverage").values()} == {0.001}
    assert {rule for rule, _ in failed(amended)} >= {"leverage"}
    assert of_rule(amended, "interval") == of_rule(plain, "interval")


def test_null_switches_a_rule_off_and_a_row_tells_so(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    off = dict.fromkeys(OF_NUMBERS)
    rows = ask(CALL.format("m", limits(**off)))
    not_asked = [row for row in rows if row["passed"] is None]
    assert sorted(row["rule"] for row in not_asked) == sorted(off)
    assert {row["why"] for row in not_asked} == {"not asked: limits has NULL for it"}
    assert {(row["value"], row["at_most"], row["column_name"]) for row in not_asked} == {(None, None, None)}
    assert {row["rule"] for row in rows if row["passed"] is not None} == set(FIXED) - {"pseudonym"}, "there are none"


def test_chance_is_what_the_function_itself_allows(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rows = ask(CALL.format("m", limits(r2_gain=CHANCE, cc_partial=CHANCE)))
    [(gain,)] = tables.execute(
        "SELECT tolerance FROM value_disclosure('t', 'm', conf=['x'], key='id', model='curve')"
    ).fetchall()
    assert of_rule(rows, "r2_gain")["x"]["at_most"] == pytest.approx(gain)
    assert of_rule(rows, "cc_partial")[None]["at_most"] is not None


def test_a_share_of_rows_is_allowed_beyond_chance_where_a_rule_counts(
    tables: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    plain, more = (of_rule(ask(CALL.format("m", given)), "near")["x"] for given in (limits(r2=1), limits(near=0.1)))
    assert more["at_most"] == pytest.approx(plain["at_most"] + 30)


def test_k_takes_a_number_of_rows(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    def asked(given: str, qi: str = ", qi=['region']") -> dict[str, object]:
        found: dict[str, object] = of_rule(ask(CALL.format("m", given)[:-1] + f"{qi})"), "k")[None]
        return found

    [(smallest,)] = tables.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM m GROUP BY region)").fetchall()
    assert asked(limits(k=smallest))["passed"]
    assert not asked(limits(k=smallest + 1))["passed"]
    assert asked(limits(r2=1))["at_most"] == pytest.approx(1 / 3)
    assert asked(limits(k=5), "")["passed"] is None
    assert not asked(limits(k=2), ", qi=['age', 'region', 'x']")["passed"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (limits(linkages=0.1), r'limits names rule "linkages", which does not exist\. Did you mean "linkage"\?'),
        (limits(nothing=0.1), 'limits names rule "nothing", which does not exist'),
        (limits(declared=1), 'rule "declared" has no limit, and cannot be switched off: name the column in conf'),
        (limits(declared=None), 'rule "declared" has no limit, and cannot be switched off'),
        (limits(copy=1), 'rule "copy" has no limit, and cannot be switched off: mask the column, or drop it'),
        (limits(copy=None), 'rule "copy" has no limit, and cannot be switched off'),
        (limits(linkage=5), 'the limit of rule "linkage" .*a share and no percentage, got 5'),
        (limits(linkage=-0.1), 'the limit of rule "linkage" '),
        (limits(linkage="many"), 'the limit of rule "linkage" .* got many'),
        (limits(tells=CHANCE), 'the limit of rule "tells" .* got chance'),
        (limits(k=0.5), 'the limit of rule "k" .* a number of rows, got 0.5'),
        (limits(k=0), 'the limit of rule "k" '),
        ("MAP {}", "limits takes rules with their limits"),
        ("0.05", "limits takes rules with their limits"),
    ],
)  # fmt: skip
def test_limits_that_mean_nothing_are_refused(tables: duckdb.DuckDBPyConnection, given: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        tables.execute(CALL.format("m", given))


def test_every_fault_of_the_limits_is_told_at_once(tables: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"(?s)linkages.*copy.*interval"):
        tables.execute(CALL.format("m", limits(linkages=1, copy=1, interval=7)))


def test_a_rule_of_numbers_is_refused_where_conf_has_none(tables: duckdb.DuckDBPyConnection) -> None:
    tables.execute("CREATE TABLE d AS SELECT * EXCLUDE (x) FROM t")
    with pytest.raises(duckdb.Error, match='rule "r2_gain" is of numbers, and conf has none'):
        tables.execute("FROM release_check('t', 'd', conf=['disease'], key='id', limits={'r2_gain': 0.1})")


LARGEST = {name: 1.0 if name not in RULES or RULES[name].most == 1 else 1e300 for name in OF_NUMBERS}
ODD: dict[str, dict[str, object]] = {
    "all off": dict.fromkeys(OF_NUMBERS),
    "all at their largest": {**LARGEST},
    "all but one off": {**dict.fromkeys(OF_NUMBERS), "linkage": 1.0},
    "by chance": {name: CHANCE for name in DEFAULTS if RULES[name].chance is not None},
}


@pytest.mark.parametrize("given", ODD.values(), ids=ODD)
@pytest.mark.parametrize("release", ["t", "(SELECT * FROM t ORDER BY age)", "moved", "part"])
def test_a_copy_fails_whatever_limits_are_named(
    tables: duckdb.DuckDBPyConnection, ask: Ask, given: dict[str, object], release: str
) -> None:
    """Nor one with a constant added in one row, nor one of most of the rows."""
    tables.execute("""
        CREATE TABLE moved AS SELECT * REPLACE (if(id = 1, x + 1, x) AS x) FROM t;
        CREATE TABLE part AS SELECT t.* REPLACE (if(id < 80, m.x, t.x) AS x) FROM t JOIN m USING (id)
        """)
    assert ("copy", "x") in failed(ask(CALL.format(release, limits(**given))))


@pytest.mark.parametrize("given", ["{'agreement': NULL, 'linkage': NULL}", "{'agreement': 1, 'linkage': 1}"])
def test_a_copied_category_fails_whatever_limits_are_named(
    tables: duckdb.DuckDBPyConnection, ask: Ask, given: str
) -> None:
    rows = ask(f"FROM release_check('t', 't', conf=['disease'], key='id', limits={given}, p=1)")
    assert ("copy", "disease") in failed(rows)


@pytest.mark.parametrize(
    "given", ["{'group_risk': NULL, 'ungeneralised': NULL}", "{'group_risk': 1, 'ungeneralised': 1}"]
)
def test_numbers_as_text_fail_whatever_limits_are_named(
    tables: duckdb.DuckDBPyConnection, ask: Ask, given: str
) -> None:
    tables.execute("CREATE TABLE texts AS SELECT * REPLACE (x::VARCHAR AS x) FROM t")
    assert "copy" in {rule for rule, _ in failed(ask(CALL.format("texts", given)))}


def test_a_rule_may_be_named_in_capitals(tables: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rows = ask("FROM release_check('t', 'm', conf=['x'], key='id', limits={'Dominance': 0.5})")
    assert {row["at_most"] for row in rows if row["rule"] == "dominance"} == {0.5}
