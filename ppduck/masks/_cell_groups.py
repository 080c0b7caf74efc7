"""Cells of quasi-identifiers put into groups by strict Mondrian, after everything that can be wrong with them.

A cell is a combination of values that occurs, with its sensitive value where there is one. This is
what Python is told of all of them, what it refuses, and what it answers: the group of each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.kernels import mondrian
from ppduck.kernels.mondrian import Cells, Rule
from ppduck.masks._boxes import is_category, is_range, unfit
from ppduck.values import Array

MOST_LEVELS = 1_000
MOST_CELLS = 5_000_000


@frozen
class GeneralizeSpec(Spec):
    qi: list[str]
    types: list[str]
    sensitive: list[str]
    k: int
    l: int | None  # noqa: E741
    diversity: str


@frozen
class Told:
    """Types of the quasi-identifiers; rows without each of them, and without a sensitive value; then of each cell, as
    ``Generalization`` puts it together, d ranks of its values, d numbers that they stand for, the rank of its sensitive
    value, and its count.
    """

    types: list[str | None]
    missing: list[int]
    cells: Array | None


def solve(spec: GeneralizeSpec, told: Told) -> Any:
    """The group of each cell, from 1, after everything that can be wrong with the table."""
    faults, names = spec.faults(), spec.qi
    if told.cells is None:
        raise faults.refuse("there are no rows.")
    d = len(names)
    table = told.cells.reshape(-1, 2 * d + 2)
    if len(table) > MOST_CELLS:
        raise faults.refuse(
            f"there are more than {MOST_CELLS:,} combinations of values, which is too many to work on; cut numbers "
            "into classes in tbl, or name fewer columns."
        )
    counts = table[:, -1].astype(np.int64)
    _refuse_missing(faults, spec, told.missing, int(counts.sum()))
    codes, places = table[:, :d].astype(np.int64) - 1, table[:, d : 2 * d].copy()
    for j, (name, type_) in enumerate(zip(names, told.types, strict=True)):
        _refuse_unfit(faults, name, spec.types[j], type_ or "", int(codes[:, j].max()) + 1)
        if is_category(type_ or ""):
            places[:, j] = codes[:, j]
        elif not np.isfinite(places[:, j]).all():
            faults.add(
                f"qi column {quoted(name)} holds NaN or infinity; leave such rows out with a SELECT in tbl."
            )
    faults.raise_if_any()
    sensitive = table[:, -2].astype(np.int64) - 1
    rule = Rule(spec.k, spec.l, spec.diversity)
    _refuse_table(faults, spec, rule, np.bincount(sensitive, counts).astype(np.int64))
    return 1 + mondrian.generalized(Cells(codes, places, counts, sensitive), rule).of


def _refuse_missing(
    faults: Faults, spec: GeneralizeSpec, missing: Sequence[int], rows: int
) -> None:
    parts = [*(("qi", name) for name in spec.qi), *(("sensitive", name) for name in spec.sensitive)]
    for (part, name), count in zip(parts, missing, strict=True):
        if count:
            faults.add(
                f"{part} column {quoted(name)} has NULL in {count} of {rows} rows; leave such rows out with a SELECT "
                "in tbl, or fill them."
            )
    faults.raise_if_any()


def _refuse_unfit(faults: Faults, name: str, planned: str, type_: str, levels: int) -> None:
    if planned not in ("", type_):
        faults.add(
            f"qi column {quoted(name)} is of another type than the call was planned for: here the name of the table "
            "stands for another one, such as a temporary one. Name it with its schema, or commit first."
        )
    elif not (is_category(type_) or is_range(type_)):
        faults.add(unfit(name, type_))
    elif is_category(type_) and levels > MOST_LEVELS:
        faults.add(
            f"qi column {quoted(name)} has {levels:,} levels, and {MOST_LEVELS:,} at most make a category; group them "
            "in tbl, such as by their first letters, or leave the column out."
        )


def _refuse_table(faults: Faults, spec: GeneralizeSpec, rule: Rule, counts: mondrian.Codes) -> None:
    """All rows together must keep the rule, or no group could."""
    n = int(counts.sum())
    if n < rule.k:
        raise faults.refuse(f"k = {rule.k} needs at least {rule.k} rows, and there are {n}.")
    possible = rule.largest_l(counts)
    if rule.l is not None and possible < rule.l:
        needs = {
            mondrian.FREQUENCY: f"that no value has more than 1/{rule.l} of the rows",
            mondrian.DISTINCT: f"{rule.l} distinct values",
            mondrian.ENTROPY: f"an entropy of at least ln {rule.l}",
        }[rule.diversity]
        remedy = (
            f"the largest l possible is {possible}"
            if possible > 1
            else "no l of 2 or more is possible"
        )
        raise faults.refuse(
            f"l = {rule.l} by {rule.diversity} needs {needs}, and column {quoted(spec.sensitive[0])} does not have "
            f"that in all {n} rows together; {remedy}."
        )


SOLVE = told_udf("ppduck_generalize", solve, GeneralizeSpec, Told, "BIGINT[]")
