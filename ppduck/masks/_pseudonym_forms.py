"""The forms of pseudonyms: which columns each is for, what it takes, and how SQL makes it of a value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from sqlglot import exp

from ppduck.catalogue.source import Column
from ppduck.errors import Faults, listed, near_miss, quoted
from ppduck.frozen import frozen
from ppduck.kernels.pseudonyms import FEWEST_DIGITS
from ppduck.query import tree as sql
from ppduck.runtime import pseudonyms
from ppduck.stages import keys

FORM, SALT, DOMAIN = "as", "salt", "domain"
RESERVED, KEEP = "reserved", "keep"
NOWHERE = "example.invalid"  # RFC 2606: never resolves, so that nobody gets mail by mistake

_ENUM = r"ENUM\((?s:.*)\)"
_WHOLE = r"U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL\(\d+,0\)"
TEXTS = rf"VARCHAR|{_ENUM}"
WHOLE_OR_TEXT = rf"{_WHOLE}|{TEXTS}"
SCALARS = (
    rf"{WHOLE_OR_TEXT}|DECIMAL\(\d+,\d+\)|FLOAT|DOUBLE|BIGNUM|VARINT|BOOLEAN|UUID|BLOB|BIT|DATE|INTERVAL"
    r"|TIME(?:STAMP)?(?:_N?M?S)?(?: WITH TIME ZONE)?|\"NULL\""
)
# A name of labels and points, whose last label begins with a letter: no address of a machine, no words.
_LABEL = r"[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?"
_HOST = rf"(?:{_LABEL}\.)+\p{{L}}(?:[\p{{L}}\p{{N}}-]*[\p{{L}}\p{{N}}])?"
_LONGEST_HOST, _TOO_LONG_LABEL = 253, r"[^.]{64}"
_SPACES = " \t\n\r\f\v\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b"
_SPACES += "\u2028\u2029\u202f\u205f\u3000\ufeff"


@frozen
class Asked:
    """What a call asks of one column."""

    column: Column
    form: str
    options: Mapping[str, str]
    domain: str
    reverse: bool

    @property
    def of(self) -> Form:
        return FORMS[self.form]

    @property
    def is_text(self) -> bool:
        """Whether digits come back as a text: of a number they are a number. An unseen column must be a text."""
        return not self.column.type or re.fullmatch(TEXTS, self.column.type) is not None

    @property
    def fits(self) -> str:
        """The types that it may have, as a pattern, where the planner cannot see which type it has."""
        if self.form == DIGITS:
            return TEXTS
        return self.of.fits_back if self.reverse else self.of.fits

    @property
    def context(self) -> str:
        """What the keys go by, beside the secret: an option that only cuts what is shown is not in it."""
        return json.dumps([self.form, self.domain, *filter(None, [self.options.get(SALT)])])

    @property
    def number(self) -> sql.Expr:
        """What stands for a value where numbers are permuted: itself, or 63 bits of its digest; NULL for NULL."""
        there = exp.Not(this=sql.column(self.column.name).is_(exp.null()))
        return sql.cases((there, keys.key([self.column])))

    @property
    def pseudonym(self) -> sql.Expr:
        return self.of.made(self)


@frozen
class Form:
    """One form."""

    name: str
    fits: str  # a pattern of the types of columns that it is for
    wanted: str  # the same in words
    becomes: str
    made: Callable[[Asked], sql.Expr]
    # what each option may be; any text where that is empty
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    fits_back: str = ""  # of what reverse is asked of; empty where nothing leads back


def asked(
    faults: Faults, column: Column, given: Mapping[str, Any], *, domain: str, reverse: bool
) -> Asked | None:
    """What a call says of a column, read; None, and faults, where it cannot be."""
    said = misread(column, given, reverse)
    for each in said:
        faults.add(each)
    if said:
        return None
    options = {name: value for name, value in given.items() if name != FORM}
    return Asked(column, given[FORM], options, domain, reverse)


def misread(column: Column, given: Mapping[str, Any], reverse: bool = False) -> list[str]:
    """What is wrong with what a call says of a column, which may be of a type that is not known yet."""
    return [f"columns {each}" for each in _misread(column, given, reverse)]


def _misread(column: Column, given: Mapping[str, Any], reverse: bool) -> Iterator[str]:
    name, whose = given.get(FORM), f"for column {quoted(column.name)}"
    of = FORMS.get(name) if isinstance(name, str) else None
    if of is None:
        said = "gives no form" if name is None else f"gives the form {name!r}, which there is not,"
        yield (
            f"{said} {whose}.{near_miss(str(name), FORMS) if name else ''} Forms: {listed(FORMS)}, such as "
            "{'x': 'token'} or {'x': {'as': 'hash', 'salt': '…'}}."
        )
        return
    for option, value in given.items():
        if option != FORM:
            yield from _misread_option(of, whose, option, value)
    if reverse and not of.fits_back:
        reversible = " and ".join(repr(each.name) for each in FORMS.values() if each.fits_back)
        yield (
            f"gives the form {of.name!r} {whose}, and reverse is for {reversible} only: nothing leads back from others."
        )
    elif column.type and not re.fullmatch(of.fits_back if reverse else of.fits, column.type):
        wanted = "whole numbers, as numbers or texts" if reverse else of.wanted
        yield _unfit(of.name, column, wanted)


def _misread_option(of: Form, whose: str, option: str, value: Any) -> Iterator[str]:
    if option not in of.options:
        known = f"Options: {listed(of.options)}." if of.options else "It has none."
        yield (
            f"gives the form {of.name!r} {whose} the option {option!r}, which it has not."
            f"{near_miss(option, of.options)} {known}"
        )
    elif of.options[option] and value not in of.options[option]:
        yield f"takes as {option} {whose} one of {', '.join(map(repr, of.options[option]))}, got {value!r}."
    elif not isinstance(value, str) or not value:
        yield f"takes as {option} {whose} a text in single quotes that is not empty, got {value!r}."


def _unfit(form: str, column: Column, wanted: str) -> str:
    """What to say of a column of a type that a form is not for."""
    own = quoted(column.name)
    return (
        f"gives the form {form!r} for column {own} of type {column.type}, and it is for {wanted}; name another form, "
        f"or cast it in tbl, such as '(SELECT * REPLACE (CAST({own} AS VARCHAR) AS {own}) FROM …)'."
    )


def _digest(value: sql.Expr) -> sql.Expr:
    return sql.call("sha256", value)


def _token(of: Asked) -> sql.Expr:
    return sql.call(pseudonyms.TOKEN.name, _digest(keys.text(of.column)), sql.text(of.context))


def _uuid(of: Asked) -> sql.Expr:
    text = sql.call(pseudonyms.UUID.name, _digest(keys.text(of.column)), sql.text(of.context))
    return sql.cast(text, "UUID")


def _hash(of: Asked) -> sql.Expr:
    return sql.call(pseudonyms.HASH.name, _digest(keys.text(of.column)), sql.text(of.context))


def _email(of: Asked) -> sql.Expr:
    """In lower case and without spaces around it, an address is the same however it is written."""
    address = sql.call("lower", sql.call("trim", keys.text(of.column), sql.text(_SPACES)))
    host: sql.Expr = sql.text(NOWHERE)
    if of.options.get(DOMAIN) == KEEP:
        own = sql.call("regexp_extract", address.copy(), sql.text("@([^@]*)$"), sql.number(1))
        conditions = [
            sql.call("regexp_full_match", own.copy(), sql.text(_HOST)),
            exp.Not(this=sql.call("regexp_matches", own.copy(), sql.text(_TOO_LONG_LABEL))),
            exp.LTE(this=sql.call("strlen", own.copy()), expression=sql.number(_LONGEST_HOST)),
        ]
        host = sql.cases((exp.and_(*conditions), own), otherwise=host)
    return sql.call(pseudonyms.EMAIL.name, _digest(address), host, sql.text(of.context))


def _integer(of: Asked) -> sql.Expr:
    if of.reverse:
        return sql.call(pseudonyms.INTEGER_BACK.name, keys.whole(of.column), sql.text(of.context))
    return sql.call(pseudonyms.INTEGER.name, of.number, sql.text(of.context))


def _digits(of: Asked) -> sql.Expr:
    udf = pseudonyms.DIGITS_BACK if of.reverse else pseudonyms.DIGITS
    text = sql.cast(sql.column(of.column.name), "VARCHAR")
    found = sql.call(udf.name, text, sql.text(of.context))
    return found if of.is_text else sql.cast(found, of.column.type)


INTEGER, DIGITS = "integer", "digits"
_ALL = (
    Form("token", SCALARS, "single values", "a token of 26 letters and digits, as text", _token),
    Form("uuid", SCALARS, "single values", "a UUID of version 8", _uuid),
    Form(
        "hash", SCALARS, "single values", "64 hexadecimal digits, as text", _hash, {SALT: ()},
    ),
    Form(
        INTEGER, SCALARS, "single values",
        "a BIGINT, a number for a number of the same sign", _integer, fits_back=WHOLE_OR_TEXT,
    ),
    Form(
        "email", TEXTS, "texts", "an address, a token in front of the sign", _email,
        {DOMAIN: (RESERVED, KEEP)},
    ),
    Form(
        DIGITS, WHOLE_OR_TEXT, f"texts and whole numbers of {FEWEST_DIGITS} digits or more",
        "its own characters with other digits, in its own type", _digits, fits_back=WHOLE_OR_TEXT,
    ),
)  # fmt: skip
FORMS = {each.name: each for each in _ALL}
