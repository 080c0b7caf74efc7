"""The rules of a recoding: what the options of each column ask for, read against its type, and all that is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ppduck.call import arguments
from ppduck.call.parameters import ColumnNames, MisreadError, Reader
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.masks import _number_ranges
from ppduck.masks._number_ranges import MOST_RANGES, Numbers, Ranges, RangesError, numbers_of

OTHER = "other"
RANGE, LOWER = "range", "lower"
Rules = Mapping[str, Mapping[str, Any]]


@arguments.reader(
    "{'column': {'option': value, …}, …}, such as {'age': {'width': 5, 'top': 85}, 'zip': {'keep': 3}}",
    columns=ColumnNames.KEYED,
)
def rules_by_column(value: Any) -> Rules:
    if not isinstance(value, Mapping) or not all(isinstance(r, Mapping) for r in value.values()):
        raise MisreadError
    given = {str(column): rule.items() for column, rule in value.items()}
    return {
        column: {str(option): each for option, each in rule if each is not None}
        for column, rule in given.items()
    }


@frozen
class Quantile:
    """A value below which a share of a column's values lies, found when the statement runs."""

    share: Fraction

    def __str__(self) -> str:
        return f"p{_number_ranges.text(self.share * 100)}"


Bound = Fraction | Quantile


@frozen
class Recoding:
    """What becomes of one column."""

    column: Column


@frozen
class Classed(Recoding):
    """Numbers that become the range that they lie in, or where it begins."""

    numbers: Numbers
    ranges: Ranges
    lower: bool
    asked: bool  # whether the ends of the ranges were asked of the data


@frozen
class Coded(Recoding):
    """Numbers of which the extreme ones become a bound."""

    numbers: Numbers
    bottom: Bound | None
    top: Bound | None

    @property
    def quantiles(self) -> dict[str, Quantile]:
        """Those of the bounds, by the option that asks for them."""
        both = {"bottom": self.bottom, "top": self.top}
        return {name: bound for name, bound in both.items() if isinstance(bound, Quantile)}


@frozen
class Shortened(Recoding):
    """Texts of which the first characters are kept."""

    keep: int


@frozen
class Merged(Recoding):
    """Categories, perhaps shortened, of which those that few rows have become one."""

    keep: int | None
    rare_below: int
    called: str


@arguments.reader("a finite number")
def exact(value: Any) -> Fraction:
    """A number as it was written: 0.1 is a tenth."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise MisreadError
    if not math.isfinite(value):
        raise MisreadError
    return _number_ranges.number(value)


@arguments.reader("a number above 0")
def positive(value: Any) -> Fraction:
    found: Fraction = exact(value)
    if found <= 0:
        raise MisreadError
    return found


@arguments.reader(f"a list of 1 to {MOST_RANGES - 1} rising numbers, such as [18, 30, 45, 65]")
def rising(value: Any) -> tuple[Fraction, ...]:
    if not isinstance(value, list) or not 0 < len(value) < MOST_RANGES:
        raise MisreadError
    found = tuple(map(exact, value))
    if any(b <= a for a, b in pairwise(found)):
        raise MisreadError
    return found


_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,9})?)")


@arguments.reader("a number, or a quantile between 'p0' and 'p100', such as 'p99' or 'p99.5'")
def bound(value: Any) -> Bound:
    if not isinstance(value, str):
        fixed: Fraction = exact(value)
        return fixed
    found = _QUANTILE.fullmatch(value)
    share = Fraction(found[1]) / 100 if found else Fraction(0)
    if not share:
        raise MisreadError
    return Quantile(share)


@arguments.reader("a text or a number")
def called(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise MisreadError
    return value if isinstance(value, str) else _number_ranges.text(exact(value))


OPTIONS: dict[str, Reader] = {
    "width": positive,
    "breaks": rising,
    "keep": arguments.whole(1, why=": with none nothing would be left"),
    "rare_below": arguments.whole(2, why=": every level has a row"),
    "top": bound,
    "bottom": bound,
    "from": exact,
    "label": arguments.choice(RANGE, LOWER),
    "as": called,
}
# What may stand beside an option, of the first of these that a rule has.
_BESIDE = {
    "width": ("from", "bottom", "top", "label"),
    "breaks": ("label",),
    "keep": ("rare_below", "as"),
    "rare_below": ("as",),
    "top": ("bottom",),
    "bottom": (),
}


Options = Mapping[str, Any]
# Makes a recoding, of a column's least and greatest value if these were asked for.
_Maker = Callable[[tuple[str, str] | None], Recoding | None]


def misread(column: str, given: Options) -> list[str]:
    """What is wrong with the options of a column's rule, whatever its type is."""
    return [f"column {quoted(column)}: {fault}" for fault in _misread(given)]


