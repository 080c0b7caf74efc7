"""What the planner reads before a query: which columns a source has, and the levels of its categories.

The planner looks through a cursor of its own. A cursor sees neither temporary objects nor what an
open transaction has not committed, so a source may be unknown here and still run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from ppduck.catalogue import questions
from ppduck.catalogue.reader import Reader
from ppduck.catalogue.rehearsal import read_through
from ppduck.catalogue.source import Column, Home, Source
from ppduck.catalogue.table_names import parts, written
from ppduck.catalogue.trip import Trip
from ppduck.errors import Faults, PpduckError, UnreadError, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign
from ppduck.values import folded

LOOK_AHEAD = 10_000
ROWS_PER_LEVEL = 3  # a text with fewer rows a level is a name, not a category
_SMALL_PART = 0.25
_NOISE_COLUMNS = 5
_MISSING = re.compile(r"Table with name \"?(?P<name>.*?)\"? does not exist!")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@frozen
class Catalog:
    """The database as one connection's planner sees it."""

    reader: Reader
    trip: Trip = field(default_factory=Trip)
    place: tuple[str, ...] = ()  # database, schema and search path, from which names are looked for

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of ppduck's."""
        return self.reader.execute(f"SELECT {expression}").fetchone()[0]

    def constant(self, expression: str) -> Any:
        """The value of an argument that is no plain literal; a call may be planned several times and must agree."""
        first, second = (self.evaluate(foreign(expression)) for _ in range(2))
        if repr(first) != repr(second):  # NaN is not equal to itself
            raise PpduckError(f"ppduck: an argument must be constant, and {expression} is not.")
        return first

    def source(self, function: str, given: str) -> Source:
        """Reads ``tbl``: a name, a file, or a parenthesised SELECT."""
        faults = Faults(function)
        stripped = given.strip()
        if stripped.startswith("("):
            return self._select(faults, stripped)
        name = written(stripped)
        candidates = [name] if name else []
        if name is None or "." in stripped or "/" in stripped:
            candidates.append(sql.render(exp.to_identifier(stripped, quoted=True)))
        troubles = []
        for candidate in candidates:
            try:
                source = self._described(stripped, candidate)
            except UnreadError as error:
                troubles.append(_trouble(faults, stripped, candidate, error))
            else:
                self._read_through(faults, source)
                return source
        if name is None and not re.fullmatch(r"[^\s;()]+\.[^\s;()]+", stripped):
            raise faults.refuse(
                f"a table must be named as one table or view, a file, or a parenthesised SELECT; {stripped!r} is "
                "none of these."
            )
        # It may be a stream, which can be read once only.
        return Source(
            stripped,
            candidates[0],
            None,
            repeatable=False,
            trouble=next(filter(None, troubles), ""),
        )

    def columns_of(self, source: Source) -> tuple[Column, ...]:
        """The columns of a source, by the name that it goes by now."""
        return self._columns(source.sql)[0]

    def records_of(self, source: Source) -> tuple[Any, ...]:
        """What the calls that a source holds tell of themselves when they are planned."""
        return self.trip.recorded_by(lambda: self._columns(source.sql))

    def tables(self) -> list[str]:
        return sorted({entry.name for entry in self.trip.entries(self.reader)})

    def unseen(
        self, source: Source, remedy: str = "name every column to use: conf := […], nonconf := […]."
    ) -> str:
        """What to say of a table that is missing here, or only invisible from here."""
        why = (
            f" {source.trouble.rstrip('. ')}."
            if source.trouble
            else near_miss(source.label, self.tables())
        )
        return (
            f"the planner cannot see {quoted(source.label)}.{why} If it is a temporary table, a data frame or "
            f"not yet committed, {remedy}"
        )

    def levels(self, source: Source, column: Column, at_most: int) -> list[str] | None:
        """The distinct values of a category as texts, in the order of their type; None where there are more."""
        name = sql.column(column.name)
        if column.is_enum:
            found = self.evaluate(f"enum_range(NULL::{column.type})")
            return list(found) if len(found) <= at_most else None
        question = ("levels", self.place, source.sql, column.name, at_most)
        return self.trip.once(question, lambda: self._read_levels(source, name, at_most))

    def _read_levels(self, source: Source, name: sql.Expr, at_most: int) -> list[str] | None:
        level, distinct = sql.column(questions.LEVEL), questions.distinct(source, name, at_most)
        listed = sql.query(
            [sql.cast(level, "VARCHAR")], sql.derived(distinct, "levels"), order=[level.copy()]
        )
        rows = self.reader.execute(sql.render(listed)).fetchall()
        return [row[0] for row in rows] if len(rows) <= at_most else None

    def counts(self, source: Source, column: Column, levels: Sequence[str | None]) -> list[int]:
        """How many rows have each of these levels."""
        counts = dict(self.reader.execute(sql.render(questions.counts(source, column))).fetchall())
        return [counts.get(level, 0) for level in levels]

    def extremes(
        self, source: Source, columns: Sequence[Column]
    ) -> dict[str, tuple[str, str] | None]:
        """The least and the greatest finite value of columns of numbers; None of one that has no value."""
        names = [column.name for column in columns]
        question = ("extremes", self.place, source.sql, *names)
        found = self.trip.once(question, lambda: self._read_extremes(source, columns))
        ends = zip(found[::2], found[1::2], strict=True)
        return {
            name: None if low is None else (low, high)
            for name, (low, high) in zip(names, ends, strict=True)
        }

    def _read_extremes(self, source: Source, columns: Sequence[Column]) -> tuple[Any, ...]:
        query = sql.render(questions.extremes(source, columns))
        return tuple(self.reader.execute(query).fetchone())

    def as_type(self, value: object, type_: str) -> str | None:
        """A value as the text that a type gives it; None where the type has no such value."""
        if isinstance(value, (float, Decimal)) and Column("", type_).is_integer and value % 1:
            return None  # a cast would round it
        text = str(value).lower() if isinstance(value, bool) else str(value)
        query = f"SELECT CAST(TRY_CAST(CAST(? AS VARCHAR) AS {type_}) AS VARCHAR)"
        found = self.reader.execute(query, [text]).fetchone()[0]
        return None if found is None else str(found)

    def homes(self, name: str) -> list[Home]:
        """Where a table or view of that name is, as far as the planner can see; the most likely place first."""
        *places, own = parts(name)
        entries = [
            each for each in self.trip.entries(self.reader) if folded(each.name) == folded(own)
        ]
        here = self._here() if len(entries) > 1 else ()
        entries.sort(key=lambda each: (each.database not in here[:1], each.schema not in here[1:]))
        found = [
            Home(each.database, each.schema, each.name, each.created or None) for each in entries
        ]
        where = [folded(place) for place in places]
        if len(where) == 2:
            return [home for home in found if [folded(home.database), folded(home.schema)] == where]
        if len(where) == 1:
            own_schemas = [home for home in found if folded(home.schema) == where[0]]
            return own_schemas or [home for home in found if folded(home.database) == where[0]]
        return found

    def home(self, name: str) -> Home | None:
        """Where a name leads to; None where it leads nowhere, or where only the search path could tell."""
        homes = self.homes(name)
        if len(homes) > 1 and len(parts(name)) < 3:
            here = self._here()
            homes = [home for home in homes if (home.database, home.schema) == here or "." in name]
            homes = homes if len(homes) == 1 else []
        return homes[0] if homes else None

    def _here(self) -> tuple[str, ...]:
        """The database and the schema in which names are looked for first."""
        query = "SELECT current_database(), current_schema()"
        return self.place[:2] or tuple(self.reader.execute(query).fetchone())

    def few_valued(
        self, source: Source, columns: Sequence[Column], at_most: int
    ) -> dict[str, list[str]]:
        """Which of these categories have few levels, and which levels; a short look rules names out."""
        texts = [column for column in columns if not column.is_enum]
        crowded: set[str] = set()
        if texts:
            rows, seen = self._seen(source, texts)
            most = min(at_most, rows / ROWS_PER_LEVEL)
            crowded = {text.name for text, count in zip(texts, seen, strict=True) if count > most}
        asked = [column for column in columns if column.name not in crowded]
        found = self.levels_of(source, asked, at_most)
        return {name: levels for name, levels in found.items() if levels is not None}

    def levels_of(
        self, source: Source, columns: Sequence[Column], at_most: int
    ) -> dict[str, list[str] | None]:
        """The same as ``levels`` of several categories."""
        return {column.name: self.levels(source, column, at_most) for column in columns}

    def with_null(self, source: Source, columns: Sequence[Column]) -> frozenset[str]:
        """Those of the columns that hold NULL."""
        if not columns:
            return frozenset()
        query = questions.holding_null(source, columns)
        found = self.reader.execute(sql.render(query)).fetchone()
        return frozenset(column.name for column, null in zip(columns, found, strict=True) if null)

    def many_valued(
        self, source: Source, columns: Sequence[Column], above: int, at_most: int
    ) -> list[str]:
        """Which of these categories, all with more levels than ``above``, are categories still, and no names."""
        texts = [column for column in columns if not column.is_enum]
        rows, seen = self._seen(source, texts) if texts else (0, [])
        most = min(at_most, rows / ROWS_PER_LEVEL)
        names = {
            text.name
            for text, count in zip(texts, seen, strict=True)
            if count > most or rows < above
        }
        return [column.name for column in columns if column.name not in names]

    def _seen(self, source: Source, texts: Sequence[Column]) -> tuple[int, list[int]]:
        """How many rows a short look sees, and how many levels of each column."""
        counts = [
            sql.call("count", exp.Distinct(expressions=[sql.column(text.name)])) for text in texts
        ]
        head = sql.query([exp.Star()], sql.source(source.sql), limit=sql.number(LOOK_AHEAD))
        query = sql.query([sql.call("count", exp.Star()), *counts], sql.derived(head, "_pp_head"))
        rows, *seen = self.reader.execute(sql.render(query)).fetchone()
        return rows, seen

    def about_how_many_rows(self, source: Source) -> int | None:
        """What the catalogue says of a table; None for a view or a file, of which only a look would tell."""
        own = folded(parts(source.sql)[-1])
        sizes = [
            entry.rows for entry in self.trip.entries(self.reader) if folded(entry.name) == own
        ]
        return max((size for size in sizes if size is not None), default=None)

    def size_of(self, source: Source) -> int | None:
        """The same of a table whose place is known, for who must not take one table for another."""
        return (
            self.about_how_many_rows(source)
            if source.has_rowid and self.homes(source.sql)
            else None
        )

    def fits_in_memory(self, source: Source) -> bool:
        """Whether all rows of a source, some eight bytes a value, take a small part of the memory limit."""
        if not source.repeatable:
            return True  # it is kept already
        rows = self.about_how_many_rows(source)
        if rows is None:
            return False
        limit = _bytes(self.evaluate("current_setting('memory_limit')"))
        return bool(rows * (len(source.columns or ()) + _NOISE_COLUMNS) * 8 < limit * _SMALL_PART)

    def _select(self, faults: Faults, text: str) -> Source:
        inner = text[1:-1].strip()
        try:
            statements = self.reader.extract_statements(inner) if text.endswith(")") else []
            ok = (
                len(statements) == 1
                and statements[0].type.name == "SELECT"
                and ";" not in inner[-1:]
            )
        except UnreadError:
            ok = False
        if not ok:
            raise faults.refuse(
                f"tbl must hold exactly one SELECT between its parentheses; got {text!r}."
            )
        own = foreign(text)
        try:
            columns, row_type = self._columns(own)
        except UnreadError as error:
            return Source(
                text, own, None, repeatable=False, trouble=_trouble(faults, text, text, error)
            )
        source = Source(text, own, columns, repeatable=False, row_type=row_type)
        self._read_through(faults, source)
        return source

    def _read_through(self, faults: Faults, source: Source) -> None:
        """Once for a call, unless a table has the rows already."""
        if not source.has_rowid:
            self.trip.once(
                ("read through", self.place, source.sql),
                lambda: read_through(
                    self.reader, faults, source.label, source.sql, self._definitions()
                ),
            )

    def _definitions(self) -> list[str]:
        return [entry.created for entry in self.trip.entries(self.reader)]

    def _described(self, label: str, name: str) -> Source:
        return self.trip.once(
            ("source", self.place, label, name), lambda: self._describe(label, name)
        )

    def _describe(self, label: str, name: str) -> Source:
        columns, row_type = self._columns(name)
        own_rowid = any(folded(column.name) == "rowid" for column in columns)
        # To ask a view would plan all that it holds.
        may_have = not own_rowid and not self._is_view(name)
        has_rowid = may_have and self._runs(f"SELECT rowid FROM {name} LIMIT 0")
        return Source(label, name, columns, has_rowid, has_rowid or self._is_file(name), row_type)

    def _columns(self, source: str) -> tuple[tuple[Column, ...], str]:
        """The columns of a source, and the type of its rows."""
        return self.trip.once(("columns", self.place, source), lambda: self._read_columns(source))

    def _read_columns(self, source: str) -> tuple[tuple[Column, ...], str]:
        query = f'DESCRIBE SELECT "_pp_row".*, "_pp_row" FROM {source} AS "_pp_row"'
        *rows, (_, row_type, *_) = self.reader.execute(query).fetchall()
        # Constraints are left aside: an open transaction may have replaced the table by one without them.
        return tuple(Column(name, type_) for name, type_, *_ in rows), str(row_type)

    def _is_view(self, name: str) -> bool:
        """Whether whatever bears a name is a view."""
        own = folded(parts(name)[-1])
        return {
            entry.is_view for entry in self.trip.entries(self.reader) if folded(entry.name) == own
        } == {True}

    def _is_file(self, name: str) -> bool:
        """Whether a name that can be read is no catalogue entry: then it is a file."""
        return folded(parts(name)[-1]) not in {folded(table) for table in self.tables()}

    def _runs(self, query: str) -> bool:
        try:
            self.reader.execute(query)
        except UnreadError as error:
            if not error.unseen:
                raise
            return False
        return True


def _trouble(faults: Faults, label: str, name: str, error: UnreadError) -> str:
    """Why a source cannot be seen, unless it is only not there; raises where it is there and cannot be read."""
    if not error.unseen:
        raise faults.refuse(f"{quoted(label)}: {error}")
    missing = _MISSING.search(str(error))
    absent = (
        missing is not None
        and not name.startswith("(")
        and folded(missing["name"]) == folded(parts(name)[-1])
    )
    return "" if absent else str(error)


def _bytes(setting: str) -> float:
    """'18.8 GiB' as a number; 0 for a setting that cannot be read."""
    amount, _, unit = setting.partition(" ")
    return float(amount) * _UNITS.get(unit, 0)
