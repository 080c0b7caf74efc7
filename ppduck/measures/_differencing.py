"""Differencing: what the exact sums of two releases tell of rows that only one of them has."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.kernels import score_ranges
from ppduck.kernels.differencing import Solved, agreeing, solved
from ppduck.measures._number_sums import MOST_ALONE, NumbersSpec, NumbersTold
from ppduck.measures._told_together import NO_RANGE, nothing, plural, row
from ppduck.values import Array

Flags = npt.NDArray[np.bool_]
ATTACK = "differencing"
NEAR = 1e-6  # what a solved value may differ by, beside its own size or the column's spread


def attack(spec: NumbersSpec, told: NumbersTold, j: int, open_: list[int]) -> dict[str, Any]:
    """The row of one column, by the features that both releases publish as they are."""
    name = spec.columns[j]
    k = int(told.only_first[j] + told.only_second[j])
    if not k:
        says = "both releases have the same rows; there is nothing to take the difference of"
        return row(ATTACK, name, None, NO_RANGE, 0, says)
    if told.common[j] and told.same[j] == told.common[j]:
        says = (
            f"{plural(int(told.common[j]), 'row')} have the same value in both releases, whose sums differ by what is "
            "published"
        )
        return nothing(ATTACK, name, k, says)
    equations = 1 + len(open_)
    if told.alone is None or not len(told.alone):
        says = (
            f"{k} rows are in one release only, more than the {MOST_ALONE} that are solved for; {equations} exact "
            "sums tell few of them, if any"
        )
        return row(ATTACK, name, (0.0, 0.0), score_ranges.of_shares(0.0, 0.0, k), k, says)
    rows = told.alone.reshape(-1, len(spec.features) + 3 * len(spec.columns))
    unknown = _Unknown(spec, told, j, open_, rows)
    found = unknown.solved()
    return unknown.verified(found) if spec.has_original else unknown.claimed(found)


class _Unknown:
    """The rows of one column that only one release has."""

    def __init__(
        self, spec: NumbersSpec, told: NumbersTold, j: int, open_: list[int], rows: Array
    ) -> None:
        p = len(spec.features)
        first, second, original = (rows[:, p + 3 * j + i] for i in range(3))
        alone = np.isnan(first) != np.isnan(second)
        sign = np.where(np.isnan(first), 1.0, -1.0)[alone]  # second less first
        self.name, self.centre, self.spread = (
            spec.columns[j],
            told.centres[p + j],
            told.spreads[p + j],
        )
        self.published = np.where(np.isnan(first), second, first)[alone]
        self.original = original[alone]
        self.open = [spec.features[i] for i in open_]
        used = [0, *(1 + i for i in open_)]
        scale = np.concatenate([[1.0], told.spreads[open_]])
        self.weights = np.column_stack([np.ones(len(rows)), rows[:, open_]])[alone].T * sign
        self.weights /= scale[:, None]
        width = 1 + p
        totals = (told.second - told.first)[j * width : (j + 1) * width][used]
        self.totals = totals / scale / (self.spread or 1.0)

    @property
    def k(self) -> int:
        return len(self.published)

    def solved(self) -> Solved:
        """By all sums that agree; by that of the column alone where none do."""
        fits = agreeing(self.weights, self.totals)
        if not fits.any():
            self.open, self.weights, self.totals = [], self.weights[:1], self.totals[:1]
            alone = solved(self.weights, self.totals)
            return Solved(alone.values, alone.known, 0, np.inf)
        self.weights, self.totals = self.weights[fits], self.totals[fits]
        self.open = [name for name, fit in zip(self.open, fits[1:], strict=True) if fit]
        return solved(self.weights, self.totals)

    def claimed(self, found: Solved) -> dict[str, Any]:
        """Without the original: how many equations there are, and whether they agree."""
        count = int(found.known.sum())
        if not found.agrees and not count:
            says = f"0 of {plural(self.k, 'row')} solved: no sums agree, so that they are not exact"
            return self._row(0.0, 0.0, 0.0, says)
        if count and not found.spare:
            says = (
                f"{count} of {plural(self.k, 'row')} solved by {self._equations}, if exact, as those of egadp_mask and "
                f"its kin are; {'no other agrees' if not found.agrees else 'there is none to spare'}, to tell by"
            )
            return row(ATTACK, self.name, None, NO_RANGE, self.k, says)
        exact = f"; exact, with {found.spare} to spare" if found.spare else ""
        says = f"{count} of {plural(self.k, 'row')} solved by {self._equations}{exact}{self._left(found)}"
        return self._row(count / self.k, 0.0, 0.0, says)

    def verified(self, found: Solved) -> dict[str, Any]:
        """Against the original: a row counts if its value comes out."""
        there = ~np.isnan(self.original)
        if not there.any():
            says = "none of the rows that only one release has is in the original"
            return row(ATTACK, self.name, None, NO_RANGE, 0, says)
        near = NEAR * np.maximum(np.abs(self.original + self.centre), self.spread)[there]
        with np.errstate(invalid="ignore"):
            values = np.where(found.known, found.values * (self.spread or 1.0), np.nan)[there]
            right = np.abs(values - self.original[there]) <= near
            open_ = np.abs(self.published[there] - self.original[there]) <= near
        success, baseline, both = (float(np.mean(x)) for x in (right, open_, right & open_))
        says = (
            f"{int(right.sum())} of {plural(int(there.sum()), 'row')} that only one release has come out, solved by "
            f"{self._equations}{self._left(found)}{self._off(values, right, there)}"
        )
        n = int(there.sum())
        ends = score_ranges.of_shares(success, baseline, n, both)
        return row(ATTACK, self.name, (success, baseline), ends, n, says)

    @property
    def _equations(self) -> str:
        by = f" with {', '.join(self.open)}" if self.open else ""
        return f"{plural(len(self.weights), 'sum')}{by}"

    def _left(self, found: Solved) -> str:
        short = self.k + found.spare - self.weights.shape[0]
        if found.agrees and short == 1:
            return "; one equation is missing, and a sum of squares leaves two candidates"
        return ""

    def _off(self, values: Array, right: Flags, there: Flags) -> str:
        """How far those are off that were solved and did not come out: sums that are nearly exact tell nearly."""
        wrong = ~right & ~np.isnan(values)
        if not wrong.any() or not self.spread:
            return ""
        off = float(np.median(np.abs(values - self.original[there])[wrong])) / self.spread
        return f"; {plural(int(wrong.sum()), 'other')} off by {off:.2g} standard deviations"

    def _row(self, success: float, baseline: float, both: float, says: str) -> dict[str, Any]:
        ends = score_ranges.of_shares(success, baseline, self.k, both)
        return row(ATTACK, self.name, (success, baseline), ends, self.k, says)
