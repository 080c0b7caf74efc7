"""One vocabulary: the same thing has the same name in every function, and every name may be written with ``=``."""

from __future__ import annotations

import re

import duckdb
import pytest

from ppduck.call.registry import PlainMacro, functions
from tests.laws import steady

pytestmark = pytest.mark.core

# What things were called in some functions, and what they are called in all.
FORMER = {"by": "strata", "masked": "release", "weight": "count"}
# Of two releases, the original is what may be given beside them.
OF_TWO_RELEASES = {"release_intersection"}
# (a plain function with arguments by =, the same by place)
PLAIN = {
    "k_anonymity('t', qi=['a', 'b'], k=3)": "k_anonymity('t', ['a', 'b'], 3)",
    "k_anonymity(qi=[b, a], tbl='t')": "k_anonymity('t', ['b', 'a'])",
    "l_diversity('t', ['a'], sensitive='s', l=3, c=1.5)": "l_diversity('t', ['a'], 's', 3, 1.5)",
    "t_closeness('t', qi=['a'], sensitive='b', ordered=true)": "t_closeness('t', ['a'], 'b', true)",
    "association_measures('t', a='a', b='b')": "association_measures('t', 'a', 'b')",
    "chi2_independence('t', columns=['a', 'b'])": "chi2_independence('t', ['a', 'b'])",
    "rr_privacy(p=0.8, levels=3)": "rr_privacy(0.8, 3)",
    "egadp_plain('t', conf=['x'], nonconf=['y'], key='id', secret=getvariable('hush'))": (
        "egadp_plain('t', ['x'], getvariable('hush'), 'id', ['y'])"
    ),
    "rr_plain('t', conf=['b'], p=0.8, levels=[0, 1, 2, 3], key='id', secret=getvariable('hush'))": (
        "rr_plain('t', ['b'], 0.8, [0, 1, 2, 3], getvariable('hush'), 'id')"
    ),
    "noise_plain('t', conf=['x', 'y'], level=[0.1, 2], key='id', secret=getvariable('hush'))": (
        "noise_plain('t', ['x', 'y'], [0.1, 2], getvariable('hush'), 'id')"
    ),
    "pseudonym_plain('t', columns=['s'], domain='visit', secret=getvariable('hush'))": (
        "pseudonym_plain('t', ['s'], 'visit', getvariable('hush'))"
    ),
}


