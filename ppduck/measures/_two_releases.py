"""Two releases of overlapping rows side by side: which columns are looked at, and the rows joined by key.

``_pp_joined`` has a row for each key that either release has: open columns ``_pp_s0_first…``, ``_pp_s0_second…``,
numbers ``_pp_y0_first…``, categories ``_pp_a0_first…``, the number of each release's group ``_pp_group_first…``, and
where there is an original its values ``_pp_y0_original…``. What a release does not have is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.call.roles import (
    Feature,
    categories_among,
    choose_nonconf,
    features_of,
    numeric,
    refuse_overlap,
    refuse_reserved,
    resolve_columns,
)
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.keys import told_apart
from ppduck.values import folded

FIRST, SECOND, ORIGINAL = SIDES = ("first", "second", "original")
JOINED, COUNTS, CHECK, CHECKED = "_pp_joined", "_pp_counts", "_pp_check", "_pp_checked"
BOTH = "_pp_both"
NOTHING = "there is nothing to look at; name confidential columns in conf := […], or what groups rows in qi := […]."


@frozen
class KeySpec(Spec):
    """The names of the tables and of the key."""

    tables: list[str]
    key: list[str]


@frozen
class KeyCounts:
    """Rows, keys and rows without one of each table, and keys that both releases have."""

    rows: list[int]
    keys: list[int]
    missing: list[int]
    common: int


def checked(spec: KeySpec, told: KeyCounts) -> int:
    """The number of keys that both releases have, if each is once in its table."""
    faults = spec.faults()
    keys = listed(spec.key)
    for table, rows, found, missing in zip(
        spec.tables, told.rows, told.keys, told.missing, strict=True
    ):
        if missing:
            faults.add(
                f"key ({keys}) is NULL in {missing} of the {rows} rows of {quoted(table)}; leave them out, such as "
                "'(SELECT … WHERE … IS NOT NULL)'."
            )
        elif found < rows:
            faults.add(
                f"rows are matched by key ({keys}), and only {found} of the {rows} rows of {quoted(table)} have a key "
                "of their own; name a key that is unique."
            )
    faults.raise_if_any()
    if not told.common:
        first, second, *_ = spec.tables
        raise faults.refuse(
            f"no key ({keys}) is in both {quoted(first)} and {quoted(second)}; they tell nothing together. Name a key "
            "that means the same in both."
        )
    return told.common


CHECK_KEYS = told_udf("ppduck_releases_overlap", checked, KeySpec, KeyCounts, "BIGINT")


def at(kind: str, place: int | str, side: str) -> str:
    """The name of a value of one table, such as _pp_y0_first."""
    return f"_pp_{kind}{place}_{side}"


class TwoReleases:
    """The tables of one call, their key, and the columns that are looked at."""

    def __init__(self, function: str, catalog: Catalog, tables: dict[str, str]) -> None:
        self.function, self.catalog = function, catalog
        self.sources = {side: self._seen(table) for side, table in tables.items()}
        self.faults = Faults(function, self.sources[FIRST].label)
        for source in self.sources.values():
            refuse_reserved(self.faults, source)
        self.key: list[Column] = []
        self.numbers: list[Column] = []
        self.categories: list[Column] = []
        self.features: list[tuple[Feature, Feature]] = []
        self.qi: dict[str, list[Column]] = {}

    def _seen(self, given: str) -> Source:
        source = self.catalog.source(self.function, given)
        if source.columns is None:
            raise Faults(self.function).refuse(
                self.catalog.unseen(source, "make it a table and commit.")
            )
        return source

    @property
    def has_original(self) -> bool:
        return ORIGINAL in self.sources

    @property
    def groups(self) -> bool:
        """Whether both releases have groups of alike rows."""
        return bool(self.qi)

    def use_key(self, names: Sequence[str]) -> None:
        if not names:
            self.faults.add(
                "key is empty; name the columns that identify a row, such as key := 'id'."
            )
        self.key = self._in_all("key", names, list(self.sources))
        self.faults.raise_if_any()

    def use_conf(self, names: Sequence[str], randomized: Sequence[str]) -> None:
        """Confidential columns: numbers, and categories; those that are ``randomized`` are categories in any type.

        A category may be in the original only where releases have groups: they tell its values group by group.
        """
        grouped = self.groups and self.has_original
        sides = [ORIGINAL] if grouped else list(self.sources)
        found = self._in_all("conf", names, sides)
        refuse_overlap(self.faults, {"key": self.key, "conf": found}, "key")
        by_group = {folded(c.name) for each in self.qi.values() for c in each}
        for column in found:
            if folded(column.name) in by_group:
                self.faults.add(f"column {quoted(column.name)} is in both conf and qi.")
            own = [each for s in self.sources if (each := self.column(s, column.name))]
            is_category = folded(column.name) in {folded(name) for name in randomized}
            if not is_category and len(own) == len(self.sources):
                numbers = {each.is_numeric for each in own}
                if numbers == {True}:
                    self.numbers.append(column)
                    continue
                if len(numbers) > 1:
                    types = ", ".join(
                        f"{each.type} in {quoted(self.sources[side].label)}"
                        for side, each in zip(self.sources, own, strict=True)
                    )
                    self.faults.add(
                        f"conf names column {quoted(column.name)}, which is {types}; they cannot be compared."
                    )
                    continue
            self.categories.append(column)

    def use_nonconf(self, names: Sequence[str] | None) -> None:
        """What both releases publish as it is, as features; by default what they have beside conf, key and qi."""
        first, second = self.sources[FIRST], self.sources[SECOND]
        named = None if names is None else self._in_all("nonconf", names, (FIRST, SECOND))
        refuse_overlap(self.faults, {"conf": self.numbers, "nonconf": named or []}, "conf")
        own = [*self.numbers, *self.categories, *self.key]
        taken = {folded(c.name) for c in [*own, *(c for each in self.qi.values() for c in each)]}
        free = [c for c in first.columns or () if folded(c.name) not in taken]
        alike = [
            c for c in free if (d := second.find(c.name)) is not None and _kind(c) == _kind(d) != ""
        ]
        chosen, levels = choose_nonconf(self.faults, self.catalog, first, named, alike)
        for column in chosen:
            other = second.find(column.name)
            if other is None or _kind(column) != _kind(other):
                self.faults.add(
                    f"nonconf names column {quoted(column.name)}, which is no {column.type} in "
                    f"{quoted(second.label)}; it must be published alike in both."
                )
        self.faults.raise_if_any()
        among = categories_among(chosen, levels)
        nulls = self.catalog.with_null(first, among) | self.catalog.with_null(second, among)
        for column in chosen:
            # A level that only the second has counts as the first of all, which the sum of all rows makes up for.
            pair = [features_of(column, levels, nulls) for _ in (FIRST, SECOND)]
            self.features += zip(*pair, strict=True)

    def use_groups(self, names: Sequence[str] | None) -> None:
        """What rows are alike by, in each release that which it has; by default the numbers of a mask's groups."""
        sides = (FIRST, SECOND)
        if names is None:
            own = [each for side in sides if (each := self.column(side, GROUP_ID))]
            self.qi = {s: [c] for s, c in zip(sides, own, strict=True)} if len(own) == 2 else {}
            return
        found: dict[str, list[Column]] = {side: [] for side in sides}
        for name in dict.fromkeys(names):
            own = [c for side in sides if (c := self.column(side, name))]
            if not own:
                known = [c.name for side in sides for c in self.sources[side].columns or ()]
                self.faults.add(
                    f"qi names column {quoted(name)}, which neither release has.{near_miss(name, known)}"
                )
            for side in sides:
                column = self.column(side, name)
                if column is not None:
                    found[side].append(column)
        for side in sides:
            if not found[side]:
                self.faults.add(
                    f"qi names no column of {quoted(self.sources[side].label)}; name what its rows are alike by."
                )
        refuse_overlap(self.faults, {"key": self.key, "qi": [*found[FIRST], *found[SECOND]]}, "key")
        self.qi = found

    def column(self, side: str, name: str) -> Column | None:
        return self.sources[side].find(name)

    def published(self, column: Column) -> bool:
        """Whether both releases have a column."""
        return all(self.column(side, column.name) for side in (FIRST, SECOND))

    def _in_all(self, parameter: str, names: Sequence[str], sides: Sequence[str]) -> list[Column]:
        """Named columns that all of these tables have, as the first of them has them."""
        first, *others = sides
        found = resolve_columns(self.faults, self.sources[first], parameter, names)
        for column in found:
            for side in others:
                if self.column(side, column.name) is None:
                    source = self.sources[side]
                    known = [each.name for each in source.columns or ()]
                    self.faults.add(
                        f"{parameter} names column {quoted(column.name)}, which {quoted(source.label)} does not have."
                        f"{near_miss(column.name, known)} Its columns: {listed(known)}."
                    )
        return found

    # The steps of the statement.

    def join(self, statement: sql.Statement) -> None:
        """Steps up to the joined rows."""
        for side, source in self.sources.items():
            read = sql.query([*self._keys(side), *self._values(side)], sql.source(source.sql))
            statement.step(f"_pp_{side}", read, materialized=not source.repeatable)
        counted = [sql.derived(self._counted(side), f"_pp_counted_{side}") for side in self.sources]
        rows = counted[0]
        for each in counted[1:]:
            rows = rows.cross(each)
        unique = [
            sql.column(f"_pp_keys_{side}").eq(sql.column(f"_pp_rows_{side}"))
            for side in self.sources
        ]
        bad = sql.named(sql.paren(exp.and_(*unique, copy=False)), "_pp_unique")
        statement.step(COUNTS, sql.query([exp.Star(), bad], rows), materialized=True)
        statement.step(JOINED, self._joined(), materialized=True)

    def check(self, statement: sql.Statement) -> None:
        """The step that refuses keys, which every answer must read: what nobody reads DuckDB does not run."""
        statement.step(CHECK, self._checked(), materialized=True)

    def _keys(self, side: str) -> list[sql.Expr]:
        """The key's columns; in a type of all where tables have them in different ones."""
        found = []
        for i, column in enumerate(self.key):
            every = [c for s in self.sources if (c := self.column(s, column.name))]
            own = self.column(side, column.name)
            assert own is not None
            value = sql.column(own.name)
            if len({each.type for each in every}) > 1:
                # 1 and 1.0 are one number and two texts.
                fractions = all(c.is_numeric for c in every) and any(
                    not c.is_integer for c in every
                )
                value = sql.cast(value, "DOUBLE" if fractions else "VARCHAR")
            found.append(sql.named(value, f"_pp_k{i}"))
        return found

    @property
    def key_names(self) -> list[str]:
        return [f"_pp_k{i}" for i in range(len(self.key))]

    def _values(self, side: str) -> list[sql.Expr]:
        parts: dict[str, sql.Expr] = {f"_pp_in_{side}": exp.true()}
        if side != ORIGINAL:
            place = (FIRST, SECOND).index(side)
            parts |= {
                at("s", i, side): sql.double(pair[place].value.copy())
                for i, pair in enumerate(self.features)
            }
            if self.groups:
                own = [sql.hidden(c.name) for c in self.qi[side]]
                parts[at("group", "", side)] = told_apart(own)
        for j, column in enumerate(self.numbers):
            parts[at("y", j, side)] = _number(self.sources[side].column(column.name))
        for j, column in enumerate(self.categories):
            found = self.column(side, column.name)
            if found is not None:
                parts[at("a", j, side)] = sql.cast(sql.hidden(found.name), "VARCHAR")
        return sql.columns(parts)

    def _counted(self, side: str) -> sql.Expr:
        own = [sql.column(name) for name in self.key_names]
        each = sql.query(
            [*own, sql.named(aggregates.rows(), "_pp_n")], sql.table(f"_pp_{side}"), group=own
        )
        n, complete = sql.column("_pp_n"), sql.present(own)
        assert complete is not None
        zero, whole = sql.number(0), sql.call("sum", n)
        missing = sql.only(whole.copy(), sql.paren(complete).not_())
        parts = {
            f"_pp_rows_{side}": sql.call("coalesce", whole, zero),
            f"_pp_keys_{side}": aggregates.rows(),
            f"_pp_missing_{side}": sql.call("coalesce", missing, zero.copy()),
        }
        return sql.query(sql.columns(parts), sql.derived(each, f"_pp_each_{side}"))

    def _joined(self) -> sql.Expr:
        """A row for each key of either release; none where a key is not unique, which could make too many."""
        sides = {}
        for side in self.sources:
            rows = sql.table(f"_pp_{side}").cross(sql.table(COUNTS))
            read = sql.query([sql.star(f"_pp_{side}")], rows, where=sql.column("_pp_unique"))
            sides[side] = sql.derived(read, f"_pp_{side}_once")
        keys = self.key_names
        rows = sides[FIRST].either(sides[SECOND], keys)
        both = sql.query([exp.Star()], rows)
        joined = sql.derived(both, "_pp_either")
        if self.has_original:
            joined = joined.using(sides[ORIGINAL], keys, outer=True)
        common = exp.and_(*not_null(f"_pp_in_{FIRST}", f"_pp_in_{SECOND}"), copy=False)
        hashed = sql.named(told_apart([sql.column(key) for key in keys]), "_pp_hash")
        return sql.query([exp.Star(), sql.named(sql.paren(common), BOTH), hashed], joined)

    def _checked(self) -> sql.Expr:
        common = sql.query(
            [sql.named(aggregates.count_if(sql.column(BOTH)), "_pp_common")], sql.table(JOINED)
        )
        told: dict[str, sql.Expr] = {
            kind: sql.array((sql.column(f"_pp_{kind}_{side}") for side in self.sources), "BIGINT")
            for kind in ("rows", "keys", "missing")
        }
        told["common"] = sql.column("_pp_common")
        spec = KeySpec(
            self.function,
            self.sources[FIRST].label,
            [source.label for source in self.sources.values()],
            [column.name for column in self.key],
        )
        asked = sql.named(CHECK_KEYS.in_sql(spec, told), CHECKED)
        return sql.query([asked], sql.table(COUNTS).cross(sql.derived(common, "_pp_overlap")))


def not_null(*names: str) -> list[sql.Expr]:
    """A condition for each column that it is not NULL."""
    return [sql.column(name).is_(exp.null()).not_() for name in names]


def _kind(column: Column) -> str:
    """In which way a column can be open: numbers, flags and categories are not taken for each other."""
    if column.is_numeric:
        return "number"
    return "flag" if column.is_boolean else "category" if column.is_category else ""


def _number(column: Column) -> sql.Expr:
    return sql.double(sql.hidden(column.name) if column.is_integer else numeric(column))
