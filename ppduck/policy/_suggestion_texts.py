"""What is proposed for texts and categories: the first rule that fits, and why it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ppduck.policy._name_hints import Hint
from ppduck.policy._suggestion_figures import FEW_LEVELS, RARE, Figures
from ppduck.policy._suggestion_key import LIKE
from ppduck.policy._suggestion_look import Look

Proposal = tuple[Any, str]  # what becomes of a column as a policy says it, and why
DROP, KEEP = "drop", "keep"
TOKEN = {"pseudonym": "token"}
MOST_SENSITIVE_LEVELS = 50  # a category with more is too fine to be randomized
_PREFIX = 3  # characters of a code of a place that are kept
_MANY_WORDS, _LONG = 5, 200
_OWN, _SOME, _FEW = 0.5, 0.1, 0.01
# What texts of a form are, and what becomes of them.
_LOOKS: tuple[tuple[Look, Any, str], ...] = (
    (Look.EMAIL, {"pseudonym": "email"}, "e-mail addresses: another one for each, equal ones stay equal"),
    (Look.IBAN, DROP, "numbers of bank accounts, by their check digits"),
    (Look.CARD, DROP, "numbers of payment cards, by their check digits"),
    (Look.UUID, TOKEN, "UUIDs, which identify here or elsewhere"),
    (Look.URL, DROP, "addresses on the web: they lead to persons, or hold their names"),
    (Look.IP, DROP, "addresses of machines, which lead to persons"),
    (Look.DATE, DROP, "dates as text, which no mask reads: cast them in a view, then {date: …} treats them"),
    (Look.STRUCTURE, DROP, "structured text, in which no mask looks for what it holds"),
)  # fmt: skip
# What a name says, whatever the values.
_NAMES = (
    (Hint.OFFICIAL, "named like an official number, which identifies a person everywhere"),
    (Hint.SECRET, "named like a secret"),
    (Hint.BANK, "named like a bank account"),
    (Hint.CARD, "named like a payment card"),
    (Hint.EMAIL, "named like e-mail addresses, though few of them look like one"),
    (Hint.NAME, "named like names of persons"),
    (Hint.ADDRESS, "named like addresses of persons"),
    (Hint.LOCATION, "named like positions: where somebody is tells who it is"),
    (Hint.URL, "named like addresses on the web"),
    (Hint.IP, "named like addresses of machines"),
)


def text(of: Figures) -> Proposal:
    """What becomes of a column of texts."""
    return next(_rules(of))


def _rules(of: Figures) -> Iterator[Proposal]:
    for look, treatment, what in _LOOKS:
        if of.share(look) >= LIKE:
            yield treatment, f"{_percent(of.share(look))} look like {what}"
    if of.present and of.within / of.present >= _FEW:
        yield DROP, f"e-mail addresses stand in {_percent(of.within / of.present)} of its texts"
    if of.hinted(Hint.PHONE) or of.share(Look.PHONE) >= LIKE:
        yield _phone(of)
    for hint, why in _NAMES:
        if of.hinted(hint):
            yield DROP, why
    if of.hinted(Hint.ZIP) and (of.longest > _PREFIX or not of.rows):
        yield (
            {"recode": {"keep": _PREFIX}},
            f"codes of places: {_PREFIX} characters stand for a region",
        )
    many = of.distinct > FEW_LEVELS
    if of.words >= _MANY_WORDS or of.longest > _LONG or (of.hinted(Hint.FREE) and many):
        yield DROP, "free text, in which anything may stand about anybody"
    sensitive = of.hinted(Hint.SENSITIVE, Hint.MONEY)
    if (sensitive or of.hinted(Hint.GENDER)) and 2 <= of.distinct <= MOST_SENSITIVE_LEVELS:
        yield randomized(of, 0.8 if sensitive else 0.9)
    if of.hinted(Hint.ID) and (many or not of.rows):
        yield TOKEN, "named like an identifier, of this table or another: it can still be joined"
    if is_same(of):
        yield KEEP, "the same in all rows looked at"
    if of.share(Look.NAME) >= LIKE and of.own_share >= _SOME and many:
        yield DROP, f"{_percent(of.share(Look.NAME))} look like names of persons"
    if of.share(Look.NUMBER) >= LIKE and many:
        yield DROP, "numbers as text, which no mask reads: cast them in a view, and ask again"
    if of.own_share > _OWN and many:
        yield _identifying(of)
    yield category(of)


def category(of: Figures) -> Proposal:
    """What becomes of levels that nothing is known of."""
    if of.present * of.scale < RARE:
        return DROP, f"fewer than {RARE} values in all: each of them may tell who it is"
    small = of.distinct <= FEW_LEVELS
    if small and not of.rare_levels:
        return KEEP, f"{of.distinct} levels, none of them rare; keep it only if it is not sensitive"
    rare = of.levels[of.levels * of.scale < RARE].sum() / of.present
    if of.merged_as is None or rare > _OWN:
        return DROP, f"{of.distinct:,} levels, of which rare ones have {_percent(rare)} of the rows"
    tells = "where somebody is" if of.hinted(Hint.PLACE) else "who it is"
    few = (
        f"rare ones among its {of.distinct:,} levels tell {tells}: {of.rare_levels:,} of those seen"
    )
    many = f"{of.distinct:,} levels, none of those seen rare; others may be"
    recode = {"recode": {"rare_below": RARE, "as": of.merged_as}}
    return recode, few if of.rare_levels else many


def randomized(of: Figures, p: float) -> Proposal:
    """Each value kept with probability p, or else drawn: what is estimated of all stays right."""
    what = "sensitive, by its name" if p < 0.9 else "known of persons, and sensitive to some"
    levels = f"{of.distinct} levels" if of.distinct else "levels"
    return {"randomize": p}, f"{what}: {levels} of which nobody's own is certain"


def is_same(of: Figures) -> bool:
    """Whether all rows have one value, and are so many that it is nobody's own."""
    return of.is_constant and of.present * of.scale >= RARE


def _phone(of: Figures) -> Proposal:
    if of.digits < of.present or not of.present:
        return DROP, "phone numbers, some without the six digits that {pseudonym: digits} needs"
    return {"pseudonym": "digits"}, "phone numbers: the same form with other digits"


def _identifying(of: Figures) -> Proposal:
    own = f"{_percent(of.own_share)} of its values stand in one row only"
    if of.is_unique and of.words <= 1:
        return TOKEN, "unique texts of one word identify, here or elsewhere"
    return DROP, f"{own}: they tell who it is"


def _percent(share: float) -> str:
    """Cut, not rounded: 99.9 % are not all."""
    return "all" if share >= 1 else f"{max(int(100 * share), 1)} %"
