"""moments_check(): the certificate that a release has the moments of its original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.roles import FEW_LEVELS, Feature, categories_among, features_of
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog, Source
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array, Moments, folded

NAME = "moments_check"
COMPARE = "ppduck_compare"
_SIDE = ["BIGINT", "DOUBLE[]", "DOUBLE[]", "DOUBLE[]"]
_ROW = (
    "STRUCT(statistic VARCHAR, column_a VARCHAR, column_b VARCHAR, original DOUBLE, release DOUBLE, difference DOUBLE)"
)
COMPARE_TYPES = (["VARCHAR[]", *_SIDE, *_SIDE], f"{_ROW}[]")


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    original, masked = (_source(catalog, given[name]) for name in ("original", "release"))
    features = _shared(catalog, original, masked, given.get("conf"), given.get("key", []))
    statement = sql.Statement()
    sides: list[sql.Expr] = []
    for side, source in (("original", original), ("masked", masked)):
        _moments_of(statement, side, source, features)
        sides += [sql.column(part, f"_pp_{side}") for part in ("n", "centre", "sums", "products")]
    labels = sql.array((sql.text(feature.label) for feature in features), "VARCHAR")
    compared = sql.call("unnest", sql.call(COMPARE, labels, *sides))
    rows = sql.select([sql.named(compared, "row")], '"_pp_original" CROSS JOIN "_pp_masked"')
    return statement.finish(f'SELECT unnest("row") FROM ({rows})')


def _source(catalog: Catalog, given: str) -> Source:
    source = catalog.source(NAME, given)
    if source.columns is None:
        raise Faults(NAME).refuse(catalog.unseen(source, "make it a table and commit."))
    return source


def _shared(
    catalog: Catalog, original: Source, masked: Source, named: list[str] | None, key: list[str]
) -> list[Feature]:
    """What is compared: the columns that both have, categories level by level; those of the key only if named."""
    faults = Faults(NAME, original.label)
    for parameter, names in (("conf", named or []), ("key", key)):
        for name in names:
            for source in (original, masked):
                if source.find(name) is None:
                    known = [column.name for column in source.columns or ()]
                    faults.add(
                        f"{parameter} names {quoted(name)}, which {quoted(source.label)} does not have."
                        f"{near_miss(name, known)}"
                    )
    faults.raise_if_any()
    keys = {folded(name) for name in key}
    wanted = {folded(name) for name in named} if named is not None else None
    both = [
        column
        for column in original.columns or ()
        if masked.find(column.name)
        and (folded(column.name) not in keys if wanted is None else folded(column.name) in wanted)
    ]
    for column in both:
        other = masked.find(column.name)
        if other and (column.is_numeric or column.is_boolean) and not (other.is_numeric or other.is_boolean):
            faults.add(
                f"column {quoted(column.name)} is of type {other.type} in {quoted(masked.label)}, and no number."
            )
    faults.raise_if_any()
    levels = catalog.few_valued(original, [column for column in both if column.is_category], FEW_LEVELS)
    used = [column for column in both if column.is_numeric or column.is_boolean or column.name in levels]
    # Where both have NULL in a category it is a level, as a mask takes it by on_null := 'level'; 'drop' leaves none.
    categories = categories_among(used, levels)
    null_levels = catalog.with_null(original, categories)
    null_levels &= catalog.with_null(masked, [column for column in categories if column.name in null_levels])
    features = [feature for column in used for feature in features_of(column, levels, null_levels)]
    if not features:
        shared = listed(column.name for column in both) or "none"
        raise faults.refuse(
            f"there is no numeric column that {quoted(masked.label)} has too, nor a category of two levels or more; "
            f"columns in both: {shared}."
        )
    return features


def _moments_of(statement: sql.Statement, side: str, source: Source, features: Sequence[Feature]) -> None:
    """CTEs for one side: a centre, then sums and products about it, over rows without NULL, unless that is a level.

    Sums are compensated, so that the same rows in another order have the same moments.
    """
    values = [sql.double(feature.value.copy()) for feature in features]
    names = [f"_pp_d{i}" for i in range(len(features))]
    rows = sql.select([sql.named(value, name) for value, name in zip(values, names, strict=True)], source.sql)
    complete = sql.select([sql.column(name) for name in names], f"({rows})", where=sql.present(map(sql.column, names)))
    statement.step(f"_pp_{side}_rows", complete, materialized=not source.repeatable)
    averages = [
        sql.named(sql.call("coalesce", sql.call("favg", sql.column(name)), sql.number(0)), f"_pp_m{i}")
        for i, name in enumerate(names)
    ]
    statement.step(f"_pp_{side}_centre", sql.select(averages, f'"_pp_{side}_rows"'), materialized=True)
    deviations = [sql.minus(sql.column(name), sql.column(f"_pp_m{i}")) for i, name in enumerate(names)]
    centre = sql.array((sql.call("any_value", sql.column(f"_pp_m{i}")) for i in range(len(names))), "DOUBLE")
    parts = {
        "n": aggregates.rows(),
        "centre": centre,
        "sums": aggregates.sums(deviations, aggregates.COMPENSATED),
        "products": aggregates.products(deviations, aggregates.COMPENSATED),
    }
    joined = sql.joined(f'"_pp_{side}_rows"', f'"_pp_{side}_centre"', [])
    statement.step(
        f"_pp_{side}", sql.select([sql.named(part, name) for name, part in parts.items()], joined), materialized=True
    )


def compare(
    labels: Sequence[str],
    n: int, centre: Sequence[float], sums: Sequence[float], products: Sequence[float],
    masked_n: int, masked_centre: Sequence[float], masked_sums: Sequence[float], masked_products: Sequence[float],
) -> list[dict[str, Any]]:  # fmt: skip
    """Count, means, covariances and correlations of two tables side by side.

    Differences are in units of the original's standard deviations, sd for a mean and sd·sd for a
    covariance, so that they can be read without knowing the columns' scales.
    """
    rows = [_row("count", None, None, float(n), float(masked_n), 1.0)]
    if min(n, masked_n) > 1:
        original = Moments.from_sums(n, sums, products)
        masked = Moments.from_sums(masked_n, masked_sums, masked_products)
        # Means are compared about their centres, and these with each other: no digits are lost to a common offset.
        moved = (np.asarray(masked_centre) - np.asarray(centre)) + (masked.mean - original.mean)
        with np.errstate(all="ignore"):  # what is not finite shows as an infinite difference
            rows += _compared(labels, np.asarray(centre) + original.mean, moved, original, masked)
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
            yield _row("covariance", b, a, original.covariance[i, j], masked.covariance[i, j], unit[i] * unit[j])
    for i, a in enumerate(labels):
        for j, b in enumerate(labels[:i]):
            if sd[i] * sd[j] == 0:
                continue  # a constant has no correlation that could be kept
            before = original.covariance[i, j] / (sd[i] * sd[j])
            yield _row("correlation", b, a, before, masked.covariance[i, j] / (masked_sd[i] * masked_sd[j]), 1.0)


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


FUNCTION = register(
    Function(
        NAME,
        (
            Parameter("original", arguments.words, "the table before masking"),
            Parameter("release", arguments.words, "the table after masking"),
            Parameter(
                "conf",
                arguments.columns,
                "which columns to compare; by default all that both have, but the key",
                "NULL",
            ),
            Parameter(
                "key",
                arguments.columns,
                "the columns that identify a row, whose relations masks do not keep and which are not compared",
                "NULL",
            ),
        ),
        plan,
        "Means, covariances and correlations of two tables side by side; differences in units of the original's sd.",
        "",
        udfs=(Udf(COMPARE, compare, *COMPARE_TYPES, by="values"),),
    )
)
