"""What a proposal looks at: some rows of a table, of which one statement counts how the values of each column look.

Of texts it is counted how many have the form of an address, a number of a card, a date and so on; no text leaves DuckDB
but those whose check digits are tried. Numbers, days and, for texts, hashes go to Python, to be counted and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from ppduck.call.spec import Spec
from ppduck.call.udf import Udf, told_types
from ppduck.catalogue.source import Column, Source
from ppduck.frozen import frozen
from ppduck.kernels.check_digits import is_card, is_iban
from ppduck.kernels.pseudonyms import FEWEST_DIGITS, MOST_DIGITS
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.query.tree import Statement
from ppduck.values import Array

SAMPLE = 10_000
FEWEST = 1_000  # rows that are looked at of however many columns
MOST_VALUES = 2_000_000  # that go to Python
MOST_READ = (
    500_000_000  # values of a table of which a sample from everywhere is taken: it reads all
)
TAKEN = ("other", "rare", "(rare)")  # what rare levels may become, unless it is a level already
LOOKED = "_pp_looked"
_SAMPLE, _FORMS = "_pp_sample", "_pp_forms"
_TEXT, _CODE, _PLACE = "_pp_text", "_pp_code", "_pp_place"
_SECONDS_OF_A_DAY = 86_400
_LONG_NUMBERS = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")


class Look(Enum):
    """A form that a text may have: a pattern of the whole text, without spaces around it."""

    EMAIL = r"[^@\s]+@[^@\s]+\.\p{L}[\p{L}\p{N}-]+"
    URL = r"(?i)(https?|ftp)://\S+|www\.\S+\.\S+"
    IP = r"(\d{1,3}\.){3}\d{1,3}|(?i)([0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}|([0-9a-f]{2}[:-]){5}[0-9a-f]{2}"
    UUID = r"(?i)\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?"
    DATE = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})([ T].*)?"
    PHONE = (
        r"(\+|00)[1-9][\d ()/.-]{6,22}|\(?0\d{1,5}\)?[ /.-]+\d[\d /.-]{3,14}"
        r"|\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4}"
    )
    NUMBER = r"[+-]?\d+([.,]\d+)?"
    NAME = r"\p{Lu}[\p{L}'’-]+( \p{Lu}\.?| (von|van|de|der|zu|la|di))*,? \p{Lu}[\p{L}'’-]+"
    STRUCTURE = r"(?s)[\[{].*[\]}]"
    CARD = r"\d([ -]?\d){12,18}"
    IBAN = r"(?i)[a-z]{2}\d{2}([ ]?[a-z0-9]){11,30}"


_CHECKED = (Look.CARD, Look.IBAN)


@frozen
class Asked:
    """A column, by name and type."""

    name: str
    type: str

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)


@frozen
class SuggestionSpec(Spec):
    columns: list[Asked]
    key: list[str]
    whole: int | None  # about how many rows the table has, where that is known
    first: bool  # whether the first rows are looked at, and not some from everywhere


@frozen
class Looked:
    """What was counted of the rows; lists have an item for each column with single values, if nothing else is said."""

    rows: int
    present: list[int]  # that are not NULL, of each column of whatever type
    distinct: list[int]
    looks: list[int]  # how many are texts of each form, form by form
    within: list[int]  # texts that hold an address
    digits: list[int]  # texts that have so many digits that they can have others
    taken: list[int]  # texts that are what rare levels might become
    longest: list[int | None]  # characters of texts
    words: list[float | None]  # of texts, at the mean
    values: Array | None  # what each has as a number, row by row; NaN for NULL


FIELDS = tuple(told_types(Looked))


def is_date(column: Column) -> bool:
    return column.type == "DATE" or column.type.startswith("TIMESTAMP")


def is_single(column: Column) -> bool:
    """Whether something can be said of its values: they are numbers, texts, dates, flags or UUIDs."""
    plain = column.is_numeric or column.is_boolean or column.is_category
    return plain or is_date(column) or column.type == "UUID"


def sample_size(columns: int) -> int:
    """How many rows are looked at, at least, if there are so many."""
    return max(FEWEST, min(SAMPLE, MOST_VALUES // max(columns, 1)))


@frozen
class _Sampled:
    """A column in the sample, by its place: names of the table's own never meet those that are made here."""

    place: int
    column: Column

    @property
    def value(self) -> sql.Expr:
        return sql.column(f"_pp_value{self.place}")

    def read(self) -> sql.Expr:
        """The column as the sample reads it."""
        name = self.column.name
        value = sql.hidden(name) if self.column.is_integer else sql.column(name)
        return sql.named(value, self.value.name)

    @property
    def text(self) -> sql.Expr:
        """What is compared with forms: texts, and whole numbers that are long enough for the number of a card."""
        if self.column.is_category or self.column.type in _LONG_NUMBERS:
            return sql.call("trim", sql.cast(self.value, "VARCHAR"))
        return sql.null()

    @property
    def code(self) -> sql.Expr:
        """What values are told apart by."""
        digest = sql.call("hash", sql.cast(self.value, "VARCHAR"))
        return sql.cases((exp.Not(this=self.value.is_(exp.null())), digest))

    @property
    def number(self) -> sql.Expr:
        """What is compared: the number, the day, or what stands for a text."""
        if self.column.is_numeric:
            number = sql.tried(self.value, "DOUBLE")
            return sql.cases((sql.call("isfinite", number), number.copy()))
        if self.column.is_boolean:
            return sql.double(self.value)
        if is_date(self.column):
            seconds = sql.call("epoch", self._time())
            day = exp.Div(this=seconds, expression=sql.number(_SECONDS_OF_A_DAY))
            return sql.cases((sql.call("isfinite", self._time()), sql.call("floor", day)))
        return sql.short(sql.paren(self.code))

    def _time(self) -> sql.Expr:
        """The value as a time, if it is one that a TIMESTAMP can be."""
        is_zoned = self.column.type == "TIMESTAMP WITH TIME ZONE"
        return self.value if is_zoned else sql.tried(self.value, "TIMESTAMP")


