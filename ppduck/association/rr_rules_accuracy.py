"""rr_rules_accuracy(): how far rules found in randomized baskets are from those of the original ones.

With F the actual and R the reconstructed set of rules: ρ and γ are the mean relative errors of
support and confidence over the rules in both, σ⁻ = |F − R|/|F| and σ⁺ = |R − F|/|F|, as shares;
s-p and c-p count the pairs of R that stand in the wrong order although one of them is sure:
ŝ₁ < ŝ₂, but s₁ > ŝ₁ₗ > s_min > s₂, and likewise for confidences (Guo 2010, section 3.2.4 and
Table 3.3). ``lower`` and ``upper`` take R by the ends of the ranges instead of the estimates,
its candidates too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ppduck.association import baskets
from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.roles import resolve_columns
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import MATRIX, DesignWords, P
from ppduck.errors import Faults, quoted
from ppduck.estimators.cells import TBL
from ppduck.estimators.design_source import read_release
from ppduck.kernels.rules import By, Itemset, Limits, Rule, conflicts, true_values
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "rr_rules_accuracy"
SOLVE = "ppduck_rr_rules_accuracy"
_ROW = "STRUCT(measure VARCHAR, value DOUBLE, lower DOUBLE, upper DOUBLE, direction VARCHAR, meaning VARCHAR)"
SOLVE_TYPES = (["VARCHAR", *baskets.SIDE, *baskets.SIDE], f"{_ROW}[]")
ORIGINAL = Parameter("original", arguments.words, "the baskets before randomization")
RELEASE = replace(TBL, name="release")
_Rules = dict[tuple[Itemset, Itemset], Rule]


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    published = read_release(NAME, catalog, given["release"], given["columns"], DesignWords.of(given))
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
    original = baskets.read(spec, spec["original"], words, counts)
    actual = _reached(baskets.rules_of(spec, original), limits, "estimate")
    if not actual:
        raise Faults(NAME, spec["original"]).refuse(
            f"no rule of {quoted(spec['original'])} reaches min_support and min_confidence; lower them."
        )
    published = baskets.randomized(spec, baskets.read(spec, spec["table"], masked_words, masked_counts))
    sets = {by: _reached(baskets.rules_of(spec, published, by), limits, by) for by in _WAYS}
    found = list(sets["estimate"].values())
    both = [(actual[name], sets["estimate"][name]) for name in actual if name in sets["estimate"]]
    rho = _mean([abs(r.support - f.support) / f.support for f, r in both])
    gamma = _mean([abs(r.confidence - f.confidence) / f.confidence for f, r in both])
    lost = {by: len(actual.keys() - chosen.keys()) / len(actual) for by, chosen in sets.items()}
    made_up = {by: len(chosen.keys() - actual.keys()) / len(actual) for by, chosen in sets.items()}
    support, confidence = true_values(original, found)
    in_support = _conflicts(found, "support", support, limits.support)
    in_confidence = _conflicts(found, "confidence", confidence, limits.confidence)
    return [
        _row("rho", rho, None, None, "mean error of the support of rules found, by the true support"),
        _row("gamma", gamma, None, None, "mean error of their confidence, by the true confidence"),
        _row("sigma_minus", *_three(lost), "true rules that were not found, by all true rules"),
        _row("sigma_plus", *_three(made_up), "rules found that are not true, by all true rules"),
        _row("s_p", in_support, None, None, f"pairs of rules found, {_CONFLICT.format('support')}"),
        _row("c_p", in_confidence, None, None, f"pairs of rules found, {_CONFLICT.format('confidence')}"),
    ]


_WAYS: tuple[By, ...] = ("estimate", "lower", "upper")
_CONFLICT = "one surely above min_{0} and estimated below one that is truly not"


def _conflicts(rules: Sequence[Rule], of: str, truth: Array, limit: float) -> int:
    estimate, lower = (np.array([getattr(rule, name) for rule in rules]) for name in (of, f"{of}_lower"))
    return conflicts(estimate, lower, truth, limit)


def _reached(rules: Sequence[Rule], limits: Limits, by: By) -> _Rules:
    return {(rule.antecedent, rule.consequent): rule for rule in rules if rule.reaches(limits, by)}


def _three(by: dict[By, float]) -> tuple[float, float, float]:
    return by["estimate"], by["lower"], by["upper"]


def _mean(errors: Sequence[float]) -> float | None:
    return sum(errors) / len(errors) if errors else None


def _row(measure: str, value: float | None, lower: float | None, upper: float | None, meaning: str) -> dict[str, Any]:
    return {
        "measure": measure, "value": value, "lower": lower, "upper": upper, "direction": LOWER_IS_BETTER,
        "meaning": meaning,
    }  # fmt: skip


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, baskets.COLUMNS, *baskets.LEAST, P, MATRIX, *baskets.RANGES),
        plan,
        "How far rules from randomized baskets are from the original's: errors, and rules lost or made up.",
        "Guo (2010), section 3.2.4",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