def _misread(given: Options) -> Iterator[str]:
    for name, value in given.items():
        if name not in OPTIONS:
            near = near_miss(name, OPTIONS)
            yield f"there is no option {name!r}.{near} Options: {listed(OPTIONS)}."
            continue
        try:
            OPTIONS[name](value)
        except MisreadError as misread:
            yield f"{name} {misread}, got {value!r}."
    leading = next((name for name in _BESIDE if name in given), None)
    if leading is None:
        yield f"its rule says nothing that is to be done; give one of {listed(_BESIDE)}."
        return
    for name in given:
        if name in OPTIONS and name != leading and name not in _BESIDE[leading]:
            yield f"{name!r} does not go with {leading!r}. {_remedy(leading, name)}"
    if leading == "keep" and "as" in given and "rare_below" not in given:
        yield "'as' is what rare levels become; it needs rare_below."


class RuleReader:
    """Reads the rules of one call; what is wrong with them goes to its faults."""

    def __init__(self, catalog: Catalog, source: Source, faults: Faults) -> None:
        self.catalog, self.source, self.faults = catalog, source, faults

    def read(self, rules: Sequence[tuple[Column, Options]]) -> list[Recoding]:
        """What becomes of each column; raises for all that is wrong, with rules and with what was found before."""
        makers: list[tuple[Column, _Maker]] = []
        asked = []
        for column, given in rules:
            said = misread(column.name, given)
            for fault in said:
                self.faults.add(fault)
            if not said:
                options = {name: OPTIONS[name](value) for name, value in given.items()}
                makers.append((column, self._maker(column, options)))
                asked += [column] if _is_asked(options) else []
        self.faults.raise_if_any()
        ends = self.catalog.extremes(self.source, asked) if asked else {}
        found = [make(ends.get(column.name)) for column, make in makers]
        self.faults.raise_if_any()
        return [recoding for recoding in found if recoding is not None]

    def _add(self, column: Column, fault: str) -> None:
        self.faults.add(f"column {quoted(column.name)}: {fault}")

    def _maker(self, column: Column, options: Options) -> _Maker:
        if "keep" in options or "rare_below" in options:
            made = self._of_categories(column, options)
            return lambda _: made
        numbers = numbers_of(column.type)
        if numbers is None:
            self._add(
                column,
                f"its type is {_plain(column)}, and {_leading(options)} is for numbers. For texts there are keep and "
                "rare_below; a date becomes a number in tbl, such as '(SELECT * REPLACE (year(d) AS d) FROM t)'.",
            )
            return lambda _: None
        for name in ("width", "from", "bottom", "top", "breaks"):
            self._check_fits(column, numbers, name, options.get(name))
        self._check_order(column, options)
        if "width" in options or "breaks" in options:
            return lambda ends: self._classed(column, numbers, options, ends)
        coded = Coded(column, numbers, options.get("bottom"), options.get("top"))
        return lambda _: coded

    def _of_categories(self, column: Column, options: Options) -> Recoding:
        keep, rare_below = options.get("keep"), options.get("rare_below")
        if keep is not None and not column.is_category:
            zeros = "; a number has lost the zeros that it began with" if column.is_numeric else ""
            self._add(
                column,
                f"its type is {column.type}, and keep counts the characters of texts{zeros}. Make it a text in tbl, "
                "such as '(SELECT * REPLACE (lpad(CAST(zip AS VARCHAR), 5, ''0'') AS zip) FROM t)'.",
            )
        if rare_below is None:
            return Shortened(column, keep or 0)
        name: str = options.get("as", OTHER)
        if keep is None and not (column.is_category or column.is_integer):
            self._add(
                column,
                f"its type is {_plain(column)}, and rare_below counts texts, enums and whole numbers; cut it into "
                "classes, or make it a text in tbl.",
            )
        numbers = numbers_of(column.type)
        if numbers is not None and not _is_one(name, numbers):
            self._add(
                column,
                f"rare levels cannot become {name!r}, which is no {column.type}; give a number that is none of the "
                "levels, such as 'as': -1, or make the column a text in tbl.",
            )
        return Merged(column, keep, rare_below, name)

    def _check_fits(self, column: Column, numbers: Numbers, name: str, value: Any) -> None:
        """Numbers that the column's type cannot hold would be labels, or values, that say something else."""
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Fraction) and not numbers.holds(each):
                self._add(
                    column, f"{name} is {_number_ranges.text(each)}, which is no {numbers.type}."
                )

    def _check_order(self, column: Column, options: Options) -> None:
        bottom: Any = options.get("bottom")
        top: Any = options.get("top")
        both = bottom is not None and top is not None and type(bottom) is type(top)
        if both and _size(bottom) >= _size(top):
            self._add(column, f"bottom must be below top, got {_said(bottom)} and {_said(top)}.")
        if "width" not in options:
            return
        for name, value in (("bottom", bottom), ("top", top)):
            if isinstance(value, Quantile):
                self._add(
                    column,
                    f"{name} of ranges must be a number, because their names are fixed before any row is read, got "
                    f"{_said(value)}. Code the ends by themselves first: CREATE TABLE … AS FROM recode_mask(…).",
                )
        if options.get("label") == LOWER and bottom is not None:
            self._add(column, "what is below bottom has no lower bound; leave bottom or label out.")

    def _classed(
        self,
        column: Column,
        numbers: Numbers,
        options: Options,
        ends: tuple[str, str] | None,
    ) -> Recoding | None:
        lower = options.get("label") == LOWER
        try:
            ranges = _ranges(numbers, options, ends)
        except RangesError as error:
            which = "breaks" if "breaks" in options else "width"
            self._add(column, f"{which} {error}; take wider ones{_ends_remedy(options)}.")
            return None
        if lower and not all(low is None or numbers.holds(low) for low, _ in ranges.spans):
            self._add(
                column,
                f"its first range begins below all that {column.type} holds, so that its lower bound is none; move "
                "from, or leave label out.",
            )
        return Classed(column, numbers, ranges, lower, _is_asked(options))


