"""Every column of a release, accounted for: masked, kept, dropped or new, and who declared it.

A column that is new, or that differs from the original's of the same name, and that nobody declared, fails. What is
kept is looked at for identifiers: values that next to every row has for itself, e-mail addresses, telephone numbers,
exact days.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import ROWS_PER_LEVEL
from ppduck.frozen import frozen
from ppduck.gate._pseudonyms import PARAMETER
from ppduck.gate.rules import Row
from ppduck.kernels.released_column import Type
from ppduck.masks.groups import GROUP_ID
from ppduck.pairs.columns import Compared
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import folded

EMAIL = r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
PHONE = r"\(?\+?[0-9][0-9 ().\-/]{5,}[0-9]"
# Telephone and insurance numbers that are dialled or written so and no other way: nobody else's, however often told.
DIALLED = (
    r"\+[0-9][0-9 ().\-/]{6,}[0-9]|\(?0[0-9]{1,4}\)?[ \-/][0-9 \-/]{4,}[0-9]|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4}|"
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}"
)
DAY = r"([12][0-9]{3}-[01]?[0-9]-[0-3]?[0-9]|[0-3]?[0-9][./][01]?[0-9][./]([12][0-9])?[0-9]{2})([ T].*)?"
_DATES = ("DATE", "TIMESTAMP")
# A text is read as telephone numbers or days where most of its values look so.
MOST = 0.5
# A column of which less than so many rows have the same value, on average, tells who somebody is.
UNIQUE = 1 / ROWS_PER_LEVEL
# So many different numbers that are dialled are those of people, and no codes.
MANY = 100
# Whole numbers of which most have so many digits, or that leave so few out, number people and do not measure them.
DIGITS, OF_ONE_LENGTH, DENSE = 5, 0.85, 1.5


@frozen
class Other:
    """A released column that is neither masked nor part of the key."""

    name: str
    type: str
    old: bool  # the original has one of that name
    declared: str  # by which parameter, if by any
    of_groups: bool = False  # the number of a group, which anatomy_mask puts in the place of conf
    was: str = ""  # the type that it has in the original

    @property
    def column(self) -> Column:
        return Column(self.name, self.type)

    @property
    def is_pseudonym(self) -> bool:
        return self.declared == PARAMETER

    @property
    def is_compared(self) -> bool:
        """Whether it is held against what it was: a number or a date, that was not masked."""
        before = Column(self.name, self.was)
        return (
            (before.is_numeric or self.was.startswith(_DATES))
            and not (self.column.is_boolean or self.is_pseudonym or self.of_groups)
            and self.declared != "conf"
        )

    @property
    def is_text(self) -> bool:
        return not (self.column.is_numeric or self.column.is_boolean or self.is_date)

    @property
    def is_date(self) -> bool:
        return self.type.startswith(_DATES)

    @property
    def is_whole(self) -> bool:
        return self.column.is_integer or self.type.endswith(",0)")

    @property
    def may_be_whole(self) -> bool:
        """Whether its values may be whole numbers all the same, as where another program read them."""
        return self.column.is_numeric and not self.is_whole

    @property
    def read_as(self) -> Type:
        if self.is_date:
            return Type.DATE
        return Type.TEXT if self.is_text else Type.NUMBER


def others(
    columns: Compared,
    conf: Sequence[Column],
    declared: dict[str, Sequence[Column]],
    *,
    grouped: bool,
) -> list[Other]:
    """The released columns beside conf and key; the pairs compare them with the original's."""
    taken = {folded(column.name) for column in [*conf, *columns.key]}
    by = {folded(each.name): name for name, named in declared.items() for each in named}
    found = []
    for column in columns.masked.columns or ():
        if folded(column.name) in taken:
            continue
        before = columns.original.find(column.name)
        columns.others.append((before, column))
        of_groups = grouped and folded(column.name) == folded(GROUP_ID)
        declared_by = by.get(folded(column.name), "")
        was = "" if before is None else before.type
        found.append(
            Other(column.name, column.type, before is not None, declared_by, of_groups, was)
        )
    return found


def profile(found: Sequence[Other]) -> dict[str, sql.Expr]:
    """Aggregates of the release's rows: of each other column how many there are, how many different, how they look."""
    parts: dict[str, sql.Expr] = {
        "_pp_rows": aggregates.rows()
    }  # of a release with no other columns
    for i, other in enumerate(found):
        value = sql.column(f"_pp_other{i}")
        looks = []
        if other.is_text:
            text = sql.cast(value, "VARCHAR")
            looks = [
                aggregates.count_if(sql.call("regexp_matches", text, sql.text(EMAIL))),
                *(
                    aggregates.count_if(sql.call("regexp_full_match", text.copy(), sql.text(look)))
                    for look in (PHONE, DAY, DIALLED)
                ),
            ]
        elif other.is_date:
            # the day as its text has it: a function would want a time zone
            day = sql.call("substr", sql.cast(value, "VARCHAR"), sql.number(9), sql.number(2))
            looks = [aggregates.count_if(exp.NEQ(this=day, expression=sql.text("01")))]
        elif other.is_whole:
            looks = [sql.double(sql.call(name, value.copy())) for name in ("min", "max")]
        elif other.may_be_whole:
            whole = value.eq(sql.call("floor", value.copy()))
            looks = [sql.double(sql.call(name, value.copy())) for name in ("min", "max")]
            looks.append(aggregates.count_if(whole.copy().not_()))
            value = sql.cases((whole, value))
        judged = other.is_text or other.is_date or other.column.is_numeric
        distinct = aggregates.count_distinct(value) if judged else sql.number(0)
        figures = [sql.call("count", value.copy()), distinct, *looks]
        parts[f"_pp_profile{i}"] = sql.array(figures, "DOUBLE")
    return parts


