"""rr_rules(): association rules of the baskets before randomization, with ranges and a verdict.

Support ŝ = π̂_{1…1} with a normal range (Guo 2010, Result 1); confidence ĉ = ŝ_XY/ŝ_X with a range
about its expectation (3.4) from its variance (3.5) (Guo 2010, Results 2 and 3), all inside [0, 1]. Candidates
are pruned by estimates, as the source does: a set is looked at if every part of it has an estimated
support of min_support or more, and listed if its own range reaches it; prune := 'upper' prunes by
the upper ends of the ranges instead, so that no set is lost that could be frequent. 'frequent':
even the lower ends reach both limits, which is sure at the confidence of the ranges; 'possible':
the upper ends do; 'no': they do not.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from ppduck.association import baskets
from ppduck.association.baskets import BasketPatterns, RulesCall, RulesSpec
from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.estimators.cells import TBL
from ppduck.estimators.design_source import read_release
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.query.answer import each_row

NAME = "rr_rules"
Prune = Literal["estimate", "upper"]
# At the ends of a row what a narrow terminal must show: DuckDB leaves out columns from the middle.
RESULTS = (
    Result("antecedent", "VARCHAR[]", "the items that a basket holds"),
    Result("consequent", "VARCHAR[]", "the items that it then holds too"),
    Result(
        "support",
        "DOUBLE",
        "the share of baskets that hold all items of both, before randomization",
    ),
    Result("support_lower", "DOUBLE", "the lower end of the range of the support"),
    Result("support_upper", "DOUBLE", "the upper end of it"),
    Result("confidence_lower", "DOUBLE", "the lower end of the range of the confidence"),
    Result("confidence_upper", "DOUBLE", "the upper end of it"),
    Result(
        "confidence", "DOUBLE", "the share of the antecedent's baskets that hold the consequent"
    ),
    Result(
        "verdict",
        "VARCHAR",
        "frequent, possible or no: whether lower or upper ends reach both limits",
    ),
)
_NUMBERS = tuple(each.name for each in RESULTS if each.type == "DOUBLE")


@parameters
class RrRulesCall(RulesCall):
    tbl: str = TBL
    prune: Prune = parameter(
        arguments.choice("estimate", "upper"),
        "a set is looked at if all its parts reach min_support: by their estimates, or by the upper ends of their "
        "ranges",
        "estimate",
        last=True,
    )


@frozen
class RrRulesSpec(RulesSpec):
    prune: Prune


def plan(catalog: Catalog, call: RrRulesCall) -> sql.Expr:
    release = read_release(NAME, catalog, call.tbl, call.columns, call.words)
    baskets.refuse_other_than_bits(release)
    statement = sql.Statement()
    baskets.release_steps(statement, release, "_pp_release")
    spec = RrRulesSpec(
        NAME, release.source.label, baskets.items_of(release), call.limits, call.prune
    )
    rules = SOLVE.in_sql(spec, baskets.told_of("_pp_release"))
    solved = sql.query([sql.named(rules, "_pp_rules")], sql.table("_pp_release"))
    statement.step("_pp_solved", solved, materialized=False)
    return statement.query(each_row("_pp_solved", "_pp_rules"))


def solve(spec: RrRulesSpec, told: BasketPatterns) -> list[dict[str, Any]]:
    release = baskets.before_randomization(spec, baskets.read(spec, spec.table, told))
    names = [item.name for item in spec.items]
    return [
        {
            "antecedent": [names[item] for item in rule.antecedent],
            "consequent": [names[item] for item in rule.consequent],
            **{name: _known(getattr(rule, name)) for name in _NUMBERS},
            "verdict": rule.verdict(spec.limits),
        }
        for rule in baskets.rules_of(spec, release, spec.prune)
    ]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


SOLVE = told_udf("ppduck_rr_rules", solve, RrRulesSpec, BasketPatterns, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        RrRulesCall,
        plan,
        "Association rules of randomized baskets: support and confidence with ranges, and what they allow to say.",
        "Guo (2010), sections 3.2.2 and 3.2.3; Rizvi & Haritsa (2002), VLDB",
        kind=Kind.ESTIMATOR,
        results=RESULTS,
        example="FROM rr_rules('baskets_rr', ['bread','butter','jam'], min_support=0.2, min_confidence=0.6)",
        udfs=(SOLVE,),
    )
)
