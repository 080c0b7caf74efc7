"""rr_rules_accuracy(): how far rules found in randomized baskets are from those of the original ones.

With F the actual and R the reconstructed set of rules, in percent: ρ and γ are the mean relative
errors of support and confidence over the rules in both, σ⁻ = |F − R|/|F| and σ⁺ = |R − F|/|F|
(Guo 2010, section 3.2.4). ``by_lower`` and ``by_upper`` take R by the bounds instead of the estimates.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ppduck.errors import Faults, quoted
from ppduck.kernels.rules import Itemset, Limits, Rule
from ppduck.plan import arguments
from ppduck.plan import sqlbuild as sql
from ppduck.plan.arguments import Parameter
from ppduck.plan.catalog import Catalog
from ppduck.plan.registry import Function, register
from ppduck.plan.roles import resolve_columns
from ppduck.randomized import baskets
from ppduck.randomized.cells import TBL
from ppduck.randomized.design import MATRIX, P
from ppduck.randomized.published import read_published

NAME = "rr_rules_accuracy"
SOLVE = "ppduck_rr_rules_accuracy"
_ROW = "STRUCT(measure VARCHAR, value DOUBLE, by_lower DOUBLE, by_upper DOUBLE, meaning VARCHAR)"
SOLVE_TYPES = (["VARCHAR", *baskets.SIDE, *baskets.SIDE], f"{_ROW}[]")
ORIGINAL = Parameter("original", arguments.words, "the baskets before randomization")
RELEASE = replace(TBL, name="release")
_Rules = dict[tuple[Itemset, Itemset], Rule]


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    published = read_published(NAME, catalog, given | {TBL.name: given["release"]}, given["columns"])
    baskets.refuse_other_than_bits(published)
    original = catalog.source(NAME, given["original"])
    faults = Faults(NAME, original.label)
    if original.columns is None:
        raise faults.refuse(catalog.unseen(original, "make it a table and commit."))
    own = resolve_columns(faults, original, "columns", given["columns"])
    baskets.refuse_other_types(faults, own)
    faults.raise_if_any()
    statement = sql.Statement()
    baskets.gathered(statement, "_pp_original", original.sql, [column.name for column in own])
    baskets.published_baskets(statement, published)
    spec = baskets.specification(published, given) | {"original": original.label}
    sides = [*baskets.arguments_of("_pp_original"), *baskets.arguments_of("_pp_baskets")]
    answer = sql.call("unnest", sql.call(SOLVE, sql.text(json.dumps(spec)), *sides))
    rows = sql.select([sql.named(answer, "_pp_row")], '"_pp_original" CROSS JOIN "_pp_baskets"')
    return statement.finish(f'SELECT unnest("_pp_row") FROM ({rows})')


def solve(
    specification: str,
    words: Sequence[Sequence[int | None]], counts: Sequence[int],
    masked_words: Sequence[Sequence[int | None]], masked_counts: Sequence[int],
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    limits = baskets.limits(spec)
    actual = _named(baskets.rules_of(spec, baskets.read(spec, spec["original"], words, counts)))
    actual = {name: rule for name, rule in actual.items() if _passes(rule, limits, "estimate")}
    if not actual:
        raise Faults(NAME, spec["original"]).refuse(
            f"no rule of {quoted(spec['original'])} reaches min_support and min_confidence; lower them."
        )
    published = baskets.read(spec, spec["table"], masked_words, masked_counts)
    found = _named(baskets.rules_of(spec, baskets.randomized(spec, published)))
    sets = {by: {n: r for n, r in found.items() if _passes(r, limits, by)} for by in ("estimate", "lower", "upper")}
    both = [(actual[name], sets["estimate"][name]) for name in actual if name in sets["estimate"]]
    rho = _mean([abs(r.support - f.support) / f.support for f, r in both])
    gamma = _mean([abs(r.confidence - f.confidence) / f.confidence for f, r in both])
    lost = {by: 100.0 * len(actual.keys() - chosen.keys()) / len(actual) for by, chosen in sets.items()}
    made_up = {by: 100.0 * len(chosen.keys() - actual.keys()) / len(actual) for by, chosen in sets.items()}
    return [
        _row("rho", rho, None, None, "mean error of the support of rules found, % of the true support; low is good"),
        _row("gamma", gamma, None, None, "mean error of their confidence, % of the true confidence; low is good"),
        _row("sigma_minus", *_three(lost), "true rules that were not found, % of all true rules; low is good"),
        _row("sigma_plus", *_three(made_up), "rules found that are not true, % of all true rules; low is good"),
    ]


def _named(rules: Sequence[Rule]) -> _Rules:
    return {(rule.antecedent, rule.consequent): rule for rule in rules}


def _passes(rule: Rule, limits: Limits, by: str) -> bool:
    support = {"estimate": rule.support, "lower": rule.s_low, "upper": rule.s_high}[by]
    confidence = {"estimate": rule.confidence, "lower": rule.c_low, "upper": rule.c_high}[by]
    return support >= limits.support and confidence >= limits.confidence


def _three(by: dict[str, float]) -> tuple[float, float, float]:
    return by["estimate"], by["lower"], by["upper"]


def _mean(errors: Sequence[float]) -> float | None:
    return 100.0 * sum(errors) / len(errors) if errors else None


def _row(measure: str, value: float | None, lower: float | None, upper: float | None, meaning: str) -> dict[str, Any]:
    return {"measure": measure, "value": value, "by_lower": lower, "by_upper": upper, "meaning": meaning}


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, baskets.COLUMNS, *baskets.LEAST, P, MATRIX, *baskets.RANGES),
        plan,
        "How far rules from randomized baskets are from the original's: errors, and rules lost or made up.",
        "Guo (2010), section 3.2.4",
    )
)
