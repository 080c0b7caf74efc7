"""rr_rules(): association rules of the baskets before randomization, with ranges and a verdict.

Support ŝ = π̂_{1…1} with a normal range (Guo 2010, Result 1); confidence ĉ = ŝ_XY/ŝ_X with a range
about its expectation (3.4) from its variance (3.5) (Results 2 and 3), all inside [0, 1]. Candidates are
pruned by estimates, as the source does: a set is looked at if every part of it has an estimated support of
min_support or more, and listed if its own range reaches it; prune := 'upper' prunes by the upper ends of the
ranges instead, so that no set is lost that could be frequent. 'frequent': even the lower ends reach both limits,
which is sure at the confidence of the ranges; 'possible': the upper ends do; 'no': they do not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ppduck.association import baskets
from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import MATRIX, DesignWords, P
from ppduck.estimators.cells import TBL
from ppduck.estimators.design_source import read_release
from ppduck.query import tree as sql

NAME = "rr_rules"
SOLVE = "ppduck_rr_rules"
# At the ends of a row what a narrow terminal must show: DuckDB leaves out columns from the middle.
_NUMBERS = ("support", "support_lower", "support_upper", "confidence_lower", "confidence_upper", "confidence")
_ROW = (
    "STRUCT(antecedent VARCHAR[], consequent VARCHAR[], "
    + ", ".join(f"{name} DOUBLE" for name in _NUMBERS)
    + ", verdict VARCHAR)"
)
PRUNE = Parameter(
    "prune",
    arguments.choice("estimate", "upper"),
    "a set is looked at if all its parts reach min_support: by their estimates, or by the upper ends of their ranges",
    "'estimate'",
)
SOLVE_TYPES = (["VARCHAR", *baskets.SIDE], f"{_ROW}[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    published = read_release(NAME, catalog, given["tbl"], given["columns"], DesignWords.of(given))
    baskets.refuse_other_than_bits(published)
    statement = sql.Statement()
    baskets.published_baskets(statement, published)
    own = {PRUNE.name: given[PRUNE.name]} if PRUNE.name in given else {}
    spec = sql.text(json.dumps(baskets.specification(published, given) | own))
    answer = sql.call("unnest", sql.call(SOLVE, spec, *baskets.arguments_of("_pp_baskets")))
    rows = sql.select([sql.named(answer, "_pp_row")], '"_pp_baskets"')
    return statement.finish(f'SELECT unnest("_pp_row") FROM ({rows})')


def solve(specification: str, words: Sequence[Sequence[int | None]], counts: Sequence[int]) -> list[dict[str, Any]]:
    spec = json.loads(specification)
    published = baskets.randomized(spec, baskets.read(spec, spec["table"], words, counts))
    names, limits = spec["columns"], baskets.limits(spec)
    return [
        {
            "antecedent": [names[item] for item in rule.antecedent],
            "consequent": [names[item] for item in rule.consequent],
            **{name: None if math.isnan(getattr(rule, name)) else getattr(rule, name) for name in _NUMBERS},
            "verdict": rule.verdict(limits),
        }
        for rule in baskets.rules_of(spec, published, spec.get("prune", "estimate"))
    ]


FUNCTION = register(
    Function(
        NAME,
        (TBL, baskets.COLUMNS, *baskets.LEAST, P, MATRIX, *baskets.RANGES, PRUNE),
        plan,
        "Association rules of randomized baskets: support and confidence with ranges, and what they allow to say.",
        "Guo (2010), sections 3.2.2 and 3.2.3; Rizvi & Haritsa (2002), VLDB",
        udfs=(Udf(SOLVE, solve, *SOLVE_TYPES, by="values"),),
    )
)