@frozen
class Figures:
    """What was counted of one column: values, different ones, and how many look like what."""

    rows: int
    same: int  # rows in which the original has the same
    values: float = 0.0
    different: float = 0.0
    looks: Sequence[
        float | None
    ] = ()  # of texts: e-mail addresses, telephone numbers, days; of whole numbers: ends

    @property
    def near_unique(self) -> bool:
        return self.values > 0 and self.different > UNIQUE * self.values

    @property
    def share(self) -> float:
        return min(self.different / self.values, 1.0) if self.values else 0.0


def declared_row(other: Other, figures: Figures) -> Row:
    """Whether somebody answers for a column."""
    changed = figures.rows - figures.same if other.old else figures.rows
    share = changed / figures.rows if figures.rows else 1.0
    if other.of_groups:
        why, share = "new: the groups of anatomy_mask", 0.0
    elif other.old and not changed:
        why, share = "kept: equal to the original's", 0.0
    elif other.declared:
        what = "changed" if other.old else "new"
        why, share = f"{what}, and declared by {other.declared}", 0.0
    else:
        what = "differs from the original's" if other.old else "is new"
        why = (
            f"{what}, and nobody declared it: name it in conf if it was masked, in pseudonyms if it stands for an "
            "identifier, in keep if it may be released as it is, or drop it"
        )
    return Row("declared", other.name, share, 0.0, why)


def identifier_rows(other: Other, figures: Figures, some: Sequence[str | None]) -> list[Row]:
    """What tells who somebody is by itself."""
    if other.of_groups or other.is_pseudonym or not figures.values:
        return []
    rows = []
    if other.is_text or other.is_date or _are_whole(other, figures):
        rows.append(_unique(other, figures, some))
    if other.is_text:
        rows.append(_pattern(other, figures))
    elif other.is_date and not other.declared:
        rows.append(_days(other, (figures.looks[0] or 0.0) / figures.values))
    return rows


def _are_whole(other: Other, figures: Figures) -> bool:
    return other.is_whole or (other.may_be_whole and figures.looks[2] == 0)


def _unique(other: Other, figures: Figures, some: Sequence[str | None]) -> Row:
    """A number that somebody declared is a figure of a person, which an intruder may know."""
    numbered = other.is_date or (_are_whole(other, figures) and _numbered(figures, some))
    judged = other.is_text or (numbered and not other.declared)
    why = (
        "different values for each row; fewer than three rows a value tell who somebody is: drop it, or coarsen "
        "it"
    )
    if not other.is_text:
        why += ", or name it in nonconf if it is a figure that an intruder may know"
    if not judged:
        why = "different values for each row; " + (
            f"declared by {other.declared}"
            if other.declared
            else "a figure, and no number of an account"
        )
    return Row("identifier", other.name, figures.share, UNIQUE if judged else 1.0, why)


def _numbered(figures: Figures, some: Sequence[str | None]) -> bool:
    """Whether whole numbers look like those of accounts: one behind the other, or all of as many digits."""
    least, most = (0.0 if end is None else end for end in figures.looks[:2])
    if most - least < DENSE * figures.different:
        return True
    lengths = [len(text.lstrip("-").removesuffix(".0")) for text in some if text is not None]
    usual = max(set(lengths), key=lengths.count, default=0)
    return usual >= DIGITS and lengths.count(usual) > OF_ONE_LENGTH * len(lengths)


def _pattern(other: Other, figures: Figures) -> Row:
    emails, phones, days, dialled = ((count or 0.0) / figures.values for count in figures.looks)
    if days > MOST and not other.declared:
        return _days(other, days)
    theirs = figures.near_unique or (figures.different > MANY and dialled - days > MOST)
    if phones - days > MOST and theirs and emails == 0:
        why = "share of values that look like telephone numbers; drop them"
        return Row("pattern", other.name, phones, MOST, why)
    why = "share of values that hold an e-mail address; drop them"
    return Row("pattern", other.name, emails, 0.0, why)


def _days(other: Other, share: float) -> Row:
    why = (
        "share of values that are exact days, which tell who somebody is; coarsen them to months or years, shift them, "
        "or name the column in keep or nonconf if an intruder may know it"
    )
    return Row("pattern", other.name, share, 0.0, why)


def fixed_rows(columns: Compared, conf: Sequence[Column], dropped: Sequence[Column]) -> list[Row]:
    """Columns whose part is known before any row is read."""
    gone = {folded(column.name) for column in dropped}
    rows = []
    for column in conf:
        if any(folded(after.name) == folded(column.name) for _, after in columns.others):
            continue  # in another form, of which there is a row of its own
        why = "dropped" if folded(column.name) in gone else "masked: named in conf"
        rows.append(Row("declared", column.name, 0.0, 0.0, why))
    rows += [
        Row("declared", column.name, 0.0, 0.0, "key: rows are matched by it")
        for column in columns.key
    ]
    known = {folded(column.name) for column in conf}
    left = [
        column.name
        for column in columns.original.columns or ()
        if columns.masked.find(column.name) is None and folded(column.name) not in known
    ]
    rows += [Row("declared", name, 0.0, 0.0, "dropped") for name in left]
    return rows
