"""Every rule is a figure of a function that there is, and what it is chosen by are columns of that function."""

from __future__ import annotations

import pytest
from sqlglot import exp

from ppduck.call.registry import function_named
from ppduck.gate.rules import DEFAULTS, IF_READ_AGAIN, OF_ANY, OF_SHARES, RULES, Limit, Rule
from ppduck.query import tree as sql

pytestmark = pytest.mark.core


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_reads_results_of_its_function(rule: Rule) -> None:
    function = function_named(rule.function)
    results = {result.name for result in function.results}
    read = [rule.value, *([] if rule.chance is None else [rule.chance])]
    assert {column.name for each in read for column in each.find_all(exp.Column)} <= results
    assert rule.where is None or rule.where[0] in results
    assert set(rule.more) <= {parameter.name for parameter in function.parameters}
    for parameter in function.parameters:
        if parameter.name in rule.more:
            assert parameter.read(rule.more[parameter.name]) == rule.more[parameter.name]


def test_shares_have_limits_of_shares() -> None:
    assert {rule.limits is OF_SHARES for rule in RULES.values() if rule.most == 1} == {True}
    assert {rule.limits is OF_ANY for rule in RULES.values() if rule.most > 1} == {True}


def test_a_default_of_chance_is_of_a_rule_that_knows_it() -> None:
    for name, limit in (DEFAULTS | IF_READ_AGAIN).items():
        assert RULES[name].chance is not None or not (limit.number is None or limit.or_chance)


@pytest.mark.parametrize(
    ("limit", "written"),
    [
        (Limit(0.5), "CAST(0.5 AS DOUBLE)"),
        (Limit(None), '"tolerance"'),
        (Limit(0.5, or_chance=True), 'greatest(CAST(0.5 AS DOUBLE), "tolerance")'),
    ],
)
def test_a_limit_is_a_number_or_what_chance_makes_or_the_larger(limit: Limit, written: str) -> None:
    assert sql.render(limit.allows(sql.column("tolerance"))) == written
