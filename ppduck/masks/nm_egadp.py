"""NM-EGADP: relationship-based masking, for relations of any shape that S determines.

û = E(X|S) is learnt by LS-SVM; X is then refitted by least squares on [1, S, û], so that u = S·B + û·C and r = X - u
are orthogonal exactly. e = b Σb^-½ Σr^½, with b the residual of normal noise regressed on [1, S, û, X] and on products
of û and X, but for those of which a single row makes up much. Method 1: Y = u + e. Method 2: X shuffled by Y. Method 3:
Y = u + (r shuffled by e). Method 4: X shuffled by the Y of method 3. (Al-Ahmadi 2006, section IV.1 and Appendix C.)

With the refit method 1 keeps means and covariances of [S, X] exactly, as EGADP does, and the shape of E(X|S) too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.linear_mask import LinearMask, Request, TermPlaces
from ppduck.call.numeric_mask import NumericCall, PerColumn, check_columns
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels.linear import Blocks, LinearForm, independent, regress, scaled_noise
from ppduck.libraries import linalg
from ppduck.masks._explain_relation import UDF as ASSUMPTIONS
from ppduck.masks._explain_relation import explained
from ppduck.masks._regression import refuse_ill_conditioned, refuse_inexact
from ppduck.masks._relation_promises import ADVISED, KEEPS, LOSES, permutes
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.runtime.relation import EVALUATE, LEARN
from ppduck.runtime.security import LEARNT
from ppduck.stages.linear import linear_mask
from ppduck.stages.look import look, specification
from ppduck.stages.masking import KEY, ROW, Masking
from ppduck.stages.moments import Measured
from ppduck.stages.narrow_table import MASKED, NARROW, masked, masked_name, original_name
from ppduck.stages.noise import noisy
from ppduck.stages.plan import Plan, Sorted, Stage
from ppduck.stages.projection import joined_back
from ppduck.stages.relation import Relation
from ppduck.stages.solve import column_figures, outputs, solving
from ppduck.stages.source import source
from ppduck.values import Array

# û and products of it that add less to what the form has already are left out: they would only cost digits.
ADDS_LITTLE = 1e-4
ADDS_NOTHING = 1e-8  # noise is to be orthogonal to every û all the same
ROWS_A_PRODUCT = 10
STRETCH, RESIDUALS = "_pp_stretch", "_pp_residuals"


@arguments.reader(
    "1 (perturb), 2 (shuffle the values), 3 (shuffle the residuals) or 4 (shuffle both)"
)
def _variant(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 4:
        raise MisreadError
    return int(value)


EXTRA_NOISE = parameter(
    arguments.per_column(arguments.number(Range(0, 1e3))),
    "more noise than the residuals have, as a share of the column's variance; one number or {column: number}",
    None,
)


@parameters
class MethodCall(NumericCall):
    variant: int = parameter(_variant, "1 perturb, 2 shuffle, 3 residuals shuffled, 4 both", 1)
    extra_noise: PerColumn | None = EXTRA_NOISE


def check_extra_noise(call: MethodCall, conf: list[str]) -> list[str]:
    return check_columns("extra_noise", call.extra_noise, conf)


def solve(blocks: Blocks, request: Request) -> LinearForm:
    p, q, places = blocks.p, blocks.q, request.places
    own = places.own
    explaining, coefficients, residual = refit(blocks, places)
    _refuse_few(request, blocks, len(explaining))
    cov, x, v = blocks.cov, list(range(p, p + q)), list(range(p + q, p + 2 * q))
    fitted = np.zeros((p + q, q))
    fitted[explaining] = coefficients
    _refuse_inexact(request, cov, own, explaining, fitted, x)
    _refuse_determined(request, residual)
    extra = request.per_column(request.call.extra_noise or 0.0)

    learnt = _learnt(blocks, places)
    fitted_by = [places.fitted[j] for j in learnt if places.fitted[j] not in explaining]
    free_of = adding(cov, [*explaining, *x], fitted_by, ADDS_NOTHING)
    if blocks.n >= ROWS_A_PRODUCT * (len(free_of) + 3 * q):
        free_of = adding(
            cov,
            free_of,
            [
                product
                for j, (of_u, of_both, of_x) in enumerate(places.products)
                for product in ((of_u, of_both, of_x) if j in learnt else (of_x,))
                if product not in request.heavy
            ],
        )
    on_regressors = np.zeros((p + q, q))
    on_regressors[free_of] = regress(cov[np.ix_(free_of, free_of)], cov[np.ix_(free_of, v)])
    _refuse_inexact(request, cov, own, free_of, on_regressors, v)
    noise = cov[np.ix_(v, v)] - cov[: p + q, v].T @ on_regressors
    scaling = scaled_noise(residual + np.diag(extra), (noise + noise.T) / 2)
    on_terms = fitted - on_regressors @ scaling
    refuse_ill_conditioned(request, on_terms)
    masked = blocks.form(on_terms[:p], on_terms[p:], scaling)
    mean = blocks.form(fitted[:p], fitted[p:], np.zeros((q, q)))
    return LinearForm(
        *(
            np.concatenate([a, b], axis=-1)
            for a, b in zip(_parts(masked), _parts(mean), strict=True)
        )
    )


def _refuse_inexact(
    request: Request, cov: Array, own: int, used: list[int], coefficients: Array, of: list[int]
) -> None:
    """The normal equations must hold for every column of S, also for one that was taken for a combination of others."""
    rows = [*range(own), *(i for i in used if i >= own)]
    refuse_inexact(request, cov[np.ix_(rows, rows)], coefficients[rows], cov[np.ix_(rows, of)])


def refit(blocks: Blocks, places: TermPlaces) -> tuple[list[int], Array, Array]:
    """X on [S, û] by least squares: the columns used, their coefficients, and Σr.

    Every column of S is kept, so that covariances with all of them come out.
    """
    p, q, cov, own = blocks.p, blocks.q, blocks.cov, places.own
    fitted = [places.fitted[j] for j in _learnt(blocks, places)]
    explaining = adding(cov, independent(cov[:own, :own]), fitted)
    x = list(range(p, p + q))
    coefficients = regress(cov[np.ix_(explaining, explaining)], cov[np.ix_(explaining, x)])
    residual = blocks.xx - cov[np.ix_(explaining, x)].T @ coefficients
    return explaining, coefficients, (residual + residual.T) / 2


def explaining(blocks: Blocks, places: TermPlaces) -> list[int]:
    return refit(blocks, places)[0]


def _learnt(blocks: Blocks, places: TermPlaces) -> list[int]:
    """The conf columns of which anything was learnt: a û that hardly varies is rounding error."""
    ratio = blocks.scale[list(places.fitted)] / blocks.x_scale
    return [j for j, share in enumerate(ratio) if share > 1e-6]


def adding(cov: Array, have: list[int], more: list[int], least: float = ADDS_LITTLE) -> list[int]:
    """``have``, and of ``more`` the columns that are no combination of it and of each other."""
    if not more:
        return have
    inside = np.ix_(have, more)
    left = cov[np.ix_(more, more)] - cov[inside].T @ regress(cov[np.ix_(have, have)], cov[inside])
    _, pivots, rank, _ = linalg.lapack.dpstrf((left + left.T) / 2, tol=least, lower=1)
    return [*have, *sorted(more[pivot - 1] for pivot in pivots[:rank])]


def _parts(form: LinearForm) -> tuple[Array, Array, Array, Array]:
    return form.intercept, form.on_s, form.on_x, form.on_v


def _refuse_few(request: Request, blocks: Blocks, explaining: int) -> None:
    """Noise needs q directions of its own beside the constant, S, û and X."""
    needed = explaining + 2 * blocks.q + 2
    if blocks.n < needed:
        raise request.refuse(
            f"{blocks.n} rows{request.where} are too few; at least {needed} are needed (p + 3q + 2 with p independent "
            f"nonconf columns and q = {blocks.q} conf columns). Name fewer columns in nonconf or conf"
            + (", or merge small groups." if request.group else ".")
        )


def _refuse_determined(request: Request, residual: Array) -> None:
    faults = request.faults()
    for name, share in zip(request.conf, np.diag(residual), strict=True):
        if share < LEARNT:
            faults.add(
                f"conf column {quoted(name)} is a function of the nonconf columns{request.where}, so its masked values "
                "would be the originals; leave the columns that determine it out of nonconf and drop them."
            )
    faults.raise_if_any()


def stages(masking: Masking) -> Plan:
    """The form gives Y = u + e and, beside it, u; shuffling comes after."""
    call = masking.call
    assert isinstance(call, MethodCall)
    extra = call.extra_noise
    if not any(extra.values() if isinstance(extra, dict) else [extra]):
        masking = replace(masking, call=replace(call, extra_noise=None))
    return _Method(masking).plan()


@frozen
class _Method:
    masking: Masking

    @property
    def call(self) -> MethodCall:
        call = self.masking.call
        assert isinstance(call, MethodCall)
        return call

    @cached_property
    def relation(self) -> Relation:
        return Relation(self.masking)

    @cached_property
    def measured(self) -> Measured:
        mask = self.masking.mask
        assert isinstance(mask, LinearMask)
        return Measured(self.masking, self.relation.terms, NARROW, True, mask.weighs_x(self.call))

    def plan(self) -> Plan:
        masking, relation, terms = self.masking, self.relation, self.relation.terms
        count = 2 * masking.q
        form = outputs(self.measured, count, relation.x_terms())
        made = [
            source(masking, numbered=True),
            *look(masking, terms, column_figures(masking)),
            relation.training(),
            relation.models(),
            relation.narrow(),
            noisy(masking, NARROW, kept=True),
            *solving(self.measured, specification(masking, terms), count),
            masked(self.measured, form[: masking.q], count, self._residuals(form)),
            *(self._residual_stages() if self._of_residuals else ()),
        ]
        return Plan(tuple(made), joined_back(masking, self._results()))

    @property
    def _of_residuals(self) -> bool:
        return self.call.variant in (3, 4)

    def _residuals(self, form: Sequence[sql.Expr]) -> list[sql.Expr]:
        """u, r = X - u and e, which are shuffled."""
        if not self._of_residuals:
            return []
        found: list[sql.Expr] = []
        for j, column in enumerate(self.masking.roles.conf):
            value, fitted, made = sql.column(column.name), form[self.masking.q + j], form[j]
            present = value.copy().is_(exp.null()).not_()
            residual = sql.minus(sql.double(value), sql.paren(fitted.copy()))
            noise = sql.cases((present, sql.minus(made.copy(), sql.paren(fitted.copy()))))
            found += [
                sql.named(fitted, f"_pp_u{j}"),
                sql.named(residual, f"_pp_r{j}"),
                sql.named(noise, f"_pp_e{j}"),
            ]
        return found

    def _residual_stages(self) -> list[Stage]:
        """Y = u + (r shuffled by e)"""
        masking = self.masking
        names = [masked_name(j) for j in range(masking.q)]
        stretched = bool(self.call.extra_noise)
        found: list[Stage] = [self._stretch()] if stretched else []
        rows, columns = sql.table(MASKED), [sql.star(MASKED, names)]
        if stretched:
            rows = rows.matched(sql.table(STRETCH), masking.to_rows(MASKED, STRETCH))
        for j, name in enumerate(names):
            shuffled = f"_pp_shuffled{j}"
            found.append(Sorted(shuffled, True, self._shuffled(MASKED, f"_pp_r{j}", f"_pp_e{j}")))
            rows = rows.join(
                sql.table(shuffled), sql.equal(sql.column(ROW, shuffled), sql.column(ROW, MASKED))
            )
            residual = sql.column(ranks.VALUE, shuffled)
            if stretched:
                residual = sql.product(residual, sql.column(f"_pp_more{j}", STRETCH))
            columns.append(sql.named(sql.total([sql.column(f"_pp_u{j}", MASKED), residual]), name))
        return [*found, Sorted(RESIDUALS, True, sql.query(columns, rows))]

    def _stretch(self) -> Sorted:
        """How much more spread e has than r, to which r is stretched."""
        groups = self.masking.groups
        columns = [sql.named(value, alias) for alias, value in groups]
        for j in range(self.masking.q):
            spreads = [sql.call("stddev_pop", sql.column(f"_pp_{of}{j}")) for of in ("e", "r")]
            more = exp.Div(this=spreads[0], expression=spreads[1])
            columns.append(sql.named(more, f"_pp_more{j}"))
        made = sql.query(columns, sql.table(MASKED), group=[value.copy() for _, value in groups])
        return Sorted(STRETCH, True, made)

    def _shuffled(self, table: str, value: str, along: str) -> sql.Expr:
        return ranks.shuffled(table, self.masking.roles.strata, value, along, KEY)

    def _results(self) -> list[tuple[sql.Expr | str, str]]:
        table = RESIDUALS if self._of_residuals else MASKED
        if self.call.variant in (1, 3):
            return [(table, masked_name(j)) for j in range(self.masking.q)]
        return [
            (self._shuffled(table, original_name(j), masked_name(j)), ranks.VALUE)
            for j in range(self.masking.q)
        ]


MASK = linear_mask(
    "nm_egadp_mask",
    MethodCall,
    solve=solve,
    summary="Keeps relations of any shape with nonconf, ups and downs too; with variant 1 also exact moments.",
    reference="Al-Ahmadi 2006, relationship-based masking, methods 1-4; Suykens & Vandewalle 1999 (LS-SVM)",
    keeps=KEEPS,
    loses=LOSES,
    check=check_extra_noise,
    stages=stages,
    udfs=(LEARN, EVALUATE, ASSUMPTIONS),
    explain=explained,
    explaining=explaining,
    remedy="extra_noise, or fewer columns in nonconf",
    weighs_x=lambda call: "none" if permutes(call) else "all",
    advised=ADVISED,
    example="FROM nm_egadp_mask('customers', conf=['x1'], nonconf=['s1'], variant=1, key='id')",
)
register(MASK)
