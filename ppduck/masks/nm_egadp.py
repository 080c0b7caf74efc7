"""NM-EGADP: relationship-based masking, for relations of any shape that S determines.

û = E(X|S) is learnt by LS-SVM; X is then refitted by least squares on [1, S, û], so that u = S·B + û·C and r = X - u
are orthogonal exactly. e = b Σb^-½ Σr^½, with b the residual of normal noise regressed on [1, S, û, X] and on products
of û and X, but for those of which a single row makes up much. Method 1: Y = u + e. Method 2: X shuffled by Y. Method 3:
Y = u + (r shuffled by e). Method 4: X shuffled by the Y of method 3. (000, section IV.1 and Appendix C.)

With the refit method 1 keeps means and covariances of [S, X] exactly, as EGADP does, and the shape of E(X|S) too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.linear_mask import Request
from ppduck.call.parameters import MisreadError, Parameter
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.errors import quoted
from ppduck.kernels.linear import Blocks, LinearForm, independent, regress, scaled_noise
from ppduck.libraries import linalg
from ppduck.masks._level import check_columns
from ppduck.masks._promises import EXTREMES, MANY_RELEASES, REPEATED, SHAPE, SMALL, UNUSED, VALUES_RELEASED
from ppduck.masks._regression import refuse_ill_conditioned, refuse_inexact
from ppduck.masks._security import LEARNT
from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages.frame import linear_mask
from ppduck.stages.relation import UDFS, RelationFrame
from ppduck.values import Array

# û and products of it that add less to what the form has already are left out: they would only cost digits.
ADDS_LITTLE = 1e-4
ADDS_NOTHING = 1e-8  # noise is to be orthogonal to every û all the same
ROWS_A_PRODUCT = 10


def solve(blocks: Blocks, request: Request) -> LinearForm:
    p, q, own = blocks.p, blocks.q, blocks.p - 4 * blocks.q
    explaining, coefficients, residual = refit(blocks, own)
    _refuse_few(request, blocks, len(explaining))
    cov, x, v = blocks.cov, list(range(p, p + q)), list(range(p + q, p + 2 * q))
    fitted = np.zeros((p + q, q))
    fitted[explaining] = coefficients
    _refuse_inexact(request, cov, own, explaining, fitted, x)
    _refuse_determined(request, residual)
    extra = request.per_column("extra_noise") if "extra_noise" in request.parameters else np.zeros(q)

    learnt = _learnt(blocks, own)
    free_of = adding(cov, [*explaining, *x], [own + j for j in learnt if own + j not in explaining], ADDS_NOTHING)
    if blocks.n >= ROWS_A_PRODUCT * (len(free_of) + 3 * q):
        free_of = adding(
            cov,
            free_of,
            [
                product
                for j in range(q)
                for k, product in enumerate(range(own + q + 3 * j, own + q + 3 * j + 3))
                if (k == 2 or j in learnt) and product not in request.heavy
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
    return LinearForm(*(np.concatenate([a, b], axis=-1) for a, b in zip(_parts(masked), _parts(mean), strict=True)))


def _refuse_inexact(
    request: Request, cov: Array, own: int, used: list[int], coefficients: Array, of: list[int]
) -> None:
    """The normal equations must hold for every column of S, also for one that was taken for a combination of others."""
    rows = [*range(own), *(i for i in used if i >= own)]
    refuse_inexact(request, cov[np.ix_(rows, rows)], coefficients[rows], cov[np.ix_(rows, of)])


def refit(blocks: Blocks, own: int) -> tuple[list[int], Array, Array]:
    """X on [S, û] by least squares: the columns used, their coefficients, and Σr.

    ``own`` columns are S, of which every one is kept, so that covariances with all of them come out.
    """
    p, q, cov = blocks.p, blocks.q, blocks.cov
    explaining = adding(cov, independent(cov[:own, :own]), [own + j for j in _learnt(blocks, own)])
    x = list(range(p, p + q))
    coefficients = regress(cov[np.ix_(explaining, explaining)], cov[np.ix_(explaining, x)])
    residual = blocks.xx - cov[np.ix_(explaining, x)].T @ coefficients
    return explaining, coefficients, (residual + residual.T) / 2


def explaining(blocks: Blocks) -> list[int]:
    return refit(blocks, blocks.p - 4 * blocks.q)[0]


def _learnt(blocks: Blocks, own: int) -> list[int]:
    """The conf columns of which anything was learnt: a û that hardly varies is rounding error."""
    ratio = blocks.scale[own : own + blocks.q] / blocks.x_scale
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


class MethodFrame(RelationFrame):
    """The form gives Y = u + e and, beside it, u; shuffling comes after."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        extra = self.given.get("extra_noise")
        if not any(extra.values() if isinstance(extra, dict) else [extra]):
            self.given = {name: value for name, value in self.given.items() if name != "extra_noise"}
        self.outputs = 2 * self.q
        self.variant = self.given.get("variant", 1)

    def masking(self) -> sql.Statement:
        statement = super().masking()
        if self.variant not in (3, 4):
            return statement
        # Y = u + (r shuffled by e)
        tables, columns = ['"_pp_masked"'], [sql.star("_pp_masked", self.masked)]
        if self.given.get("extra_noise"):
            tables = [self._stretching(statement)]
        for j, name in enumerate(self.masked):
            alias = f"_pp_e{j}"
            statement.step(alias, self._shuffled("_pp_masked", f"_pp_r{j}", f"_pp_e{j}"), materialized=True)
            tables.append(f'JOIN "{alias}" USING ("{ranks.ROW}")')
            residual = sql.column(ranks.OUT, alias)
            if self.given.get("extra_noise"):
                residual = sql.product(residual, sql.column(f"_pp_q{j}"))
            columns.append(sql.named(sql.total([sql.column(f"_pp_u{j}", "_pp_masked"), residual]), name))
        statement.step("_pp_residual", sql.select(columns, " ".join(tables)), materialized=True)
        return statement

    def _stretching(self, statement: sql.Statement) -> str:
        """The masked rows beside how much more spread e has than r, to which r is stretched."""
        group = [sql.column(name) for name in self.roles.strata]
        columns = [sql.named(each.copy(), f"_pp_g{i}") for i, each in enumerate(group)]
        for j in range(self.q):
            more = sql.raw(f'stddev_pop("_pp_e{j}") / stddev_pop("_pp_r{j}")')
            columns.append(sql.named(more, f"_pp_q{j}"))
        statement.step("_pp_stretch", sql.select(columns, '"_pp_masked"', group=group), materialized=True)
        on = [(sql.column(name, "_pp_masked"), sql.column(f"_pp_g{i}")) for i, name in enumerate(self.roles.strata)]
        return sql.joined('"_pp_masked"', '"_pp_stretch"', on)

    def _shuffled(self, table: str, value: str, along: str) -> str:
        return ranks.shuffled(table, self.roles.strata, value, along, "_pp_key")

    def _beside(self) -> list[sql.Expr]:
        if self.variant < 3:
            return []
        found: list[sql.Expr] = []
        outputs = self._outputs()
        for j, column in enumerate(self.roles.conf):
            value, fitted, masked = sql.column(column.name), outputs[self.q + j], outputs[j]
            present = value.copy().is_(exp.null()).not_()
            residual = sql.minus(sql.double(value), exp.paren(fitted.copy()))
            noise = exp.Case().when(present, sql.minus(masked.copy(), exp.paren(fitted.copy())))
            found += [sql.named(fitted, f"_pp_u{j}"), sql.named(residual, f"_pp_r{j}"), sql.named(noise, f"_pp_e{j}")]
        return found

    def _results(self) -> list[tuple[str, sql.Expr]]:
        table = "_pp_residual" if self.variant in (3, 4) else "_pp_masked"
        if self.variant in (1, 3):
            return [(f'"{table}"', sql.column(name)) for name in self.masked]
        return [
            (f"({self._shuffled(table, f'_pp_x{j}', name)})", sql.column(ranks.OUT))
            for j, name in enumerate(self.masked)
        ]


