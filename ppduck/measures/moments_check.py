"""moments_check(): the certificate that a release has the moments of its original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Function, Result, register
from ppduck.call.roles import FEW_LEVELS, Feature, categories_among, features_of
from ppduck.call.spec import Spec
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.source import Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.pairs.columns import COMPARED, ReleaseCall
from ppduck.query import tree as sql
from ppduck.stages import aggregates
from ppduck.stages.plan import Groups, Plan, Rows, Stage, Totals
from ppduck.values import Array, Moments, folded

NAME = "moments_check"
RESULTS = (
    Result("statistic", "VARCHAR", "count, mean, covariance or correlation"),
    Result("column_a", "VARCHAR", "the column that it is of; NULL of the count"),
    Result("column_b", "VARCHAR", "the other column of a covariance or correlation"),
    Result("original", "DOUBLE", "its value in the original"),
    Result("release", "DOUBLE", "its value in the release"),
    Result(
        "difference",
        "DOUBLE",
        "in standard deviations of the original, or products of two; infinite if unknown",
    ),
)
SIDES = ("original", "release")


@parameters
class MomentsCheckCall(ReleaseCall):
    """Which columns are compared."""

    conf: Sequence[str] | None = COMPARED
    key: Sequence[str] = parameter(
        arguments.columns,
        "the columns that identify a row, whose relations masks do not keep and which are not compared",
        (),
    )


@frozen
class MomentsSpec(Spec):
    """How the compared columns are called."""

    labels: list[str]


@frozen
class MomentsTold:
    """Count, centre, and sums and products about it, of either table."""

    original_rows: int
    original_centre: Array
    original_sums: Array
    original_products: Array
    release_rows: int
    release_centre: Array
    release_sums: Array
    release_products: Array


def plan(catalog: Catalog, call: MomentsCheckCall) -> Plan:
    original, masked = (_source(catalog, each) for each in (call.original, call.release))
    features = _shared(catalog, original, masked, call.conf, call.key)
    stages: list[Stage] = []
    for side, source in zip(SIDES, (original, masked), strict=True):
        stages += _moments_of(side, source, features)
    told = {
        name: sql.column(name, _summed(side))
        for side in SIDES
        for name in MomentsTold.__annotations__
        if name.startswith(side)
    }
    spec = MomentsSpec(NAME, original.label, [feature.label for feature in features])
    row = sql.named(sql.call("unnest", COMPARE.in_sql(spec, told)), "_pp_row")
    both = sql.table(_summed("original")).cross(sql.table(_summed("release")))
    own = [
        sql.named(sql.part(sql.column("_pp_row"), result.name), result.name) for result in RESULTS
    ]
    answer = sql.query(own, sql.derived(sql.query([row], both), "_pp_made"))
    return Plan(tuple(stages), Groups("_pp_answer", False, answer))


def _summed(side: str) -> str:
    return f"_pp_{side}"


def _source(catalog: Catalog, given: str) -> Source:
    source = catalog.source(NAME, given)
    if source.columns is None:
        raise Faults(NAME).refuse(catalog.unseen(source, "make it a table and commit."))
    return source


def _shared(
    catalog: Catalog,
    original: Source,
    masked: Source,
    conf: Sequence[str] | None,
    key: Sequence[str],
) -> list[Feature]:
    """What is compared: the columns that both have, categories level by level; those of the key only if named."""
    faults = Faults(NAME, original.label)
    for role, names in (("conf", conf or []), ("key", key)):
        for name in names:
            for source in (original, masked):
                if source.find(name) is None:
                    known = [column.name for column in source.columns or ()]
                    faults.add(
                        f"{role} names {quoted(name)}, which {quoted(source.label)} does not have."
                        f"{near_miss(name, known)}"
                    )
    faults.raise_if_any()
    keys = {folded(name) for name in key}
    wanted = {folded(name) for name in conf} if conf is not None else None
    both = [
        column
        for column in original.columns or ()
        if masked.find(column.name)
        and (folded(column.name) not in keys if wanted is None else folded(column.name) in wanted)
    ]
    for column in both:
        other = masked.find(column.name)
        if (
            other
            and (column.is_numeric or column.is_boolean)
            and not (other.is_numeric or other.is_boolean)
        ):
            faults.add(
                f"column {quoted(column.name)} is of type {other.type} in {quoted(masked.label)}, and no number."
            )
    faults.raise_if_any()
    levels = catalog.few_valued(
        original, [column for column in both if column.is_category], FEW_LEVELS
    )
    used = [
        column for column in both if column.is_numeric or column.is_boolean or column.name in levels
    ]
    # Where both have NULL in a category it is a level, as a mask takes it by on_null := 'level'; 'drop' leaves none.
    categories = categories_among(used, levels)
    null_levels = catalog.with_null(original, categories)
    null_levels &= catalog.with_null(
        masked, [column for column in categories if column.name in null_levels]
    )
    features = [feature for column in used for feature in features_of(column, levels, null_levels)]
    if not features:
        shared = listed(column.name for column in both) or "none"
        raise faults.refuse(
            f"there is no numeric column that {quoted(masked.label)} has too, nor a category of two levels or more; "
            f"columns in both: {shared}."
        )
    return features


def _moments_of(side: str, source: Source, features: Sequence[Feature]) -> list[Stage]:
    """Stages of one side: a centre, then sums and products about it, over rows without NULL, unless that is a level.

    Sums are compensated, so that the same rows in another order have the same moments.
    """
    values = {
        f"_pp_value{i}": sql.double(feature.value.copy()) for i, feature in enumerate(features)
    }
    columns, rows, centre = (
        [sql.column(name) for name in values],
        f"_pp_{side}_rows",
        f"_pp_{side}_centre",
    )
    read = sql.derived(sql.query(sql.columns(values), sql.source(source.sql)), "_pp_values")
    complete = sql.query(columns, read, where=sql.present(columns))
    averages = [
        aggregates.mean(f"_pp_mean{i}", column, none=0.0, compensated=True)
        for i, column in enumerate(columns)
    ]
    means = [sql.column(each.name) for each in averages]
    deviations = [
        sql.minus(column.copy(), mean) for column, mean in zip(columns, means, strict=True)
    ]
    parts = [
        aggregates.rows(f"{side}_rows"),
        aggregates.any_of(f"{side}_centre", [sql.call("any_value", mean.copy()) for mean in means]),
        aggregates.sums(f"{side}_sums", deviations, compensated=True),
        aggregates.products(f"{side}_products", deviations, compensated=True),
    ]
    return [
        Rows(rows, not source.repeatable, complete),
        Totals(centre, True, [], averages, sql.table(rows)),
        Totals(_summed(side), True, [], parts, sql.table(rows).cross(sql.table(centre))),
    ]


def compare(spec: MomentsSpec, told: MomentsTold) -> list[dict[str, Any]]:
    """Count, means, covariances and correlations of two tables side by side.

    Differences are in units of the original's standard deviations, sd for a mean and sd·sd for a
    covariance, so that they can be read without knowing the columns' scales.
    """
    n, masked_n = told.original_rows, told.release_rows
    rows = [_row("count", None, None, float(n), float(masked_n), 1.0)]
    if min(n, masked_n) > 1:
        original = Moments.from_sums(n, told.original_sums, told.original_products)
        masked = Moments.from_sums(masked_n, told.release_sums, told.release_products)
        # Means are compared about their centres, and these with each other: no digits are lost to a common offset.
        centre = told.original_centre
        moved = (told.release_centre - centre) + (masked.mean - original.mean)
        with np.errstate(all="ignore"):  # what is not finite shows as an infinite difference
            rows += _compared(spec.labels, centre + original.mean, moved, original, masked)
    return rows


def _compared(
    labels: Sequence[str], mean: Array, moved: Array, original: Moments, masked: Moments
) -> Iterator[dict[str, Any]]:
    sd, masked_sd = original.sd, masked.sd
    unit = np.where(sd > 0, sd, 1.0)
    for i, label in enumerate(labels):
        yield _row("mean", label, None, mean[i], mean[i] + moved[i], unit[i], moved[i])
    for i, a in enumerate(labels):
        for j, b in enumerate(labels[: i + 1]):
            yield _row(
                "covariance",
                b,
                a,
                original.covariance[i, j],
                masked.covariance[i, j],
                unit[i] * unit[j],
            )
    for i, a in enumerate(labels):
        for j, b in enumerate(labels[:i]):
            if sd[i] * sd[j] == 0:
                continue  # a constant has no correlation that could be kept
            before = original.covariance[i, j] / (sd[i] * sd[j])
            yield _row(
                "correlation",
                b,
                a,
                before,
                masked.covariance[i, j] / (masked_sd[i] * masked_sd[j]),
                1.0,
            )


def _row(
    statistic: str,
    a: str | None,
    b: str | None,
    original: float,
    masked: float,
    unit: float,
    moved: float | None = None,
) -> dict[str, Any]:
    difference = (masked - original if moved is None else moved) / unit
    if not np.isfinite(difference):
        difference = float("inf")  # NaN would be NULL, which max() and WHERE pass over
    return {
        "statistic": statistic,
        "column_a": a,
        "column_b": b,
        "original": float(original),
        "release": float(masked),
        "difference": float(difference),
    }


COMPARE = told_udf("ppduck_compare", compare, MomentsSpec, MomentsTold, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        MomentsCheckCall,
        plan,
        "Means, covariances and correlations of two tables side by side; differences in units of the original's sd.",
        "",
        results=RESULTS,
        example="FROM moments_check('customers', 'released', conf=['x1','x2','s1','s2'])",
        udfs=(COMPARE,),
    )
)
