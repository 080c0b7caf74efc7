"""Attacks on values: what is guessed of conf from all that a released row shows, and from where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ppduck.attacks._figures import RESULTS, judged, row, rows_of, share
from ppduck.attacks._people import AttackSpec, People
from ppduck.call.udf import rows_type, told_udf
from ppduck.frozen import frozen
from ppduck.kernels import guessing
from ppduck.kernels.guessing import Inputs, chosen, guesses, hits, taught
from ppduck.kernels.order import NEAR, WAYS, chance, rank_guesses, ranks
from ppduck.kernels.score_ranges import halves
from ppduck.progress import Progress
from ppduck.values import Array

INFERENCE, ORDER = "inference", "order"
FEWEST = 20  # people who have a value
MODELS = 4  # by which a column is guessed


@frozen
class ValueTold(People):
    """People, once their keys were found to match."""

    pairs: int


class Rows:
    """People of the pool, and of the control, as the attacks read them."""

    def __init__(self, spec: AttackSpec, told: ValueTold) -> None:
        self.spec = spec
        self.k, width = len(spec.known), len(spec.numbers)
        self.numbers = np.array(spec.numbers, dtype=bool)
        self.x, self.y = rows_of(told.x, width), rows_of(told.y, width)
        self.control = None if told.control is None else rows_of(told.control, width)
        self.shown = rows_of(told.shown, spec.numbers_shown + spec.categories_shown)
        self.position = np.empty(0) if told.position is None else told.position
        self.pairs = told.pairs
        self.attacked = np.arange(len(self.x)) < spec.sample

    def conf(self) -> Iterator[tuple[int, str, bool]]:
        """Place, name and kind of each conf column."""
        for place, name in enumerate(self.spec.conf, start=self.k):
            yield place, name, bool(self.numbers[place])

    def known(self, rows: Array) -> Inputs:
        own = rows[:, : self.k]
        flags = self.numbers[: self.k]
        return Inputs(own[:, flags], own[:, ~flags])

    def alone(self, place: int) -> Inputs:
        """The masked column by itself."""
        own = self.y[:, [place]]
        return Inputs(own, own[:, :0]) if self.numbers[place] else Inputs(own[:, :0], own)

    def with_known(self, place: int) -> Inputs:
        """The masked column beside what is known."""
        own = np.column_stack([self.x[:, : self.k], self.y[:, place]])
        flags = np.append(self.numbers[: self.k], self.numbers[place])
        return Inputs(own[:, flags], own[:, ~flags])

    def all_shown(self) -> Inputs:
        """Every released column, and the place in the release."""
        numbers, categories = np.split(self.shown, [self.spec.numbers_shown], axis=1)
        return Inputs(np.column_stack([numbers, self.position]), categories)


def inference(spec: AttackSpec, told: ValueTold) -> list[dict[str, Any]]:
    rows = Rows(spec, told)
    total = MODELS * len(spec.conf)
    progress = Progress(f"{spec.faults().where}: {INFERENCE}", total, "models")
    try:
        return [_inferred(rows, progress, *each) for each in rows.conf()]
    finally:
        progress.end()


def _inferred(
    rows: Rows, progress: Progress, place: int, name: str, is_number: bool
) -> dict[str, Any]:
    method = "boosted_trees"
    target = rows.x[:, place]
    present = np.isfinite(target)
    if present.sum() < FEWEST:
        return row(
            INFERENCE, method, f"not asked: fewer than {FEWEST} people have a value", column=name
        )
    if not is_number and len(np.unique(target)) > guessing.MOST_LEVELS:
        why = f"not asked: it has more than {guessing.MOST_LEVELS} levels, which makes it a name and no category"
        return row(INFERENCE, method, why, column=name)
    judged_by = rows.attacked & present
    spread = float(target[present].std()) if is_number else 0.0
    tried = (rows.known(rows.x), rows.alone(place), rows.with_known(place), rows.all_shown())
    made = []
    for inputs in tried:
        made.append(guesses(inputs, target, is_number=is_number))
        progress.add(1)
    found = [hits(target, guess, is_number=is_number, spread=spread)[judged_by] for guess in made]
    # An intruder keeps to the model that does best, and needs not one that does worse than known alone.
    without, mine = found[0], chosen(found)
    control, told_of_control = _of_control(rows, place, is_number, spread)
    if is_number:
        fits = [guessing.explained(target[judged_by], guess[judged_by]) for guess in made]
        right, how = f"within {guessing.WITHIN} sd", f" (R² {max(fits):.3f} and {fits[0]:.3f})"
    else:
        right, how = "right", ""
    says = (
        f"from all that is released {share(float(mine.mean()))} are guessed {right}, and from known alone "
        f"{share(float(without.mean()))}{how}{told_of_control}"
    )
    return judged(INFERENCE, method, says, mine, without, control=control, column=name)


def _of_control(rows: Rows, place: int, is_number: bool, spread: float) -> tuple[Array | None, str]:
    """What a model of the release alone, known to released conf, guesses of people who are not in it."""
    if rows.control is None or not len(rows.control) or not rows.k:
        return None, ""
    every = np.vstack([rows.y, rows.control])
    members = np.arange(len(every)) < len(rows.y)
    target = np.where(members, every[:, place], np.nan)
    guess = taught(rows.known(every), target, members, is_number=is_number)[~members]
    truth = rows.control[:, place]
    there = np.isfinite(truth)
    if not there.any():
        return None, ""
    found = hits(truth[there], guess[there], is_number=is_number, spread=spread)
    return (
        found,
        f"; of people not in the release {share(float(found.mean()))}, by what it tells of anybody",
    )


def order(spec: AttackSpec, told: ValueTold) -> list[dict[str, Any]]:
    rows = Rows(spec, told)
    return [_ordered(rows, *each) for each in rows.conf()]


def _ordered(rows: Rows, place: int, name: str, is_number: bool) -> dict[str, Any]:
    """Ranks guessed from places, in the way that does best with half of the people, judged by the other half."""
    method = "position"
    if not is_number:
        return row(ORDER, method, "not asked: categories have no ranks", column=name)
    present = np.isfinite(rows.x[:, place])
    if present.sum() < FEWEST:
        return row(
            ORDER, method, f"not asked: fewer than {FEWEST} people have a value", column=name
        )
    value, position = rows.x[present, place], rows.position[present]
    groups: list[tuple[str, Array | None]] = [("all", None)]
    groups += [
        (name_, rows.x[present, j])
        for j, name_ in enumerate(rows.spec.known)
        if not rows.numbers[j]
    ]
    found = []
    for of, codes in groups:
        truth = ranks(value, codes)
        for way in WAYS:
            found.append((of, way, truth, rank_guesses(position, codes, way)))
    chosen, judging = halves(len(value))
    near = [np.abs(truth - guess) <= NEAR for _, _, truth, guess in found]
    best = int(np.argmax([each[chosen].mean() for each in near]))
    of, way, truth, guess = found[best]
    mine = near[best][judging].astype(float)
    by_chance = chance(truth[judging], guess[judging])
    within = "in the release" if of == "all" else f"within the levels of {of}"
    says = (
        f"{share(float(mine.mean()))} of {len(mine):,} people have a value within {NEAR:.0%} of the rank that their "
        f"place {within} says, {way}, and {share(by_chance)} by chance"
    )
    return judged(ORDER, method, says, mine, by_chance, column=name)


SOLVE_INFERENCE, SOLVE_ORDER = (
    told_udf(f"ppduck_attack_{name}", solve, AttackSpec, ValueTold, rows_type(RESULTS))
    for name, solve in ((INFERENCE, inference), (ORDER, order))
)
UDFS = (SOLVE_INFERENCE, SOLVE_ORDER)