@pytest.fixture
def t(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute(
        "CREATE TABLE t AS SELECT i AS id, i % 3 AS a, (i * 7) % 4 AS b, 'v' || i % 5 AS s, sin(i) AS x, cos(i * 2) AS y "
        "FROM range(200) r(i)"
    )
    con.execute("SET VARIABLE hush = 'sixteen letters and more'")
    return con


def test_no_parameter_is_a_reserved_word(con: duckdb.DuckDBPyConnection) -> None:
    found = con.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    reserved = {name for (name,) in found}
    assert len(reserved) > 50
    used = {(function.name, parameter.name) for function in functions() for parameter in function.parameters}
    assert [pair for pair in sorted(used) if pair[1] in reserved] == []


def test_every_parameter_can_be_written_with_an_equals_sign(con: duckdb.DuckDBPyConnection) -> None:
    for function in functions():
        for parameter in function.parameters:
            told = ""
            try:
                con.execute(f"FROM {function.name}({parameter.name}=MAP {{'a': 1}})")
            except duckdb.InvalidInputException as refused:  # what cannot be parsed or bound raises another one
                told = str(refused)
            assert "there is no parameter" not in told, (function.name, parameter.name)


def test_what_must_be_given_stands_before_what_may_be() -> None:
    for function in functions():
        required = [parameter.default is None for parameter in function.parameters]
        assert required == sorted(required, reverse=True), function.name


def test_the_same_thing_has_the_same_name() -> None:
    for function in functions():
        names = [parameter.name for parameter in function.parameters]
        assert not set(names) & set(FORMER), function.name
        if function.name in OF_TWO_RELEASES:
            assert names[:3] == ["first", "second", "key"], function.name
            continue
        assert ("original" in names) == ("release" in names), function.name
        assert names[:2] == ["original", "release"] or "original" not in names, function.name


def test_no_help_tells_of_a_former_name(con: duckdb.DuckDBPyConnection) -> None:
    for function in functions():
        told = str(con.execute("FROM ppduck_help(?)", [function.name]).fetchall())
        assert not re.findall(r"nonconf and by\b|\b(?:by|masked|weight)(?: :=|=)", told), function.name


def test_a_former_name_is_refused_with_those_that_there_are(customers: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(
        duckdb.InvalidInputException, match=r"there is no parameter 'stratum'\. Did you mean \"strata\""
    ):
        customers.execute("FROM egadp_mask('customers', conf=['x1'], stratum=['region'])")
    with pytest.raises(duckdb.InvalidInputException, match=r"no parameter 'weight'.*Parameters: .*\"count\""):
        customers.execute("FROM independence_test('customers', 'region', 'member', weight='s1')")
    with pytest.raises(duckdb.BinderException, match=r"strata"):
        customers.execute("FROM egadp_mask('customers', conf := ['x1'], \"by\" := ['region'])")


def test_names_and_places_can_be_mixed(customers: duckdb.DuckDBPyConnection) -> None:
    ways = (
        "'customers', conf=['x1'], nonconf=['s1'], key='id', strata=['region']",
        "'customers', ['x1'], ['s1'], ['region'], 'id'",
        "'customers', ['x1'], strata=['region'], key='id', nonconf=['s1']",
        "strata=['region'], key='id', nonconf=['s1'], conf=['x1'], tbl='customers'",
        "'customers', conf=['x1'], nonconf=['s1'], strata := ['region'], key := 'id'",
        "'customers', conf=['x1'], nonconf=['s1'], key='id', strata := ['region']",
        "'customers', key='id', strata=['region'], nonconf=['s1'], round=false, drop=[], conf := ['x1']",
        "key='id', strata=['region'], nonconf=['s1'], conf=['x1'], tbl := 'customers'",
    )
    found = [customers.execute(f"SELECT sum(x1), sum(id * x1) FROM egadp_mask({way})").fetchall() for way in ways]
    assert all(each == found[0] for each in found)


def test_a_parameter_may_be_named_behind_all_others(con: duckdb.DuckDBPyConnection) -> None:
    """What messages advise, such as on_null := 'level', can be put at the end of any call as it stands."""
    for function in functions():
        if not function.parameters:
            continue
        first, *others = [f"{parameter.name} := 1" for parameter in function.parameters]
        given = [other.replace(" := ", "=") for other in others]
        with pytest.raises(duckdb.Error, match=r"(?s).") as refused:  # plain functions leave judging to their SQL
            con.execute(f"FROM {function.name}({', '.join([*given, first])})")
        assert "supplied arguments" not in str(refused.value), function.name


@pytest.mark.parametrize(("named", "placed"), PLAIN.items())
def test_plain_functions_take_an_equals_sign_where_ppduck_is_loaded(
    t: duckdb.DuckDBPyConnection, named: str, placed: str
) -> None:
    found, expected = (
        [tuple(map(steady, row)) for row in t.execute(f"FROM {call}").fetchall()] for call in (named, placed)
    )
    assert found == expected != []


def test_every_plain_function_is_tried() -> None:
    plain = {function.name for function in functions() if isinstance(function, PlainMacro)}
    assert plain - {named.partition("(")[0] for named in PLAIN} == set()


def test_plain_functions_see_what_only_the_connection_sees(t: duckdb.DuckDBPyConnection) -> None:
    t.execute("CREATE TEMP TABLE mine AS FROM t WHERE id < 60")
    assert t.execute("SELECT k, rows FROM k_anonymity('mine', qi=['a'])").fetchall() == [(20, 60)]
    assert t.execute("SELECT k, rows FROM k_anonymity(?, qi=?)", ["mine", ["a"]]).fetchall() == [(20, 60)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("k_anonymity('t', q1=['a'])", r"k_anonymity: there is no parameter 'q1'\. Did you mean \"qi\"\?"),
        ("k_anonymity('t')", r"k_anonymity: qi must be a list of column names"),
        ("k_anonymity('t', ['a'], qi=['b'])", r"parameter 'qi' is given twice"),
        ("k_anonymity('t', qi=['a'], k=0)", r"k_anonymity: k must be a whole number of at least 1"),
        ("egadp_plain('t', conf=['x'], key='id', secret='tiny')", r"egadp_plain: secret has only 4 characters"),
    ],
)
def test_plain_functions_tell_what_is_wrong(t: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message) as refused:
        t.execute(f"FROM {call}")
    assert "tiny" not in str(refused.value).partition("LINE 1")[0]


# Words for a choice that differs from function to function: no default of one could be that of another.
OTHER_CHOICES = {"method", "scale", "standardise"}


def test_a_default_that_differs_from_that_of_other_functions_has_a_reason() -> None:
    """mask_explain has no defaults of its own: it takes those of the mask."""
    every = [(f.name, p) for f in functions() if f.name != "mask_explain" for p in f.parameters]
    defaults: dict[str, set[str]] = {}
    for _, parameter in every:
        if parameter.default not in (None, "NULL"):
            defaults.setdefault(parameter.name, set()).add(parameter.default)
    differing = {name for name, found in defaults.items() if len(found) > 1} - OTHER_CHOICES
    assert differing == {"on_null", "range", "target"}
    without = [f"{name}: {p.name}" for name, p in every if p.name in differing and "by default, because" not in p.doc]
    assert not without