@arguments.reader("1 (perturb), 2 (shuffle the values), 3 (shuffle the residuals) or 4 (shuffle both)")
def _variant(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 4:
        raise MisreadError
    return int(value)


def check_extra_noise(given: dict[str, Any], conf: list[str]) -> list[str]:
    return check_columns("extra_noise", given.get("extra_noise"), conf)


EXTRA_NOISE = Parameter(
    "extra_noise",
    arguments.per_column(arguments.number(Range(0, 1e3))),
    "more noise than the residuals have, as a share of the column's variance; one number or {column: number}",
    "NULL",
)
MASK = linear_mask(
    "nm_egadp_mask",
    solve=solve,
    summary="Keeps relations of any shape with nonconf, ups and downs too; with variant 1 also exact moments.",
    reference="Al-Ahmadi 2006, relationship-based masking, methods 1-4; Suykens & Vandewalle 1999 (LS-SVM)",
    keeps=(
        "the conditional means of conf given nonconf, whatever their shape, as far as a kernel model learns them",
        "with variant 1, and no extra_noise: means, variances and covariances exactly, over the rows where every "
        "conf column is present",
        "with variants 2 and 4: every conf column has exactly its original values, reordered",
        "given nonconf and its best prediction, the masked values of variant 1 tell nothing more about conf by any "
        "linear prediction",
    ),
    loses=(
        "with variants 2, 3 and 4, exact covariances: shuffling moves them",
        "with variants 2 and 4, the strength of relations of skewed columns and of those with many equal values: "
        "shuffling keeps the order that was learnt, not the distances",
        "with variants 3 and 4, secrecy where most residuals are alike and few are large: most values then come out "
        "near themselves, which correlations, by which nearness is judged, do not show",
        VALUES_RELEASED,
        f"with variants 1 and 3, {EXTREMES}",
        SHAPE,
        SMALL,
        REPEATED,
        "patterns among the residuals that are not linear, and residuals that vary more in places: all get the "
        "same noise",
        "relations with several values of conf for one of nonconf, such as a circle: only their mean is learnt",
        "secrecy where nonconf predicts conf well: see security_index()",
        UNUSED,
        MANY_RELEASES,
    ),
    parameters=(
        Parameter("variant", _variant, "1 perturb, 2 shuffle, 3 residuals shuffled, 4 both", "1"),
        EXTRA_NOISE,
    ),
    check=check_extra_noise,
    frame=MethodFrame,
    udfs=UDFS,
    permutes=lambda given: given.get("variant", 1) in (2, 4),
    explaining=explaining,
    remedy="extra_noise, or fewer columns in nonconf",
    weighs_x=lambda given: "none" if given.get("variant", 1) in (2, 4) else "all",
    exact=lambda given: given.get("variant", 1) == 1 and "extra_noise" not in given,
)
register(MASK)
