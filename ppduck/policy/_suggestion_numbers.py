"""What is proposed for numbers, flags and dates: the first rule that fits, and why it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ppduck.policy._name_hints import Hint
from ppduck.policy._suggestion_figures import FEW_LEVELS, RARE, Figures
from ppduck.policy._suggestion_key import LIKE
from ppduck.policy._suggestion_look import Look
from ppduck.policy._suggestion_texts import DROP, KEEP, TOKEN, Proposal, is_same, randomized

WITHIN = 30  # days that dates are shifted by at most
FEWEST_ROWS = 50  # that numbers are masked of
OLDEST, TOP, BAND = 130, 85, 5  # years
_YEARS = (1800, 2200)
_ZIP_WIDTH = 1000
_SKEWED, _HEAP = 2.0, 0.2  # beyond this skewness, or share of one value, values are exchanged
_NEAR_ZERO = 1.5  # standard deviations: with a mean below, many normal values would be negative
_LARGEST = 1e100
# A day is known to others if so many share it: the share below the one that date_mask refuses, as a sample may err.
_SHARED, _FEW, _MANY, _NEAR = 0.04, 3, 10, 3
_FIRST_DAY = 0  # 1970-01-01: who has a date before it was born then
_SPAN = 40 * 365


def number(of: Figures) -> Proposal:
    """What becomes of a column of numbers."""
    return next(_of_number(of))


def _of_number(of: Figures) -> Iterator[Proposal]:
    whole = of.column.is_integer
    if of.share(Look.CARD) >= LIKE:
        yield DROP, "numbers of payment cards, by their check digits"
    if of.hinted(Hint.OFFICIAL, Hint.SECRET, Hint.BANK, Hint.CARD):
        yield DROP, "named like a number that identifies a person everywhere"
    if of.hinted(Hint.LOCATION):
        yield DROP, "named like positions: where somebody is tells who it is"
    if of.hinted(Hint.PHONE):
        yield TOKEN, "named like phone numbers, which identify"
    if of.hinted(Hint.ZIP) and of.least >= 0 and of.greatest >= _ZIP_WIDTH and of.greatest < 10**6:
        yield {"recode": {"width": _ZIP_WIDTH}}, "codes of places as numbers: a range is a region"
    years = bool(of.values.size) and _YEARS[0] <= of.least <= of.greatest <= _YEARS[1]
    if of.hinted(Hint.YEAR, Hint.BIRTH) and years and whole:
        yield (
            {"recode": {"width": BAND}},
            f"years: a single one, as of birth, helps to find people; {BAND} at a time",
        )
    if of.hinted(Hint.AGE) and 0 <= of.least <= of.greatest <= OLDEST:
        yield (
            {"recode": {"width": BAND, "top": TOP}},
            "ages: bands, and the old, who are few, together",
        )
    if (
        of.hinted(Hint.ID)
        and not of.hinted(Hint.COUNT)
        and of.distinct > FEW_LEVELS
        and not of.column.is_fraction
    ):
        yield TOKEN, "named like an identifier, of this table or another: it can still be joined"
    if is_same(of):
        yield KEEP, "the same in all rows looked at"
    if of.rows < FEWEST_ROWS:
        yield DROP, f"{of.rows} rows are too few to mask numbers; coarsen it if it is needed"
    if of.values.size < of.present or max(abs(of.least), abs(of.greatest)) > _LARGEST:
        yield (
            DROP,
            "some values are NaN, infinite or huge, which masks refuse: make them NULL in a view",
        )
    if of.distinct < 2:
        yield DROP, "one value and NULL: which rows have it is all that it tells"
    if whole and of.distinct <= FEW_LEVELS:
        yield from _of_few(of)
    if of.hinted(Hint.COUNT):
        yield {"mask": "shuffle"}, "counts: every value stays, in another row"
    if of.most_common > _HEAP:
        share = int(100 * of.most_common)
        yield (
            {"mask": "shuffle"},
            f"{share} % of its values are equal: every value stays, in another row",
        )
    if abs(of.skewness) > _SKEWED:
        yield (
            {"mask": "shuffle"},
            "skewed: every value stays, in another row, and so do the extremes",
        )
    if of.least >= 0 and of.values.mean() < _NEAR_ZERO * of.values.std():
        yield {"mask": "shuffle"}, "never negative and near 0: every value stays, in another row"
    what = "amounts" if of.hinted(Hint.MONEY) else "a number of many values"
    yield {"mask": "egadp"}, f"{what}: means and covariances stay as they are"


def _of_few(of: Figures) -> Iterator[Proposal]:
    """Whole numbers that may be codes."""
    if of.hinted(Hint.SENSITIVE, Hint.GENDER):
        yield randomized(of, 0.9 if of.hinted(Hint.GENDER) else 0.8)
    if of.hinted(Hint.COUNT):
        return
    if of.rare_levels:
        yield (
            {"mask": "shuffle"},
            "few values, of which some are rare: every value stays, in another row",
        )
    yield KEEP, f"{of.distinct} values, none of them rare; keep it only if it is not sensitive"


def flag(of: Figures) -> Proposal:
    """What becomes of a column of true and false."""
    if is_same(of):
        return KEEP, "the same in all rows looked at"
    if of.distinct == 1:
        return DROP, "one value, and few rows or NULL: which rows have it is all that it tells"
    if of.distinct and of.hinted(Hint.SENSITIVE):
        return randomized(of, 0.8)
    if of.distinct and of.rare_levels:
        return {
            "randomize": 0.9
        }, "few rows have one of its values, so that it may tell who they are"
    return KEEP, "a flag; keep it only if it is not sensitive"


def date(of: Figures, per: Sequence[str]) -> Proposal:
    """What becomes of a column of dates; ``per`` says whose they are."""
    return next(_of_date(of, per))


def _of_date(of: Figures, per: Sequence[str]) -> Iterator[Proposal]:
    if of.hinted(Hint.BIRTH):
        yield (
            {"date": "year"},
            "named like a day of birth, which finds people; the year tells the age",
        )
    days, counts = np.unique(of.values, return_counts=True)
    if days.size and days[0] < _FIRST_DAY and days[-1] - days[0] > _SPAN:
        yield {"date": "year"}, "reaches over a lifetime, as days of birth do, which find people"
    shared = bool(days.size) and bool((counts * of.scale).min() >= RARE)
    if shared and (days.size <= FEW_LEVELS or of.hinted(Hint.LOADED)):
        what = "a day" if days.size == 1 else f"{days.size:,} days"
        yield KEEP, f"{what} for all rows, so nobody's own: when they were loaded, it seems"
    if _is_known(days, counts, of.scale):
        yield {"date": "month"}, "many share a day: who knows it would read a shift off it"
    if not per:
        yield (
            {"date": "year"},
            f"with a key it could be shifted by up to {WITHIN} days, so that intervals stay",
        )
    whose = per[0] if len(per) == 1 else list(per)
    shift = {"date": "shift", "per": whose, "within": f"{WITHIN} days"}
    yield shift, "a person's dates, all by the same shift: intervals are kept"


def _is_known(days: np.ndarray, counts: np.ndarray, scale: float) -> bool:
    """Whether some day would tell a shift, as ``date_mask`` judges it of all rows."""
    if not days.size:
        return False
    most = int(counts.max())
    if most >= _FEW and most > _SHARED * counts.sum():
        return True
    upto = np.concatenate([[0], np.cumsum(counts)])
    first = np.searchsorted(days, days - WITHIN)
    last = np.searchsorted(days, days + WITHIN, side="right")
    many = (counts >= _FEW) & (counts * scale >= _MANY)
    return bool((many & (_NEAR * counts > upto[last] - upto[first])).any())
