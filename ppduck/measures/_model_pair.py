"""Models of one column by others, fitted on the original and on its release, and compared at the original's rows.

Linear models come from the moments of all pairs, the LS-SVM from the rows of a sample. Columns stand as numbers first,
then inputs, on either side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels.equivalence import FEWEST, FittedMoments, fitted_moments
from ppduck.kernels.linear import regress
from ppduck.kernels.relation import fit
from ppduck.measures._pieces import as_inputs, both_sides, refuse_infinite
from ppduck.pairs import moments as sums
from ppduck.pairs.columns import Compared
from ppduck.pairs.rows import SAMPLE, Pairs, PairSpec, Told
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.relation import FEWEST_ROWS
from ppduck.values import Array, Moments

Flags = npt.NDArray[np.bool_]
SPARE = 2  # rows that a line needs beside one for each of its coefficients
LARGEST = 1e150  # a number beyond it has no square


@frozen
class ModelSpec(PairSpec):
    """Labels of inputs, for each its column and whether it is an indicator; which model, and whether of a sample."""

    inputs: list[str]
    kinds: list[tuple[str, bool]]
    kernel: bool
    sampled: bool


@frozen
class ModelTold(Told):
    """Moments of all pairs, which columns changed and which are constant; a sample of the pairs. Or one of both."""

    counts: Array | None
    sums: Array | None
    products: Array | None
    centres: Array | None
    changed: Array | None
    constant: Array | None
    sample: Array | None


def whole(pairs: Pairs) -> dict[str, sql.Expr]:
    """Beside moments: how many values changed in each column, and which are constant; sums round, these do not."""
    sides = [(sql.column(f"_pp_x{j}"), sql.column(f"_pp_y{j}")) for j in pairs.numbers]
    changed = (sql.only(aggregates.rows(), x.neq(y)) for x, y in sides)
    return {
        "_pp_changed": sql.array(changed, "DOUBLE"),
        "_pp_constant": sql.cast(
            aggregates.constant([*(x for x, _ in sides), *(y for _, y in sides)]), "DOUBLE[]"
        ),
    }


def told(*, moments: bool, sampled: bool) -> dict[str, sql.Expr]:
    """What a UDF is told of the pairs: moments of all of them, or some of them, or both."""
    nothing = sql.cast(sql.null(), "DOUBLE[]")
    of_all = {
        **sums.told_sums(),
        "centres": sums.one_after_the_other(sums.CENTRES),
        "changed": sums.any_of("_pp_changed"),
        "constant": sums.any_of("_pp_constant"),
    }
    return {
        **sums.told_counts(),
        **(of_all if moments else {name: nothing.copy() for name in of_all}),
        "sample": sums.one_after_the_other(SAMPLE) if sampled else nothing,
    }


def values(pairs: Pairs) -> list[sql.Expr]:
    return [sql.column(name) for name in pairs.value_names]


def labels(columns: Compared) -> list[str]:
    return [feature.label for feature, _ in columns.inputs]


def kinds(columns: Compared) -> list[tuple[str, bool]]:
    """For each input its column, and whether it is an indicator."""
    found = []
    for feature, _ in columns.inputs:
        column = columns.original.column(feature.column)
        found.append((column.name, feature.level is not None or column.is_boolean))
    return found


@frozen
class Side:
    """One table: mean and covariance of its columns, 0 of constant ones."""

    mean: Array
    cov: Array

    @property
    def sd(self) -> Array:
        return np.sqrt(np.maximum(np.diag(self.cov), 0.0))

    @property
    def correlation(self) -> Array:
        scale = np.where(self.sd > 0, self.sd, 1.0)
        return np.asarray(self.cov / np.outer(scale, scale))


@frozen
class Models:
    """One column's models: shares of variance explained, their fitted values' moments, and these if at hand."""

    r2: tuple[float, float]
    moments: FittedMoments
    fitted: tuple[Array, Array] | None = None


@frozen
class Line:
    """level + (x - mean of the original's x)'slopes."""

    level: float
    slopes: Array
    r2: float


@frozen
class Looked:
    """What both ways of looking at the pairs know."""

    spec: ModelSpec
    n: int

    @property
    def q(self) -> int:
        return len(self.spec.columns)

    @property
    def p(self) -> int:
        return len(self.spec.inputs)

    @property
    def inputs(self) -> list[int]:
        return list(range(self.q, self.q + self.p))


@frozen
class Drawn(Looked):
    """Pairs of a sample, row by row."""

    original: Array
    masked: Array

    def kernel(self, of: Sequence[int], by: Sequence[int] = (), *, inputs: bool) -> list[Models]:
        """LS-SVM of some columns by others and, if asked, by the inputs; R² is of rows that the model had not seen."""
        (z, flags), (masked_z, _) = (
            self._read(rows, by, inputs) for rows in (self.original, self.masked)
        )
        pair = [
            fit(s, rows[:, list(of)], indicators=flags, discreet=False)
            for s, rows in ((z, self.original), (masked_z, self.masked))
        ]
        predicted = [model.predict(z) for model in pair]
        found = []
        for j in range(len(of)):
            f_o, f_m = (np.ascontiguousarray(each[:, j]) for each in predicted)
            r2_o, r2_m = (float(np.clip(model.r2_left_out[j], 0.0, 1.0)) for model in pair)
            found.append(Models((r2_o, r2_m), FittedMoments.of(f_o, f_m), (f_o, f_m)))
        return found

    def _read(self, rows: Array, by: Sequence[int], inputs: bool) -> tuple[Array, Flags]:
        """What a kernel model reads, and which of it are indicators."""
        s, flags = as_inputs(
            rows[:, self.inputs if inputs else []], self.spec.kinds if inputs else []
        )
        return np.column_stack([rows[:, list(by)], s]), np.concatenate(
            [np.zeros(len(by), dtype=bool), flags]
        )


@frozen
class Whole(Looked):
    """All pairs, by moments of either table."""

    original: Side
    masked: Side

    def lines(self, of: int, by: Sequence[int]) -> tuple[Line, Line]:
        """Least squares on either side; levels are taken at the original's mean, where nothing cancels."""
        at = self.original.mean[list(by)]
        return _line(self.original, of, list(by), at), _line(self.masked, of, list(by), at)

    def linear(self, of: int, by: Sequence[int], at: Drawn | None = None) -> Models:
        """Models of all pairs; their fitted values too, at the rows of a sample."""
        (own, other), columns = self.lines(of, by), list(by)
        r2 = (own.r2, other.r2)
        if at is None:
            cov, zero = self.original.cov[np.ix_(columns, columns)], np.zeros(len(columns))
            moments = fitted_moments(
                self.n, zero, cov, (own.level, own.slopes), (other.level, other.slopes)
            )
            return Models(r2, moments)
        x = at.original[:, columns] - self.original.mean[columns]
        f_o, f_m = (line.level + x @ line.slopes for line in (own, other))
        return Models(r2, FittedMoments.of(f_o, f_m), (f_o, f_m))


def _line(side: Side, of: int, by: list[int], at: Array) -> Line:
    correlation, scale = side.correlation, np.where(side.sd > 0, side.sd, 1.0)
    towards = correlation[by, of]
    beta = regress(correlation[np.ix_(by, by)], towards)
    slopes = beta * side.sd[of] / scale[by]
    level = float(side.mean[of] + (at - side.mean[by]) @ slopes)
    return Line(level, slopes, float(np.clip(beta @ towards, 0.0, 1.0)))


def sides_of(spec: ModelSpec, told: ModelTold) -> tuple[Whole | None, Drawn | None]:
    """All pairs by their moments, and those of the sample; what was not told is None."""
    width = len(spec.columns) + len(spec.inputs)
    n = int(told.counts[0]) if told.counts is not None and len(told.counts) else 0
    if n == 0:
        raise spec.refuse("there is no pair of rows without NULL to measure.")
    labels = both_sides([*spec.columns, *spec.inputs])
    whole, drawn = None, None
    if told.sums is not None and told.products is not None:
        moments = Moments.from_sums(n, told.sums, told.products)
        refuse_infinite(
            spec, labels, np.isfinite(moments.mean) & np.isfinite(np.diag(moments.cross))
        )
        _refuse_few(spec, n, width + SPARE)
        whole = _of_moments(spec, moments, told, width)
    if spec.sampled:
        rows = (
            np.empty((0, 2 * width)) if told.sample is None else told.sample.reshape(-1, 2 * width)
        )
        refuse_infinite(spec, labels, np.asarray((np.abs(rows) < LARGEST).all(axis=0)))
        _refuse_few(spec, len(rows), FEWEST_ROWS if spec.kernel else FEWEST)
        drawn = Drawn(spec, len(rows), rows[:, :width], rows[:, width:])
    return whole, drawn


def _of_moments(spec: ModelSpec, moments: Moments, told: ModelTold, width: int) -> Whole:
    """Sums about different centres differ by rounding: where nothing changed, both sides have the original's."""
    assert told.centres is not None
    assert told.changed is not None
    assert told.constant is not None
    changed, constant = told.changed > 0, told.constant > 0
    mean = told.centres + moments.mean
    cov = np.where(constant[:, None] | constant[None, :], 0.0, moments.covariance)
    original = Side(mean[:width], cov[:width, :width])
    either = changed[:, None] | changed[None, :]
    masked = Side(
        np.where(changed, mean[width:], original.mean),
        np.where(either, cov[width:, width:], original.cov),
    )
    return Whole(spec, moments.n, original, masked)


def _refuse_few(spec: ModelSpec, n: int, needed: int) -> None:
    if n < needed:
        inputs = len(spec.inputs) + len(spec.columns) - 1
        model = "a kernel model" if spec.kernel else f"a linear model with {inputs} inputs"
        raise spec.refuse(f"{n} pairs without NULL are too few for {model}; {needed} are needed.")