def looked(source: Source, columns: Sequence[Column], rows: int | None) -> tuple[Statement, bool]:
    """The steps to ``LOOKED``, a row with all fields of ``Looked``; and whether it may be of the first rows only."""
    size = sample_size(len(columns))
    everywhere = rows is not None and rows * len(columns) <= MOST_READ
    step = max((rows or 0) // size, 1) if everywhere else 1
    every = [_Sampled(i, column) for i, column in enumerate(columns)]
    single = [each for each in every if is_single(each.column)]
    statement = Statement()
    sample = _sample(source, every, step, limit=2 * size if step > 1 else size)
    statement.step(_SAMPLE, sample, materialized=True)
    statement.step(_FORMS, _forms(single), materialized=False)
    numbers = sql.call("list", sql.array((each.number for each in single), "DOUBLE"))
    figures = {
        "rows": aggregates.rows(),
        "present": sql.array((sql.call("count", each.value) for each in every), "BIGINT"),
        "values": sql.call("flatten", numbers),
    }
    counted = sql.derived(sql.query(sql.columns(figures), sql.table(_SAMPLE)), "_pp_counted")
    statement.step(
        LOOKED, sql.query([exp.Star()], counted.cross(sql.table(_FORMS))), materialized=False
    )
    return statement, step == 1


def _forms(single: Sequence[_Sampled]) -> sql.Expr:
    """One row of lists. Values stand below each other first, as counts of so many columns would take long to plan."""
    unnested = {
        _TEXT: sql.array((each.text for each in single), "VARCHAR"),
        _CODE: sql.array((each.code for each in single), "UBIGINT"),
        _PLACE: sql.call("range", sql.number(len(single))),
    }
    below = sql.columns({name: sql.call("unnest", each) for name, each in unnested.items()})
    text, place = sql.column(_TEXT), sql.column(_PLACE)
    figures = {
        "distinct": aggregates.count_distinct(sql.column(_CODE)),
        "looks": _counts(_has(text, look) for look in Look),
        "within": _count(sql.call("regexp_matches", text.copy(), sql.text(Look.EMAIL.value))),
        "digits": _count(_fits_digits(text)),
        "taken": _counts(sql.equal(text.copy(), sql.text(each)) for each in TAKEN),
        "longest": sql.call("max", sql.call("length", text.copy())),
        "words": sql.call("avg", _words(text)),
    }
    of_each = sql.query(
        sql.columns({_PLACE: place, **figures}),
        sql.derived(sql.query(below, sql.table(_SAMPLE)), "_pp_below"),
        group=[place.copy()],
    )
    lists = {name: sql.in_order("list", sql.column(name), [place.copy()]) for name in figures}
    for name in ("looks", "taken"):
        lists[name] = sql.call("flatten", lists[name])
    return sql.query(sql.columns(lists), sql.derived(of_each, "_pp_each"))


def _sample(source: Source, every: Sequence[_Sampled], step: int, limit: int) -> sql.Expr:
    """Some rows of the source: of a large table those whose number says so, the same ones at every call."""
    where = None
    if step > 1:
        place = exp.Mod(this=sql.call("hash", sql.column("rowid")), expression=sql.number(step))
        where = sql.equal(place, sql.number(0))
    own = [each.read() for each in every]
    rows = sql.source(source.sql, "_pp_row")
    # Of a limit that it knows, DuckDB would sort rows by their number first, whose plan names the least of a column.
    some = sql.scalar(sql.query([sql.number(limit)]))
    return sql.query(own, rows, where=where, limit=some)


def _count(condition: sql.Expr) -> sql.Expr:
    """How many meet a condition; count_if alone is NULL where the condition always is."""
    return sql.call("coalesce", aggregates.count_if(condition), sql.number(0))


def _counts(conditions: Iterable[sql.Expr]) -> sql.Expr:
    return sql.array((_count(each) for each in conditions), "BIGINT")


def _has(text: sql.Expr, look: Look) -> sql.Expr:
    found = sql.call("regexp_full_match", text.copy(), sql.text(look.value))
    if look not in _CHECKED:
        return found
    plain = sql.call("upper", sql.call("replace", text.copy(), sql.text(" "), sql.text("")))
    plain = sql.call("replace", plain, sql.text("-"), sql.text(""))
    return sql.cases((found, sql.call(CHECK_DIGITS.name, plain)), otherwise=exp.false())


def _fits_digits(text: sql.Expr) -> sql.Expr:
    """Whether the form 'digits' of a pseudonym takes a text."""
    count = sql.call(
        "length", sql.call("regexp_replace", text.copy(), *map(sql.text, ("[^0-9]", "", "g")))
    )
    others = sql.call("regexp_matches", text.copy(), sql.text(r"[^\P{N}0-9]"))
    enough = exp.Between(this=count, low=sql.number(FEWEST_DIGITS), high=sql.number(MOST_DIGITS))
    return exp.and_(enough, exp.Not(this=others))


def _words(text: sql.Expr) -> sql.Expr:
    spaces = sql.call("regexp_replace", text.copy(), *map(sql.text, (r"\S+", "x", "g")))
    without = sql.call("replace", spaces, sql.text(" "), sql.text(""))
    return sql.call("length", without)


def _fit(texts: Any) -> pa.Array:
    """Whether the check digits of cards and accounts are right; of texts that have the form of one."""
    found = np.zeros(len(texts), dtype=bool)
    values = texts.to_pylist()
    for judge, is_meant in ((is_card, str.isdigit), (is_iban, lambda text: not text.isdigit())):
        own = [i for i, text in enumerate(values) if text and is_meant(text)]
        if own:
            found[own] = judge([values[i] for i in own])
    return pa.array(found)


CHECK_DIGITS = Udf("ppduck_check_digits", _fit, ("VARCHAR",), "BOOLEAN")
