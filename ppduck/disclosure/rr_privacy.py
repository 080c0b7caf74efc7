"""rr_privacy(): what a design protects, before anything is published.

For every column, and for all of them together: ε = ln max P[i, j]/P[i, k] of local differential
privacy, the amplification γ = e^ε and the posterior that it allows for a prior ρ1 (Evfimievski,
Gehrke & Srikant 2003), jeopardy (Leysieffer & Warner 1976), the reconstruction probability of MASK
(Rizvi & Haritsa 2002), and the condition number that utility depends on (Agrawal & Haritsa 2005).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Call, ColumnNames, MisreadError, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import (
    MATRIX,
    MOST_LEVELS,
    Matrix,
    P,
    Probability,
    by_folded_name,
    is_stochastic,
)
from ppduck.errors import Faults, listed, quoted
from ppduck.estimators.design_source import design_of
from ppduck.kernels.distortion import uniform
from ppduck.kernels.privacy import Privacy, privacy_of
from ppduck.query import tree as sql
from ppduck.values import Array, folded

NAME = "rr_privacy"
RESULTS = (
    Result("attribute", "VARCHAR", "the column, or (all) for all of them together"),
    Result("measure", "VARCHAR", "the name of the measure, such as epsilon"),
    Result("value", "DOUBLE", "its value"),
    Result("meaning", "VARCHAR", "what it says, and which way it is good"),
)
ALL = "(all)"  # no plain name of a column
_MOST_TOGETHER = 1024  # combinations of levels for which the columns are looked at as one
# As in the plain macro of the same name.
_MEANINGS = {
    "keep": "The largest probability with which a level is published unchanged: high is bad for privacy.",
    "gamma": (
        "The most that one published value can shift the odds between two true values: high is bad for "
        "privacy, 1 is best."
    ),
    "epsilon": "The local differential privacy budget, the logarithm of gamma: high is bad for privacy, 0 is best.",
    "jeopardy": (
        "The largest ratio of the chances of an answer from holders and from others: high is bad for "
        "the respondent, 1 is best."
    ),
    "posterior_upper": (
        "The most that a belief of rho1 can rise to after publication: far above rho1 is bad for privacy."
    ),
    "posterior_lower": (
        "The least that a belief of rho1 can fall to after publication: far below rho1 is bad for privacy."
    ),
    "reconstruction": (
        "The chance of drawing the true value back from the published one, levels equally common: "
        "high is bad for privacy."
    ),
    "mask_privacy": "The share of values that are not reconstructed so: high is good for privacy.",
    "condition": "How much estimates from the release magnify sampling error: high is bad for accuracy, 1 is best.",
}


_SIZES = arguments.per_column(arguments.whole(2, MOST_LEVELS))
_SHARE = arguments.number(Range(0, 1))
_BELIEF = arguments.number(Range(0, 1, above=True, below=True))


@arguments.reader(
    "{'column': [0.2, 0.8]}, shares of the levels that sum to 1", columns=ColumnNames.KEYED
)
def _shares(value: Any) -> dict[str, list[float]]:
    if not isinstance(value, Mapping) or not all(
        isinstance(shares, list) for shares in value.values()
    ):
        raise MisreadError
    return {str(name): [float(_SHARE(share)) for share in shares] for name, shares in value.items()}


@parameters
class RrPrivacyCall(Call):
    p: Probability | None = P
    levels: int | Mapping[str, int] | None = parameter(
        _SIZES, "the number of levels, one number or {'column': 3}; p needs it", None
    )
    rho1: float = parameter(_BELIEF, "a prior belief", 0.05)
    matrix: Mapping[str, Matrix] | None = MATRIX
    prior: Mapping[str, list[float]] | None = parameter(
        _shares, "{'column': [0.2, 0.8]}: shares of the levels, else all the same", None
    )
    tbl: str | None = parameter(
        arguments.words,
        "a view over rr_mask or pram_mask, to read its design, in place of p or matrix",
        None,
    )


def plan(catalog: Catalog, call: RrPrivacyCall) -> sql.Expr:
    faults = Faults(NAME)
    matrices = _by_hand(call, faults) if call.tbl is None else _of_view(catalog, call.tbl, call)
    faults.raise_if_any()
    priors = _priors(call.prior or {}, matrices, faults)
    faults.raise_if_any()
    found = {name: privacy_of(matrix, priors[name]) for name, matrix in matrices.items()}
    rows = [row for name, privacy in found.items() for row in _rows(name, privacy, call.rho1)]
    if len(found) > 1:
        together = reduce(Privacy.times, found.values())
        if math.prod(map(len, matrices.values())) <= _MOST_TOGETHER:
            together = privacy_of(_kron(matrices.values()), _kron(priors.values()))
        rows += _rows(ALL, together, call.rho1)
    tuples = [
        exp.Tuple(
            expressions=[sql.text(attribute), sql.text(measure), _number(value), sql.text(meaning)]
        )
        for attribute, measure, value, meaning in rows
    ]
    names = exp.TableAlias(
        this=sql.name("_pp_known"), columns=[sql.name(each.name) for each in RESULTS]
    )
    return sql.query([exp.Star()], sql.Rows(exp.Values(expressions=tuples, alias=names)))


def _kron(factors: Iterable[Array]) -> Array:
    return reduce(lambda one, two: np.asarray(np.kron(one, two)), factors)


def _of_view(catalog: Catalog, tbl: str, call: RrPrivacyCall) -> dict[str, Array]:
    also = [name for name in ("p", "matrix", "levels") if getattr(call, name) is not None]
    if also:
        raise Faults(NAME, tbl).refuse(f"tbl tells the design; leave {listed(also)} out.")
    attributes = design_of(NAME, catalog, tbl)
    return {a.name: a.matrix(len(a.levels or ())) for a in attributes}


def _by_hand(call: RrPrivacyCall, faults: Faults) -> dict[str, Array]:
    matrices: dict[str, Array] = {}
    for name, rows in (call.matrix or {}).items():
        if is_stochastic(name, rows, None, faults.add):
            matrices[name] = np.array(rows)
    ps = call.p if isinstance(call.p, Mapping) else {} if call.p is None else {"1": call.p}
    both = by_folded_name(ps).keys() & by_folded_name(matrices).keys()
    for name, keep in ps.items():
        if folded(name) in both:
            faults.add(f"column {quoted(name)} has both p and matrix; give one of them.")
        size = _size(call.levels, name)
        if size is None:
            faults.add(
                f"levels is missing for column {quoted(name)}; give the number of its levels."
            )
        else:
            matrices[name] = uniform(keep, size)
    if not ps and not call.matrix:
        faults.add(
            "give p and levels, or matrix, or tbl := a view over rr_mask, such as rr_privacy(p=0.8, levels=3)."
        )
    return matrices


def _size(sizes: int | Mapping[str, int] | None, name: str) -> int | None:
    return by_folded_name(sizes).get(folded(name)) if isinstance(sizes, Mapping) else sizes


def _priors(
    given: Mapping[str, list[float]], matrices: Mapping[str, Array], faults: Faults
) -> dict[str, Array]:
    """The shares of each column's levels as given, else all the same."""
    named = by_folded_name(given)
    for name in named.keys() - {folded(name) for name in matrices}:
        faults.add(f"prior names column {quoted(name)}, which the call is not about.")
    found = {}
    for name, matrix in matrices.items():
        size = len(matrix)
        shares = named.get(folded(name), [1.0 / size] * size)
        if len(shares) != size or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
            faults.add(f"prior of column {quoted(name)} must be {size} shares that sum to 1.")
        found[name] = np.array(shares)
    return found


def _rows(name: str, privacy: Privacy, rho1: float) -> Sequence[tuple[str, str, float, str]]:
    values = (
        privacy.keep,
        privacy.gamma,
        privacy.epsilon,
        privacy.jeopardy,
        privacy.posterior_upper(rho1),
        privacy.posterior_lower(rho1),
        privacy.reconstruction,
        privacy.mask_privacy,
        privacy.condition,
    )
    rows = [
        (name, measure, value, text)
        for (measure, text), value in zip(_MEANINGS.items(), values, strict=True)
    ]
    return [row for row in rows if not math.isnan(row[2])]


def _number(value: float) -> sql.Expr:
    return sql.double(sql.text("inf" if math.isinf(value) else repr(float(value))))


FUNCTION = register(
    Function(
        NAME,
        RrPrivacyCall,
        plan,
        "What a design protects: epsilon, amplification, posterior bounds, reconstruction probability, per column.",
        "Evfimievski, Gehrke & Srikant (2003), PODS; Leysieffer & Warner (1976), JASA 71; Rizvi & Haritsa (2002), VLDB",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM rr_privacy(p={'gender': 0.9, 'disease': 0.8}, levels={'gender': 2, 'disease': 3})",
    )
)
