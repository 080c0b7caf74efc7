"""What identifies a row, as a whole number: the same key has the same number however it is typed, spelt or ordered.

Randomized answers go by this number, and must be the same after an upgrade of DuckDB, whose ``hash()`` is not promised
to last. So a key is a *value*, and its number is stated here, in terms that any engine can follow:

- **The text of a value** is what ``CAST(value AS VARCHAR)`` writes, with four exceptions, made so that a value is the
  same in every type: a DECIMAL has no trailing zeros behind its point (7.00 is ``7``, 7.50 is ``7.5``); a DOUBLE or
  FLOAT that is whole, and inside 64 bits, is written as a whole number (7.0 is ``7``, −0.0 is ``0``); a TIMESTAMP at
  midnight is its date, as data frames have no other dates; a time with zone is its microseconds since 1970, since its
  text depends on the session. An enum is its label, a blob its text with escapes, what is nested as DuckDB writes it.
- **One column** whose text is a whole number from −2⁶³ to 2⁶³ − 1 in canonical writing (no sign +, no leading zero, no
  space) is that number itself: ``7`` as text, as TINYINT or as DECIMAL, but neither ``07`` nor ``7.0`` as text.
- **Everything else**, and several columns in the order of their folded names, has the bytes of a netstring: for each
  column the length of its text in bytes in decimal, ``:``, the text in UTF-8; a single ``-`` for NULL. Lengths stand in
  front, so that no text can imitate a border: ('a', 'b') is ``1:a1:b``. The key is the first 63 bits of their SHA-256,
  the most significant first.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.catalogue.source import Column
from ppduck.query import tree as sql
from ppduck.values import folded

KEY_TYPE = "BIGINT"
_WHOLE = "0|-?[1-9][0-9]{0,18}"
_NARROW = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_WIDE = {"UBIGINT", "HUGEINT", "UHUGEINT"}
_FRACTIONS = ("DOUBLE", "FLOAT")
_ZONED = "TIMESTAMP WITH TIME ZONE"
_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
_MIDNIGHT = " 00:00:00$"
_HEX_DIGITS = 16


def key(columns: Sequence[Column]) -> sql.Expr:
    """The key of a row by these columns, a BIGINT that is never NULL but where its only column is."""
    ordered = in_order(columns)
    if len(ordered) == 1:
        column = ordered[0]
        value = sql.column(column.name)
        if column.type in _NARROW:
            return sql.cast(value, KEY_TYPE)
        return sql.call("coalesce", _whole(value, column.type), _digest([text(column)]))
    return _digest([text(column) for column in ordered])


def whole(column: Column) -> sql.Expr:
    """The whole number of 64 bits that a value is, as which it is its own key; NULL for any other."""
    return _whole(sql.column(column.name), column.type)


def is_always_whole(column: Column) -> bool:
    """Whether each of its values is one, by its type."""
    return column.type in _NARROW


def content(columns: Sequence[Column] | None) -> sql.Expr:
    """The same of a whole row, ``_pp_row``; where its columns are not known, of the text that DuckDB writes of it."""
    if columns is None:
        return _digest([sql.cast(sql.column("_pp_row"), "VARCHAR")])
    return _digest([text(column) for column in in_order(columns)])


def numbers(columns: Sequence[Column]) -> list[sql.Expr]:
    """For chance that need not outlive an upgrade of DuckDB: a BIGINT a column, whole numbers as they are.

    The same value has the same number in every type here too, but other texts go by ``hash()``, which is many
    times as fast as SHA-256. ``ppduck.catalogue.hash_function`` sees to it that it is the hash() that ppduck knows.
    """
    found: list[sql.Expr] = []
    for column in in_order(columns):
        value = sql.column(column.name)
        if column.type in _NARROW:
            found.append(sql.cast(value, KEY_TYPE))
            continue
        bits = sql.paren(
            exp.BitwiseRightShift(this=sql.call("hash", text(column)), expression=sql.number(1))
        )
        found.append(sql.call("coalesce", _whole(value, column.type), sql.cast(bits, KEY_TYPE)))
    return found


def told_apart(values: Sequence[sql.Expr]) -> sql.Expr:
    """What keys are told apart by where they are counted; no chance goes by it."""
    return sql.call("hash", *(value.copy() for value in values))


def in_order(columns: Sequence[Column]) -> list[Column]:
    """Columns by their names as DuckDB compares them: in which order a call names them must not show."""
    return sorted(columns, key=lambda column: folded(column.name))


def text(column: Column) -> sql.Expr:
    """The text of a value, the same in every type that can hold it; of a type not known, by what the row says."""
    value = sql.column(column.name)
    if column.type:
        return _text(value, column.type)
    written = sql.cast(value.copy(), "VARCHAR")
    kind = sql.call("typeof", value.copy())
    found = exp.Case()
    found = found.when(
        kind.isin(*map(sql.text, _FRACTIONS)), _text(_tried(written, "DOUBLE"), "DOUBLE")
    )
    with_point = exp.and_(
        sql.call("starts_with", kind.copy(), sql.text("DECIMAL(")),
        sql.call("contains", written.copy(), sql.text(".")),
    )
    found = found.when(with_point, _without_zeros(written))
    found = found.when(kind.copy().isin(*map(sql.text, _TIMES)), _without_midnight(written))
    zoned = exp.EQ(this=kind.copy(), expression=sql.text(_ZONED))
    return found.when(zoned, _text(_tried(written, "TIMESTAMPTZ"), _ZONED)).else_(written.copy())


def _text(value: sql.Expr, type_: str) -> sql.Expr:
    written = sql.cast(value.copy(), "VARCHAR")
    if type_ in _FRACTIONS:
        return sql.call("coalesce", sql.cast(_whole(value, type_), "VARCHAR"), written)
    if type_.startswith("DECIMAL(") and not type_.endswith(",0)"):
        return _without_zeros(written)
    if type_ in _TIMES:
        return _without_midnight(written)
    if type_ == _ZONED:  # infinity has no microseconds
        return sql.call(
            "coalesce", sql.cast(sql.call("epoch_us", value.copy()), "VARCHAR"), written
        )
    return written


def _without_zeros(written: sql.Expr) -> sql.Expr:
    return sql.call("rtrim", sql.call("rtrim", written.copy(), sql.text("0")), sql.text("."))


def _without_midnight(written: sql.Expr) -> sql.Expr:
    return sql.call("regexp_replace", written.copy(), sql.text(_MIDNIGHT), sql.text(""))


def _whole(value: sql.Expr, type_: str) -> sql.Expr:
    """The whole number that a value is, or NULL."""
    if type_ in _WIDE or (type_.startswith("DECIMAL(") and type_.endswith(",0)")):
        return _tried(value, KEY_TYPE)
    if type_ in _FRACTIONS:
        whole = _tried(value, KEY_TYPE)
        same = exp.EQ(this=sql.double(whole.copy()), expression=sql.double(value.copy()))
        return exp.Case().when(same, whole)
    written = text(Column(value.name, type_))
    is_whole = sql.call("regexp_full_match", written, sql.text(_WHOLE))
    return exp.Case().when(is_whole, _tried(written, KEY_TYPE))


def _tried(value: sql.Expr, type_: str) -> sql.Expr:
    return sql.tried(value.copy(), type_)


def _digest(texts: Sequence[sql.Expr]) -> sql.Expr:
    """63 bits of the SHA-256 of the netstrings of some texts."""
    parts = []
    for each in texts:
        netstring = sql.call("concat", sql.call("strlen", each.copy()), sql.text(":"), each.copy())
        parts.append(exp.Case().when(each.copy().is_(exp.null()), sql.text("-")).else_(netstring))
    digits = sql.call(
        "left", sql.call("sha256", sql.call("concat", *parts)), sql.number(_HEX_DIGITS)
    )
    bits = sql.cast(sql.call("concat", sql.text("0x"), digits), "UBIGINT")
    return sql.cast(sql.paren(exp.BitwiseRightShift(this=bits, expression=sql.number(1))), KEY_TYPE)
