"""Which columns of a published table are randomized and how: given by the call, or read from a view's definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.call.roles import resolve_columns
from ppduck.catalogue.source import Column, Home, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs import manifest
from ppduck.designs.design import (
    Attribute,
    Design,
    DesignReader,
    DesignWords,
    Levels,
    is_stochastic,
    normalised,
)
from ppduck.errors import Faults, quoted
from ppduck.estimators.lineage import Origin, UnreadableError, created_columns, named_as, origins
from ppduck.frozen import frozen
from ppduck.masks import pram
from ppduck.masks import rr as rr_mask
from ppduck.query import tree as sql
from ppduck.query.whole_names import foreign
from ppduck.values import folded

MASKS = {rr_mask.NAME, pram.NAME, "release_table"}
SAME_VIEWS = "_pp_same_views"  # the column of ``same_views``
_REMEDY = "Give p := {'column': …} or matrix := {…} instead."


@frozen
class Release:
    """A source of published rows, and the design of the columns that are asked about."""

    function: str
    source: Source
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    views: tuple[Home, ...] = ()  # whose definitions were read

    def faults(self) -> Faults:
        return Faults(self.function, self.source.label)


def read_release(
    function: str, catalog: Catalog, tbl: str, names: Sequence[str], words: DesignWords
) -> Release:
    """The design of some columns of ``tbl``: from what the call, its manifest or else the view behind it says."""
    source = catalog.source(function, tbl)
    faults = Faults(function, source.label)
    if source.columns is None and not words.tells_probabilities:
        raise faults.refuse(catalog.unseen(source, f"its definition cannot be read. {_REMEDY}"))
    columns = resolve_columns(faults, source, "columns", names)
    if not names:
        faults.add("columns is empty; name at least one column.")
    faults.raise_if_any()
    views: tuple[Home, ...] = ()
    if words.tells_probabilities:
        attributes = _by_hand(catalog, source, words, columns, faults)
    elif (told := manifest.of_source(catalog, source, faults)) is not None:
        attributes = _from_manifest(catalog, source, told, words, columns, faults)
    else:
        lineage = _lineage(catalog, source, faults)
        source, views = lineage.source, lineage.views
        attributes = _from_definition(catalog, lineage, words, columns, faults)
    faults.raise_if_any()
    return Release(function, source, tuple(columns), tuple(attributes), views)


def _by_hand(
    catalog: Catalog, source: Source, words: DesignWords, columns: Sequence[Column], faults: Faults
) -> list[Attribute]:
    reader = DesignReader(catalog, source, words, faults)
    reader.refuse_strangers([column.name for column in columns])
    found = []
    for column in columns:
        p, rows = reader.probabilities(column.name, " (1 if it was not randomized)")
        levels = known_levels(catalog, reader.given_levels(column), column, reader.null_is_level)
        if rows is not None and not is_stochastic(
            column.name, rows, len(levels) if levels else None, faults.add
        ):
            continue
        found.append(
            Attribute(column.name, column.type, levels, p, normalised(rows) if rows else None)
        )
    return found


def _from_manifest(
    catalog: Catalog,
    source: Source,
    told: dict[str, Any],
    words: DesignWords,
    columns: Sequence[Column],
    faults: Faults,
) -> list[Attribute]:
    """As the release says of itself; of a column that is not randomized the levels may be given."""
    reader = DesignReader(catalog, source, words, faults)
    found = []
    for column in columns:
        own = manifest.design(told, column, faults)
        if own is None:
            continue
        if own.levels is None:
            given = reader.given_levels(column)
            own = replace(own, levels=known_levels(catalog, given, column, reader.null_is_level))
        elif folded(column.name) in reader.domains:
            faults.add(
                f"levels of column {quoted(column.name)} are those of the manifest; leave it out of levels."
            )
        found.append(own)
    return found


def known_levels(
    catalog: Catalog, named: Levels | None, column: Column, null_is_level: bool
) -> Levels | None:
    """Levels that are known without a look at the data: named, or those of an enum."""
    if named is not None or not column.is_enum:
        return named
    every = catalog.evaluate(f"enum_range(NULL::{column.type})")
    return (*every, None) if null_is_level else tuple(every)


def design_of(function: str, catalog: Catalog, tbl: str) -> list[Attribute]:
    """Every randomized column of a view, under the names that the view gives them."""
    source = catalog.source(function, tbl)
    faults = Faults(function, source.label)
    if source.columns is None:
        raise faults.refuse(catalog.unseen(source, f"its definition cannot be read. {_REMEDY}"))
    told = manifest.of_source(catalog, source, faults)
    if told is not None:
        return manifest.designs(told, source, faults)
    found = _lineage(catalog, source, faults).origins
    attributes = [
        replace(origin.attribute, name=origin.name)
        for origin in found
        if origin.attribute is not None
    ]
    if not attributes:
        raise faults.refuse(
            f"{quoted(source.label)} shows none of the columns that were randomized."
        )
    return attributes


@frozen
class _Lineage:
    """A source under a name that nothing can hide, where its columns come from, and the views on the way."""

    source: Source
    origins: list[Origin]
    views: tuple[Home, ...]


def _from_definition(
    catalog: Catalog,
    lineage: _Lineage,
    words: DesignWords,
    columns: Sequence[Column],
    faults: Faults,
) -> list[Attribute]:
    by_name = {folded(origin.name): origin for origin in lineage.origins}
    reader = DesignReader(catalog, lineage.source, words, faults)
    attributes = []
    for column in columns:
        origin = by_name[folded(column.name)]
        if origin.spoilt:
            faults.add(
                f"column {quoted(column.name)} is computed from a randomized column in the definition of "
                f"{quoted(lineage.source.label)}; ask about the randomized column itself."
            )
        elif origin.attribute is not None:
            if folded(column.name) in reader.domains:
                faults.add(
                    f"levels of column {quoted(column.name)} are those of the view; leave it out of levels."
                )
            attributes.append(replace(origin.attribute, name=column.name, type=column.type))
        else:
            levels = known_levels(
                catalog, reader.given_levels(column), column, reader.null_is_level
            )
            attributes.append(Attribute(column.name, column.type, levels, 1.0))
    return attributes


def _lineage(catalog: Catalog, source: Source, faults: Faults) -> _Lineage:
    views = _Views(catalog, [])
    try:
        if source.label.startswith("("):
            query = sqlglot.parse_one(source.label[1:-1], dialect="duckdb")
            found = origins(query, MASKS, _only_design(catalog, source), views)
            # Its tables were qualified on the way, so that nothing in the caller's statement can hide them.
            source = replace(source, sql=foreign(f"({query.sql(dialect='duckdb')})"))
        else:
            home = catalog.home(source.sql)
            if home is None or home.created is None:
                raise faults.refuse(
                    f"{quoted(source.label)} is no view over rr_mask or pram_mask that can be told by its name, so "
                    f"that nothing says how it was randomized. {_REMEDY}"
                )
            views.read.append(home)
            source = replace(source, sql=home.sql)
            found = created_columns(home.created, MASKS, _only_design(catalog, source), views)
        found = named_as(found, [column.name for column in catalog.columns_of(source)])
    except (UnreadableError, SqlglotError) as unreadable:
        why = f": it {unreadable}" if isinstance(unreadable, UnreadableError) else ""
        raise faults.refuse(
            f"the definition of {quoted(source.label)} cannot be read{why}. {_REMEDY}"
        ) from None
    return _Lineage(source, found, tuple(views.read))


def _only_design(catalog: Catalog, source: Source) -> Design:
    """The design of the one mask that a source calls, which the mask records when it is planned."""
    designs: list[Design] = [
        each for each in catalog.records_of(source) if isinstance(each, Design)
    ]
    # A view may read its mask several times, which gives equal designs.
    if len(set(designs)) != 1:
        raise UnreadableError(
            "holds more than one masking call" if designs else "calls neither rr_mask nor pram_mask"
        )
    return designs[0]


@frozen
class _Views:
    """Finds the views that a definition reads, and remembers them."""

    catalog: Catalog
    read: list[Home]

    def created(self, table: exp.Table) -> str:
        homes = self.catalog.homes(
            ".".join(sql.render(sql.name(part.name)) for part in table.parts)
        )
        # A name inside a view may mean another object than here, so it must be the only one of its name.
        if len(homes) > 1:
            raise UnreadableError(
                f"reads {quoted(table.name)}, of which there are several; qualify it by its schema"
            )
        created = homes[0].created if homes else None
        if created is None:
            raise UnreadableError(
                f"reads {quoted(table.name)}, which is no view over rr_mask or pram_mask"
            )
        home = homes[0]
        table.set("db", exp.to_identifier(home.schema, quoted=True))
        table.set("catalog", exp.to_identifier(home.database, quoted=True))
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        self.read.append(home)
        return created


def same_views(release: Release) -> sql.Expr:
    """SELECT of 0, or of an error where a view is not, in the caller's transaction, what its design was read from."""
    if not release.views:
        return sql.query([sql.named(sql.number(0), SAME_VIEWS)])
    kept = [
        _exists_in(
            "duckdb_views",
            *(
                sql.equal(sql.column(column), sql.text(value or ""))
                for column, value in (
                    ("database_name", view.database),
                    ("schema_name", view.schema),
                    ("view_name", view.name),
                    ("sql", view.created),
                )
            ),
        )
        for view in release.views
    ]
    names = [folded(view.name) for view in release.views]
    hidden = [
        _exists_in(
            catalogue,
            sql.column("temporary"),
            sql.among(sql.call("lower", sql.column(column)), names),
        )
        for catalogue, column in (("duckdb_tables", "table_name"), ("duckdb_views", "view_name"))
    ]
    fault = release.faults().refuse(
        "a view is not what it was when the call was planned, or a temporary table hides it; commit, drop the "
        f"temporary one, or read a table. {_REMEDY}"
    )
    same = exp.and_(*kept, *(exp.Not(this=each) for each in hidden))
    verdict = sql.cases((same, sql.number(0)), otherwise=sql.call("error", sql.text(str(fault))))
    return sql.query([sql.named(verdict, SAME_VIEWS)])


def _exists_in(catalogue: str, *conditions: sql.Expr) -> sql.Expr:
    return sql.exists(
        sql.query([sql.number(1)], sql.rows_of(catalogue), where=exp.and_(*conditions))
    )
