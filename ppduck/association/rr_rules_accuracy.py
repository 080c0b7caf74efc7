"""rr_rules_accuracy(): how far rules of randomized baskets are from those of the original ones.

With F the actual and R the reconstructed set of rules: ρ and γ are the mean relative errors of
support and confidence over the rules in both, σ⁻ = |F − R|/|F| and σ⁺ = |R − F|/|F|, as shares; s-p
and c-p count the pairs of R that stand in the wrong order although one of them is sure: ŝ₁ < ŝ₂,
but s₁ > ŝ₁ₗ > s_min > s₂, and likewise for confidences (Guo 2010, section 3.2.4 and Table 3.3).
``lower`` and ``upper`` take R by the ends of the ranges instead of the estimates, its candidates
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.association import baskets
from ppduck.association.baskets import BasketPatterns, RulesCall, RulesSpec
from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.roles import resolve_columns
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.estimators.cells import TBL
from ppduck.estimators.design_source import read_release
from ppduck.frozen import frozen
from ppduck.kernels.rules import By, Itemset, Limits, Rule, conflicts, true_values
from ppduck.query import tree as sql
from ppduck.query.answer import each_row
from ppduck.values import Array

NAME = "rr_rules_accuracy"
RESULTS = (
    Result("measure", "VARCHAR", "rho, gamma, sigma_minus, sigma_plus, s_p or c_p"),
    Result(
        "value",
        "DOUBLE",
        "its value, where rules are taken by their estimates; NULL where no rule is in both",
    ),
    Result(
        "lower",
        "DOUBLE",
        "the same where rules are taken by the lower ends of their ranges; NULL where not told",
    ),
    Result("upper", "DOUBLE", "the same where rules are taken by the upper ends"),
    Result("direction", "VARCHAR", "which way the value is good"),
    Result("meaning", "VARCHAR", "what the measure is, in words"),
)
_Rules = dict[tuple[Itemset, Itemset], Rule]


@parameters
class RrRulesAccuracyCall(RulesCall):
    original: str = parameter(arguments.words, "the baskets before randomization")
    release: str = TBL


@frozen
class RrRulesAccuracySpec(RulesSpec):
    original: str


@frozen
class BothPatterns(BasketPatterns):
    """The patterns of the release, and those of the original."""

    original_bits: Array | None
    original_counts: Array | None

    @property
    def original(self) -> BasketPatterns:
        return BasketPatterns(self.original_bits, self.original_counts)


def plan(catalog: Catalog, call: RrRulesAccuracyCall) -> sql.Expr:
    release = read_release(NAME, catalog, call.release, call.columns, call.words)
    baskets.refuse_other_than_bits(release)
    original = catalog.source(NAME, call.original)
    faults = Faults(NAME, original.label)
    if original.columns is None:
        raise faults.refuse(catalog.unseen(original, "make it a table and commit."))
    own = resolve_columns(faults, original, "columns", call.columns)
    baskets.refuse_other_types(faults, own)
    faults.raise_if_any()
    statement = sql.Statement()
    before = baskets.patterns(original.sql, [column.name for column in own])
    statement.step("_pp_original", before, materialized=True)
    baskets.release_steps(statement, release, "_pp_release")
    spec = RrRulesAccuracySpec(
        NAME, release.source.label, baskets.items_of(release), call.limits, original.label
    )
    told = {f"original_{name}": value for name, value in baskets.told_of("_pp_original").items()}
    measures = SOLVE.in_sql(spec, baskets.told_of("_pp_release") | told)
    both = sql.table("_pp_original").cross(sql.table("_pp_release"))
    statement.step(
        "_pp_solved", sql.query([sql.named(measures, "_pp_measures")], both), materialized=False
    )
    return statement.query(each_row("_pp_solved", "_pp_measures"))


def solve(spec: RrRulesAccuracySpec, told: BothPatterns) -> list[dict[str, Any]]:
    original = baskets.read(spec, spec.original, told.original)
    actual = _reached(baskets.rules_of(spec, original, "estimate"), spec.limits, "estimate")
    if not actual:
        raise Faults(NAME, spec.original).refuse(
            f"no rule of {quoted(spec.original)} reaches min_support and min_confidence; lower them."
        )
    release = baskets.before_randomization(spec, baskets.read(spec, spec.table, told))
    sets = {by: _reached(baskets.rules_of(spec, release, by), spec.limits, by) for by in _WAYS}
    found = list(sets["estimate"].values())
    both = [(actual[name], sets["estimate"][name]) for name in actual if name in sets["estimate"]]
    rho = _mean([abs(r.support - f.support) / f.support for f, r in both])
    gamma = _mean([abs(r.confidence - f.confidence) / f.confidence for f, r in both])
    lost = {by: len(actual.keys() - chosen.keys()) / len(actual) for by, chosen in sets.items()}
    made_up = {by: len(chosen.keys() - actual.keys()) / len(actual) for by, chosen in sets.items()}
    support, confidence = true_values(original, found)
    in_support = _conflicts(found, "support", support, spec.limits.support)
    in_confidence = _conflicts(found, "confidence", confidence, spec.limits.confidence)
    return [
        _row(
            "rho", rho, None, None, "mean error of the support of rules found, by the true support"
        ),
        _row("gamma", gamma, None, None, "mean error of their confidence, by the true confidence"),
        _row("sigma_minus", *_three(lost), "true rules that were not found, by all true rules"),
        _row("sigma_plus", *_three(made_up), "rules found that are not true, by all true rules"),
        _row("s_p", in_support, None, None, f"pairs of rules found, {_CONFLICT.format('support')}"),
        _row(
            "c_p",
            in_confidence,
            None,
            None,
            f"pairs of rules found, {_CONFLICT.format('confidence')}",
        ),
    ]


_WAYS: tuple[By, ...] = ("estimate", "lower", "upper")
_CONFLICT = "one surely above min_{0} and estimated below one that is truly not"


def _conflicts(rules: Sequence[Rule], of: str, truth: Array, limit: float) -> int:
    estimate, lower = (
        np.array([getattr(rule, name) for rule in rules]) for name in (of, f"{of}_lower")
    )
    return conflicts(estimate, lower, truth, limit)


def _reached(rules: Sequence[Rule], limits: Limits, by: By) -> _Rules:
    return {(rule.antecedent, rule.consequent): rule for rule in rules if rule.reaches(limits, by)}


def _three(by: dict[By, float]) -> tuple[float, float, float]:
    return by["estimate"], by["lower"], by["upper"]


def _mean(errors: Sequence[float]) -> float | None:
    return sum(errors) / len(errors) if errors else None


def _row(
    measure: str, value: float | None, lower: float | None, upper: float | None, meaning: str
) -> dict[str, Any]:
    return {
        "measure": measure, "value": value, "lower": lower, "upper": upper, "direction": LOWER_IS_BETTER,
        "meaning": meaning,
    }  # fmt: skip


SOLVE = told_udf(
    "ppduck_rr_rules_accuracy", solve, RrRulesAccuracySpec, BothPatterns, rows_type(RESULTS)
)
FUNCTION = register(
    Function(
        NAME,
        RrRulesAccuracyCall,
        plan,
        "How far rules from randomized baskets are from the original's: errors, and rules lost or made up.",
        "Guo (2010), section 3.2.4",
        kind=Kind.MEASURE,
        results=RESULTS,
        example=(
            "FROM rr_rules_accuracy('baskets', 'baskets_rr', ['bread','butter','jam'], min_support=0.2, "
            "min_confidence=0.6)"
        ),
        udfs=(SOLVE,),
    )
)
