"""Which column plays which part in a masking call, checked against the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.values import folded

FEW_LEVELS = 20  # a text column with at most so many levels is used unless told otherwise
NULL = "NULL"
MANY_LEVELS = 100  # and one that is named may have so many


@frozen
class Feature:
    """One numeric regressor: a column, or one level of a category against its first level."""

    label: str
    column: str
    value: sql.Expr
    level: str | None = None  # of a category; NULL, where it is one, is called so


@frozen(kw_only=True)
class Roles:
    """The columns of one masking call by what they do."""

    source: Source
    conf: tuple[Column, ...]
    features: tuple[Feature, ...]
    levels: dict[str, list[str]]
    strata: tuple[str, ...]
    key: tuple[str, ...]
    drop: tuple[str, ...]
    # the columns of nonconf in which NULL is a level like others
    null_levels: frozenset[str] = frozenset()
    # categories that are not in nonconf by default, having too many levels
    left_out: tuple[str, ...] = ()

    @property
    def nonconf(self) -> list[str]:
        """The columns behind the features, each once."""
        return list(dict.fromkeys(feature.column for feature in self.features))

    def faults(self, function: str, found: Sequence[str]) -> PpduckError:
        """The exception for faults that were found beside the columns."""
        faults = Faults(function, self.source.label)
        for fault in found[:-1]:
            faults.add(fault)
        return faults.refuse(found[-1])


class ColumnCall(Protocol):
    """A call that names columns by their roles."""

    @property
    def tbl(self) -> str: ...
    @property
    def conf(self) -> Sequence[str]: ...
    @property
    def nonconf(self) -> Sequence[str] | None: ...
    @property
    def strata(self) -> Sequence[str]: ...
    @property
    def key(self) -> Sequence[str]: ...
    @property
    def drop(self) -> Sequence[str]: ...
    @property
    def on_null(self) -> str: ...
    @property
    def round(self) -> bool: ...


def assign(
    function: str,
    catalog: Catalog,
    call: ColumnCall,
    *,
    uses_nonconf: bool = True,
    may_be_unseen: bool = False,
) -> Roles:
    """Resolves and checks every column that a masking call names.

    A table that the planner cannot see needs ``nonconf``, unless the mask has no such parameter: then it
    ``may_be_unseen``, and DuckDB says whether there is one.
    """
    source = catalog.source(function, call.tbl)
    faults = Faults(function, source.label)
    if source.columns is None and not may_be_unseen and call.nonconf is None:
        raise faults.refuse(catalog.unseen(source))
    if source.columns is None and call.round:
        faults.add(
            f"round needs the types of the columns, and the planner cannot see {quoted(source.label)}."
        )
    refuse_reserved(faults, source)

    conf = resolve_columns(faults, source, "conf", call.conf)
    strata = resolve_columns(faults, source, "strata", call.strata)
    key = resolve_columns(faults, source, "key", call.key)
    drop = resolve_columns(faults, source, "drop", call.drop)
    if not call.conf:
        faults.add("conf is empty; name at least one column to mask, such as conf := ['x1'].")
    for column in conf:
        if source.columns is not None and not column.is_numeric:
            faults.add(
                f"conf names column {quoted(column.name)} of type {column.type}; only numeric columns can be masked "
                "so; for categories there are rr_mask and pram_mask."
            )
    named = (
        None if call.nonconf is None else resolve_columns(faults, source, "nonconf", call.nonconf)
    )
    refuse_overlap(
        faults, {"conf": conf, "nonconf": named or [], "strata": strata, "drop": drop}, "conf"
    )
    refuse_overlap(faults, {"nonconf": named or [], "strata": strata}, "nonconf")
    refuse_overlap(faults, {"key": key, "conf": conf}, "key")
    faults.raise_if_any()

    features: list[Feature] = []
    levels: dict[str, list[str]] = {}
    null_levels: frozenset[str] = frozenset()
    left_out: list[str] = []
    if uses_nonconf:
        taken = {column.name for column in [*conf, *strata, *key, *drop]}
        free = [column for column in source.columns or () if column.name not in taken]
        chosen, levels = choose_nonconf(faults, catalog, source, named, free)
        if call.on_null == "level":
            null_levels = catalog.with_null(source, categories_among(chosen, levels))
        features = [
            feature for column in chosen for feature in features_of(column, levels, null_levels)
        ]
        if named is None:
            categories = [
                column for column in free if column.is_category and column.name not in levels
            ]
            left_out = catalog.many_valued(source, categories, FEW_LEVELS, MANY_LEVELS)
    faults.raise_if_any()
    return Roles(
        source=source,
        conf=tuple(conf),
        features=tuple(features),
        levels=levels,
        strata=tuple(column.name for column in strata),
        key=tuple(column.name for column in key),
        drop=tuple(column.name for column in drop),
        null_levels=null_levels,
        left_out=tuple(left_out),
    )


def categories_among(columns: Sequence[Column], levels: dict[str, list[str]]) -> list[Column]:
    """The columns in which NULL can be a level like others."""
    return [column for column in columns if column.is_boolean or levels.get(column.name)]


def features_of(
    column: Column, levels: dict[str, list[str]], null_levels: Collection[str] = frozenset()
) -> list[Feature]:
    """A numeric column as it is, true as 1, a category as indicators of all levels but the first.

    In ``null_levels`` are those in which NULL is a level of its own, the last.
    """
    name = sql.column(column.name)
    null_is_level = column.name in null_levels
    if column.name in levels:
        found = [
            Feature(
                f"{column.name} = {level}",
                column.name,
                indicator(column.name, level, null_is_level),
                level,
            )
            for level in levels[column.name][1:]
        ]
    else:
        value = numeric(column)
        value = sql.call("coalesce", value, sql.number(0.0)) if null_is_level else value
        found = [Feature(column.name, column.name, value)]
    if null_is_level:
        found.append(
            Feature(f"{column.name} is NULL", column.name, sql.double(name.is_(exp.null())), NULL)
        )
    return found


def indicator(column: str, level: str, null_is_level: bool) -> sql.Expr:
    """1 in rows with this level, 0 in others; NULL in rows with NULL, unless that is a level too."""
    equal = exp.NullSafeEQ if null_is_level else exp.EQ
    return sql.double(
        equal(this=sql.cast(sql.column(column), "VARCHAR"), expression=sql.text(level))
    )


def numeric(column: Column) -> sql.Expr:
    """The column as a DOUBLE; should it be no number after all, its value must not end up in a message."""
    name = sql.column(column.name)
    return name if column.type == "DOUBLE" else sql.tried(name, "DOUBLE")


def choose_nonconf(
    faults: Faults,
    catalog: Catalog,
    source: Source,
    named: list[Column] | None,
    free: Sequence[Column],
    parameter: str = "nonconf",
) -> tuple[list[Column], dict[str, list[str]]]:
    """The columns that a parameter names, else the ``free`` ones that can be used; and the levels of categories."""
    if named is None:
        categories = [column for column in free if column.is_category]
        levels = catalog.few_valued(source, categories, FEW_LEVELS)
        chosen = [c for c in free if c.is_numeric or c.is_boolean or c.name in levels]
        return chosen, levels
    levels = {}
    for column in named:
        if column.is_category:
            found = catalog.levels(source, column, MANY_LEVELS)
            if found is None:
                faults.add(
                    f"{parameter} names column {quoted(column.name)}, which has more than {MANY_LEVELS} levels; "
                    "group its levels, use it in strata, or leave it out."
                )
            else:
                levels[column.name] = found
        elif column.type and not (column.is_numeric or column.is_boolean):
            faults.add(
                f"{parameter} names column {quoted(column.name)} of type {column.type}; it must be numeric, boolean, "
                "text or enum. Turn it into a number in tbl, such as '(SELECT *, year(d) AS d_year FROM t)'."
            )
    return named, levels


def resolve_columns(
    faults: Faults, source: Source, parameter: str, names: Sequence[str]
) -> list[Column]:
    """The columns that a parameter names, with a fault for each that is missing or named twice."""
    found: list[Column] = []
    for name in names:
        # Without a catalogue the name is taken at its word; DuckDB will say if there is no such column.
        column = Column(name, "") if source.columns is None else source.find(name)
        if column is None:
            known = [each.name for each in source.columns or ()]
            faults.add(
                f"{parameter} names column {quoted(name)}, which does not exist.{near_miss(name, known)} "
                f"Columns: {listed(known)}."
            )
        elif any(folded(each.name) == folded(column.name) for each in found):
            faults.add(f"{parameter} names column {quoted(column.name)} twice.")
        else:
            found.append(column)
    return found


def refuse_reserved(faults: Faults, source: Source) -> None:
    """Names that stand beside the user's columns in a statement must not be columns."""
    reserved = [
        column.name
        for column in source.columns or ()
        if folded(column.name).startswith(sql.RESERVED)
    ]
    if reserved:
        faults.add(
            f"names that begin with {sql.RESERVED!r} are ppduck's own; rename column {listed(reserved)}."
        )


def refuse_overlap(faults: Faults, groups: dict[str, list[Column]], of: str) -> None:
    """A column cannot play part ``of`` and another of the parts given."""
    mine = {folded(column.name) for column in groups[of]}
    for other, columns in groups.items():
        for column in columns if other != of else ():
            if folded(column.name) in mine:
                faults.add(f"column {quoted(column.name)} is in both {of} and {other}.")
