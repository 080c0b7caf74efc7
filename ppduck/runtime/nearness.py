"""One rule for all masks of numbers: when masked values stay too near to their originals, and what else changes.

Masks that draw values anew from nonconf are to hide what nonconf does not tell; others are asked for values that stay
near, by a level of noise, a reach, a group size. A column is warned of, or refused, by three figures:

* Corr(X, Y), the correlation of masked and original values;
* the share of values that stay as they are, beyond chance, in the release or once it is rounded;
* for whole numbers and columns without negative values, whether that changes.

A message has the column, the figure, the limit and the remedy, never a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppduck import notes
from ppduck.call.guarantees import Loss, LossKind
from ppduck.call.linear_mask import Request
from ppduck.call.roles import FEW_LEVELS
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.kernels import nearness
from ppduck.kernels.linear import Blocks, LinearForm
from ppduck.notes import Note
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array

# X and its best prediction correlate by 0.8 and more: such data should rather not be released (Al-Ahmadi 2006, VI.1.2).
# Corr(X, Y) is the square of that where Y is the prediction with noise.
NEAR = 0.8**2
# Where nearness is asked for: as near as by noise of a tenth of the column's standard deviation, level 0.01.
NEAR_AS_ASKED = 1 / math.sqrt(1 + 0.1**2)
# The shares of values that stay, beyond chance, from which on a mask warns, and from which on it is none.
FEW_STAY, MOST_STAY = 0.1, 0.5
# A correlation that is off by the rounding of sums is not above a limit.
_ROUNDING = 1e-9

LIMITS = Loss(
    LossKind.NEARNESS,
    f"secrecy of values that stay near: warned of from a correlation of {NEAR:.2f} with the originals on, or of "
    f"{NEAR_AS_ASKED:.3f} where a parameter asks for nearness, and from {FEW_STAY:.0%} of values that stay as they "
    f"are, beyond chance; refused from {MOST_STAY:.0%} on",
)
_NEGATIVE = (
    "masked values of {columns}{groups} can be negative, though no original is: shuffle_mask and cgadp_mask keep the "
    "range of a column."
)
_FRACTIONS = "whole numbers of {columns} get fractions; round := true keeps them whole, shuffle_mask as they are."
_LEFT_OUT = (
    f"text column {{columns}} has more than {FEW_LEVELS} levels and is not in nonconf by default, so that its relation "
    "to conf is lost; name nonconf with it, or group its levels."
)


@frozen
class Judge:
    """Notes and refuses what is found of the columns of one group of a call."""

    function: str
    table: str
    group: str | None
    query: int
    remedy: str

    @property
    def where(self) -> str:
        return f" in the group {self.group}" if self.group else ""

    def correlations(
        self,
        conf: Sequence[str],
        found: Array,
        by_nonconf: Array | None = None,
        noted: Sequence[str] = (),
    ) -> None:
        """Notes columns whose masked values correlate so with the originals that these are nearly known.

        Of those that are ``noted`` already, as more is known of them, only what nonconf does to them is said.
        """
        told_by_nonconf = (
            np.zeros(len(conf)) if by_nonconf is None else np.minimum(found, by_nonconf)
        )
        for name, value, told in zip(conf, found, told_by_nonconf, strict=True):
            if told > NEAR + _ROUNDING:
                sentence = (
                    "nonconf predicts conf column {columns} so well{groups} that masked values stay near the "
                    f"originals; from a correlation of {NEAR:.2f} on releasing is not advised. security_index() tells "
                    f"more; remedies: {self.remedy}."
                )
            elif value > NEAR_AS_ASKED + _ROUNDING and name not in noted:
                sentence = (
                    "masked values of {columns}{groups} stay near the originals: from a correlation of "
                    f"{NEAR_AS_ASKED:.3f} on these are known to a tenth of their standard deviation. Take "
                    f"{self.remedy}."
                )
            else:
                continue
            self.note(sentence, name, f"correlation {_below_one(value)}", value)

    def shares(
        self, conf: Sequence[str], found: Array, why: str = "", *, every: bool = False
    ) -> list[str]:
        """Refuses columns most of whose values are released as they are, notes and returns those of which many are.

        A mask that takes ``every`` column at once, so that none can be left out, is refused where all stay.
        """
        faults, noted = Faults(self.function, self.table), []
        for name, value in zip(conf, found, strict=True):
            if (found.min() if every else value) >= MOST_STAY:
                faults.add(
                    f"{value:.0%} of the masked values of conf column {quoted(name)}{self.where} would be the "
                    f"originals{why}, beyond what chance makes equal; from {MOST_STAY:.0%} on that is no masking. Take "
                    f"{self.remedy}."
                )
            elif value >= FEW_STAY:
                sentence = (
                    f"masked values of {{columns}}{{groups}} are the originals{why}, beyond what chance makes equal; "
                    f"{FEW_STAY:.0%} are warned of, {MOST_STAY:.0%} no masking. Take {self.remedy}."
                )
                self.note(sentence, name, f"{value:.0%}", value)
                noted.append(name)
        faults.raise_if_any()
        return noted

    def given_back(self, conf: Sequence[str], found: Array) -> list[str]:
        """The same of values that come back once they are rounded; who does not round them may have weighed it."""
        noted = [name for name, value in zip(conf, found, strict=True) if value >= FEW_STAY]
        sentence = (
            "masked values of {columns}{groups} would be the originals if somebody rounded them, beyond what chance "
            f"makes equal; {FEW_STAY:.0%} are warned of. Take {self.remedy}."
        )
        for name in noted:
            value = float(found[list(conf).index(name)])
            self.note(sentence, name, f"{value:.0%}", value)
        return noted

    def negative(self, column: str, share: float) -> None:
        self.note(
            _NEGATIVE, column, f"about {share:.1%}" if share >= 0.001 else "less than 0.1%", share
        )

    def fractions(self, column: str) -> None:
        self.note(_FRACTIONS, column)

    def left_out(self, columns: Sequence[str]) -> None:
        for name in columns:
            self.note(_LEFT_OUT, name)

    def note(self, sentence: str, column: str = "", figure: str = "", size: float = 0.0) -> None:
        where = Faults(self.function, self.table).where
        notes.add(Note(where, sentence, column, figure, size, self.group, self.query))


@frozen
class Column:
    """Of each conf column over all rows: the smallest and the largest value, the mean, 1 if all are whole numbers."""

    least: Array
    most: Array
    mean: Array
    whole: Array


def judge_form(
    spec: MaskSpec, request: Request, blocks: Blocks, form: LinearForm, columns: Column
) -> None:
    """What the moments tell of a linear mask before a row is masked."""
    mask, call = spec.linear_mask, request.call
    asked = mask.stays_near(call)
    judge = Judge(request.function, request.table, request.group, request.query, mask.remedy)
    found = nearness.nearness(blocks, form, mask.explaining(blocks, spec.places))
    whole = columns.whole
    judge.left_out(spec.left_out)
    noted: list[str] = []
    if mask.staying is not None:
        noted = judge.shares(request.conf, mask.staying(blocks, request, form))
    else:
        own = np.array(spec.steps)
        back = nearness.given_back(found, np.where((own == 0) & (whole == 1), 1.0, own))
        # What nonconf tells it tells with or without the masked values: it is to be near before that counts as staying.
        back = np.where(asked | (found.correlation > NEAR), back, 0.0)
        is_rounded = (own > 0) & spec.rounds | (whole == 1) & spec.permutes
        noted = judge.shares(
            request.conf, np.where(is_rounded, back, 0.0), " once they are rounded"
        )
        if asked:
            noted += judge.given_back(request.conf, np.where(is_rounded, 0.0, back))
    judge.correlations(
        request.conf, found.correlation, found.by_nonconf if mask.reads_s else None, noted
    )
    if spec.permutes:
        return
    if not mask.keeps_range(call):
        for name, share in zip(
            request.conf, nearness.below_zero(found, columns.mean, columns.least), strict=True
        ):
            if blocks.n * share >= 1:
                judge.negative(name, share)
    for name, is_whole in zip(
        request.conf, (whole == 1) & ~((np.array(spec.steps) > 0) & spec.rounds), strict=True
    ):
        if is_whole:
            judge.fractions(name)


def judge_values(
    judge: Judge, spec: MaskSpec, names: Sequence[str], before: Array, after: Array
) -> None:
    """What is found of values that a mask has in its hands; both are of rows by columns, before rounding."""
    by_name = dict(zip(spec.conf, spec.steps, strict=True))
    released = [
        _released(x, y, by_name[name] if spec.rounds else 0.0)
        for name, x, y in zip(names, before.T, after.T, strict=True)
    ]
    stay = [nearness.staying(x, y) for x, y in zip(before.T, released, strict=True)]
    why = (
        " because they repeat, or once they are rounded" if spec.rounds else " because they repeat"
    )
    noted = judge.shares(names, np.array(stay), why, every=True)
    if not spec.rounds:
        back = [
            0.0 if name in noted else nearness.staying(x, _released(x, y, _step(x, by_name[name])))
            for name, x, y in zip(names, before.T, after.T, strict=True)
        ]
        noted += judge.given_back(names, np.array(back))
    correlations = [nearness.correlation(x, y) for x, y in zip(before.T, after.T, strict=True)]
    judge.correlations(names, np.array(correlations), noted=noted)
    for name, x, y in zip(names, before.T, released, strict=True):
        if np.nanmin(x) >= 0 and (y < 0).any():
            judge.negative(name, float((y < 0).mean()))
        if not spec.rounds and _is_whole(x) and not _is_whole(y):
            judge.fractions(name)


def _released(before: Array, after: Array, step: float) -> Array:
    """Masked values as they are rounded; those that are off the original by rounding error only are the original."""
    found = np.round(after / step) * step if step else after
    error = 1e-9 * np.maximum(np.abs(before), np.nanstd(before))
    return np.where(np.abs(found - before) <= error, before, found)


def _step(values: Array, own: float) -> float:
    """What a reader would round to: the column's own step, or whole numbers where all of them are."""
    return 1.0 if not own and _is_whole(values) else own


def _is_whole(values: Array) -> bool:
    present = values[~np.isnan(values)]
    return bool((present == np.trunc(present)).all())


def _below_one(value: float) -> str:
    """Three digits, and never 1: what is nearly 1 is not equal to it."""
    return f"{value:.3f}" if value < 0.9995 else "above 0.999"