def _ranges(numbers: Numbers, options: Options, ends: tuple[str, str] | None) -> Ranges:
    if "breaks" in options:
        return _number_ranges.by_breaks(numbers, options["breaks"])
    origin = options.get("from", Fraction(0))
    bottom, top = options.get("bottom"), options.get("top")
    if ends is None:  # no value, or ranges that need none
        somewhere = next((each for each in (bottom, top) if each is not None), origin)
        least = greatest = somewhere
    else:
        least, greatest = map(_number_ranges.number, ends)
    return _number_ranges.by_width(
        numbers, options["width"], origin, bottom, top, least=least, greatest=greatest
    )


def _is_asked(options: Options) -> bool:
    """Whether only the data tell where the ranges begin and end."""
    return "width" in options and not ("bottom" in options and "top" in options)


def _remedy(leading: str, name: str) -> str:
    if leading == "breaks":
        return "Breaks say where all ranges begin and end."
    if name in ("from", "label"):
        return f"{name!r} goes with ranges: give width."
    if name == "as":
        return "'as' goes with rare_below."
    return "Recode a table that is recoded already: CREATE TABLE … AS FROM recode_mask(…)."


def _ends_remedy(options: Options) -> str:
    return ", or give bottom and top" if _is_asked(options) else ""


def _leading(options: Options) -> str:
    return next(name for name in _BESIDE if name in options)


def _is_one(written: str, numbers: Numbers) -> bool:
    try:
        return numbers.holds(_number_ranges.number(written))
    except (InvalidOperation, OverflowError, ValueError):
        return False


def _plain(column: Column) -> str:
    """A type without the levels of an enum."""
    return "ENUM" if column.is_enum else column.type


def _size(value: Bound) -> Fraction:
    return value.share if isinstance(value, Quantile) else value


def _said(value: Bound) -> str:
    return f"'{value}'" if isinstance(value, Quantile) else _number_ranges.text(value)
