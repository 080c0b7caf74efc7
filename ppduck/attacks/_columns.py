"""Which columns an intruder knows, is after and is shown, and how they are told to Python: as numbers, all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call.roles import choose_nonconf, numeric, refuse_overlap
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.pairs.columns import Compared
from ppduck.query import tree as sql
from ppduck.values import folded

_DIGITS = "-?[0-9]+(?:[.][0-9]+)?"


@frozen
class Attacked:
    """The columns of a call: known and conf, as the original has them, and whether they are numbers."""

    known: list[Column]
    conf: list[Column]
    numbers: frozenset[str]

    @property
    def every(self) -> list[Column]:
        return [*self.known, *self.conf]

    def is_number(self, column: Column) -> bool:
        return column.name in self.numbers


def choose(columns: Compared, conf: Sequence[str], known: Sequence[str] | None) -> Attacked:
    """The columns that are named, or those of both tables beside conf and key that can be used."""
    columns.use_conf(conf)
    of_conf = [*columns.numbers, *columns.categories]
    order = {folded(name): place for place, name in enumerate(conf)}
    of_conf.sort(key=lambda column: order[folded(column.name)])
    if known is not None:
        found = columns.in_both("known", known)
        refuse_overlap(columns.faults, {"conf": of_conf, "known": found}, "conf")
        refuse_overlap(columns.faults, {"key": columns.key, "known": found}, "key")
        for column in found:
            other = columns.masked.find(column.name)
            if other is not None and other.is_numeric != column.is_numeric:
                columns.faults.add(
                    f"known names column {quoted(column.name)}, which is of type {column.type} in "
                    f"{quoted(columns.original.label)} and of type {other.type} in {quoted(columns.masked.label)}; "
                    "they cannot be compared."
                )
    else:
        taken = {folded(column.name) for column in [*of_conf, *columns.key]}
        free = [
            column
            for column in columns.original.columns or ()
            if folded(column.name) not in taken
            and (other := columns.masked.find(column.name)) is not None
            and other.is_numeric == column.is_numeric
        ]
        found, _ = choose_nonconf(columns.faults, columns.catalog, columns.original, None, free)
    every = [*found, *of_conf]
    return Attacked(found, of_conf, frozenset(column.name for column in every if column.is_numeric))


def control_source(
    function: str, catalog: Catalog, columns: Compared, attacked: Attacked, given: str
) -> Source:
    """The relation of people who are not in the release, which has the known and conf columns."""
    source = catalog.source(function, given)
    if source.columns is None:
        raise Faults(function).refuse(catalog.unseen(source, "make it a table and commit."))
    for column in attacked.every:
        own = source.find(column.name)
        if own is None:
            columns.faults.add(
                f"control has no column {quoted(column.name)}; people who are not in the release are needed with "
                "all known and conf columns."
            )
        elif own.is_numeric != column.is_numeric:
            columns.faults.add(
                f"column {quoted(column.name)} is of type {own.type} in control and of type {column.type} in "
                f"{quoted(columns.original.label)}; they cannot be compared."
            )
    return source


def values(attacked: Attacked, source: Source) -> list[sql.Expr]:
    """The known and conf columns of a table as numbers: those that are, and 53 bits of a hash of categories."""
    found = []
    for column in attacked.every:
        own = source.find(column.name)
        assert own is not None
        found.append(_number(own) if attacked.is_number(column) else code(own))
    return found


def code(column: Column) -> sql.Expr:
    """A category as a whole number of its own; NULL has one too."""
    return sql.short(sql.call("hash", _text(column)))


def _number(column: Column) -> sql.Expr:
    return sql.double(sql.hidden(column.name) if column.is_integer else numeric(column))


def _text(column: Column) -> sql.Expr:
    name = sql.column(column.name)
    return name if column.type == "VARCHAR" else sql.cast(name, "VARCHAR")


def shown(source: Source) -> tuple[list[sql.Expr], list[sql.Expr]]:
    """All that a released row shows: numbers, and categories by their codes.

    Of what is no number also the length of its text, and the first number that stands in it.
    """
    numbers, categories = list[sql.Expr](), list[sql.Expr]()
    for column in source.columns or ():
        if column.is_numeric:
            numbers.append(_number(column))
            continue
        text = _text(column)
        categories.append(code(column))
        numbers.append(sql.double(sql.call("length", text.copy())))
        digits = sql.call("regexp_extract", text.copy(), sql.text(_DIGITS))
        numbers.append(sql.tried(digits, "DOUBLE"))
    return numbers, categories
