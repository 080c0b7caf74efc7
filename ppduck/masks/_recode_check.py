"""What a recoding refuses of a table's values: rare levels, and quantiles, that would still tell of a few people."""

from __future__ import annotations

from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen

LEAST_BEYOND = 3  # rows that must have a quantile, or be beyond it, so that they hide each other


@frozen
class MergedLevels:
    """Of a column whose rare levels become one: how rare is rare, and what they become."""

    column: str
    rare_below: int
    called: str


@frozen
class AskedQuantile:
    """A quantile that bounds a column."""

    column: str
    option: str
    quantile: str


@frozen
class RecodeSpec(Spec):
    merged: tuple[MergedLevels, ...]
    quantiles: tuple[AskedQuantile, ...]
    # of those that are bounded on both sides, by a quantile at least once
    bounded: tuple[str, ...]


@frozen
class Told:
    """Counts and answers, an item for each item of the specification."""

    values: list[int]  # of each column that are not NULL
    taken: list[bool]  # whether what rare levels become is a level already
    few: list[bool]  # whether too few rows are at a quantile or beyond
    crossed: list[bool]  # whether bottom lies above top


def check(spec: RecodeSpec, told: Told) -> int:
    """0 where the table's values can be recoded as asked; raises otherwise."""
    faults = spec.faults()
    for merged, values, taken in zip(spec.merged, told.values, told.taken, strict=True):
        _check_levels(faults, merged, values, taken)
    for asked, few in zip(spec.quantiles, told.few, strict=True):
        if few:
            faults.add(
                f"column {quoted(asked.column)}: {asked.option} is '{asked.quantile}', and fewer than {LEAST_BEYOND} "
                "values are there or beyond, so that it would tell of one or two people; take a quantile nearer to "
                "the middle, or a number."
            )
    for column, crossed in zip(spec.bounded, told.crossed, strict=True):
        if crossed:
            faults.add(
                f"column {quoted(column)}: bottom lies above top in these rows; take quantiles, or numbers, for both."
            )
    faults.raise_if_any()
    return 0


def _check_levels(faults: Faults, merged: MergedLevels, values: int, taken: bool) -> None:
    if 0 < values < merged.rare_below:
        faults.add(
            f"column {quoted(merged.column)} has fewer than {merged.rare_below} values in all, so that every level "
            "would be rare, and all of them together too; take a smaller rare_below, or drop the column."
        )
    if taken:
        faults.add(
            f"column {quoted(merged.column)}: rare levels become {merged.called!r}, which is a level of it already; "
            "give another text, 'as': '…'."
        )


CHECK = told_udf("ppduck_recode_check", check, RecodeSpec, Told, "BIGINT")
