"""The first stage of every mask of numbers: the user's rows, each with what its noise is keyed by."""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call.roles import numeric
from ppduck.query import tree as sql
from ppduck.stages import keys
from ppduck.stages.masking import KEY, ROW, SOURCE, Masking
from ppduck.stages.plan import Rows


def source(masking: Masking, *, numbered: bool = False) -> Rows:
    """The user's rows with their key; ``numbered``, also with a number by which what is made of them comes back."""
    roles = masking.roles
    where = None
    if masking.call.on_null == "drop":
        where = sql.present([sql.column(name) for name in roles.nonconf])
    # The key stands right behind the user's columns, where the first look checks what type the row has.
    hidden = {column.name: sql.hidden(column.name) for column in roles.conf if column.is_integer}
    columns = [sql.star("_pp_row", replace=hidden), sql.named(noise_key(masking), KEY)]
    kept = not roles.source.repeatable
    if numbered:
        number = sql.column("rowid") if roles.source.has_rowid else sql.over(sql.call("row_number"))
        columns.append(sql.named(number, ROW))
        # a row's number must be the same whenever the statement reads it
        kept = not roles.source.has_rowid
    return Rows(
        SOURCE, kept, sql.query(columns, sql.source(roles.source.sql, "_pp_row"), where=where)
    )


def noise_key(masking: Masking) -> sql.Expr:
    """What the noise of a row is keyed by."""
    # Beside the key stands what is masked and what it is masked by: rows that wrongly share a key must not share
    # noise, which their difference would be free of. The order in which columns are named must not show.
    return sql.call("hash", *identity(masking), *_used(masking))


def identity(masking: Masking) -> list[sql.Expr]:
    """What identifies a row beside its used columns: the key that is named, else its number in a table."""
    roles = masking.roles
    if roles.key:
        return keys.numbers([roles.source.column(name) for name in roles.key])
    return [sql.column("rowid")] if roles.source.has_rowid else []


def _used(masking: Masking) -> list[sql.Expr]:
    """What is masked and what it is masked by, as values: numbers as doubles, strata as keys, all else as texts."""
    roles = masking.roles
    measured = {feature.column for feature in roles.features if feature.level is None}
    measured |= {column.name for column in roles.conf}
    found: list[sql.Expr] = []
    names: Sequence[str] = sorted({*measured, *roles.nonconf, *roles.strata})
    for column in keys.in_order([roles.source.column(name) for name in names]):
        if column.name in roles.strata:  # a group is the same whether its name is 3 or '3'
            found += keys.numbers([column])
        else:
            as_number = column.name in measured or column.is_numeric or column.is_boolean
            found.append(numeric(column) if as_number else keys.text(column))
    return found
