"""Pseudonyms: values of columns replaced by what only the owner of the secret can lead back, the same in every table.

A pseudonym is a function of the value's text, the secret and a domain, and of nothing else: 7 has the same one as
INTEGER, DECIMAL and text, in every table and column of the domain, so that tables can still be joined; those of other
domains have nothing in common. The forms say what it looks like: a token, a UUID (RFC 9562, version 8), hexadecimal
digits with a salt of their own, a whole number, an address, or the same characters with other digits. Numbers and
digits are permuted by FF1 (NIST SP 800-38G), and ``reverse`` leads back from them. The keys, and what is done with
them, stand in ``ppduck.kernels.pseudonyms``.

What it does not hide: how often a value occurs and which rows share it, and all other columns. By these people may be
found: what has pseudonyms is still about persons (GDPR, article 4 (5)).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, ColumnNames, MisreadError, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.masks import _pseudonym_check, _pseudonym_forms
from ppduck.masks._pseudonym_forms import (
    DIGITS,
    DOMAIN,
    FORM,
    INTEGER,
    KEEP,
    NOWHERE,
    RESERVED,
    Asked,
    asked,
)
from ppduck.query import tree as sql
from ppduck.runtime.pseudonyms import UDFS
from ppduck.stages.explain import Row, promised, table
from ppduck.stages.masking import LOOK, ROW, SOURCE
from ppduck.stages.plan import Plan, Rows, Sorted

NAME = "pseudonym_mask"
DEFAULT_DOMAIN = "ppduck"
DEFAULTS = {DOMAIN: RESERVED}  # of options


@arguments.reader(
    "a form for each column, such as {'id': 'token', 'email': {'as': 'email', 'domain': 'keep'}}",
    columns=ColumnNames.KEYED,
)
def forms(value: Any) -> dict[str, dict[str, Any]]:
    """Form and options of each column; what these may be is said where columns are known."""
    if not isinstance(value, Mapping):
        raise MisreadError
    found = {}
    for name, given in value.items():
        if not isinstance(given, (str, Mapping)):
            raise MisreadError
        found[str(name)] = {FORM: given} if isinstance(given, str) else dict(given)
    return found


@arguments.reader("a text in single quotes that is not empty")
def domain_name(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise MisreadError
    return value


@parameters
class PseudonymCall(Call):
    tbl: str = TABLE
    columns: Mapping[str, Mapping[str, Any]] = parameter(
        forms,
        "the columns and their forms: 'token', 'uuid', 'hash' with an own 'salt', 'integer', 'email' with 'domain' "
        "'reserved' or 'keep', 'digits', which keeps all other characters",
    )
    domain: str = parameter(
        domain_name,
        "what equal values share their pseudonyms in; those of other domains cannot be linked",
        DEFAULT_DOMAIN,
    )
    reverse: bool = parameter(
        arguments.flag,
        "give back the values of a release, under the same secret and domain, where the form is 'integer' or 'digits'",
        False,
    )
    drop: Sequence[str] = parameter(arguments.columns, "columns to leave out of the output", ())


@frozen
class _Resolved:
    """A call with its columns found."""

    source: Source
    asked: list[Asked]
    drop: list[str]


def _resolve(catalog: Catalog, call: PseudonymCall) -> _Resolved:
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    refuse_reserved(faults, source)
    if not call.columns:
        faults.add(
            "columns is empty; name at least one column, such as columns := {'id': 'token'}."
        )
    found = []
    for name, given in call.columns.items():
        for column in resolve_columns(faults, source, "columns", [name]):
            read = asked(faults, column, given, domain=call.domain, reverse=call.reverse)
            found += [] if read is None else [read]
    columns = [each.column for each in found]
    # one by one they were found; together none may come twice
    resolve_columns(faults, source, "columns", [column.name for column in columns])
    drop = resolve_columns(faults, source, "drop", call.drop)
    refuse_overlap(faults, {"columns": columns, "drop": drop}, "columns")
    faults.raise_if_any()
    return _Resolved(source, found, [column.name for column in drop])


def misread(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong with the forms of columns, as far as no table is needed to tell."""
    return [
        fault
        for name, given in columns.items()
        for fault in _pseudonym_forms.misread(Column(name, ""), given)
    ]


def plan(catalog: Catalog, call: PseudonymCall) -> Plan:
    made = _resolve(catalog, call)
    source, look = made.source, _pseudonym_check.look(NAME, made.source.label, made.asked)
    kept = bool(look) and not source.repeatable
    hidden = {c.name: sql.hidden(c.name) for c in (a.column for a in made.asked) if c.is_integer}
    own = [sql.star("_pp_row", replace=hidden)]
    if kept:
        own.append(sql.named(sql.over(sql.call("row_number")), ROW))
    rows, where = sql.table(SOURCE), None
    if look:
        # Of a row nothing is released before all were looked at, whichever columns a query reads.
        rows = rows.cross(sql.table(LOOK))
        where = sql.equal(sql.column(_pseudonym_check.CHECKED), sql.number(0))
    replace = {each.column.name: _guarded(source, each) for each in made.asked}
    columns = [sql.star(SOURCE, [*([ROW] if kept else []), *made.drop], replace)]
    # DuckDB 1.4 reads what is kept in any order, if it has several threads.
    order = [sql.column(ROW, SOURCE)] if kept else []
    answer = sql.query(columns, rows, where=where, order=order)
    stages = (Rows(SOURCE, kept, sql.query(own, sql.source(source.sql, "_pp_row"))), *look)
    return Plan(stages, (Sorted if kept else Rows)("_pp_answer", False, answer))


def _guarded(source: Source, of: Asked) -> sql.Expr:
    """A pseudonym, unless the column is of another type than was planned for: its values might end up in a message."""
    kind, faults = sql.call("typeof", sql.column(of.column.name)), Faults(NAME, source.label)
    if of.column.type:
        expected = sql.equal(kind, sql.text(of.column.type))
        said = (
            f"column {quoted(of.column.name)} is of another type than the call was planned for: here the name of the "
            "table stands for another one, such as a temporary one. Name it with its schema, or commit first."
        )
    else:
        expected = sql.call("regexp_full_match", kind, sql.text(of.fits))
        said = (
            f"column {quoted(of.column.name)} is of a type that the form {of.form!r} is not for, or only where the "
            "planner sees the table: cast it to VARCHAR in tbl, or commit the table first."
        )
    refused = sql.call("error", sql.text(str(faults.refuse(said))))
    return sql.cases((expected, of.pseudonym), otherwise=refused)


def explained(mask: Function, catalog: Catalog, call: PseudonymCall) -> sql.Expr:
    mask.plan(catalog, call)  # whatever the mask would refuse while planning, refuse here too
    made = _resolve(catalog, call)
    own = {each.column.name: each for each in made.asked}
    names = [column.name for column in made.source.columns or ()] or list(own)
    found: list[Row] = []
    for name in names:
        if name in own:
            found.append((name, "pseudonym", _becomes(own[name])))
        elif name in made.drop:
            found.append((name, "dropped", "left out of the output"))
        else:
            found.append(
                (name, "not used", "released as it is: drop it if it tells who somebody is")
            )
    return table([*found, *promised(mask, call)])


def _becomes(of: Asked) -> str:
    if of.reverse:
        return (
            f"the value that the form {of.form!r} of domain {of.domain!r} replaced; NULL stays NULL"
        )
    told = f"replaced by {of.of.becomes}"
    if of.form == "email":
        kept = f"its own domain, or {NOWHERE} where that is no name of a host"
        told += f" and {kept if of.options.get(DOMAIN) == KEEP else NOWHERE} behind it"
    salted = ", with a salt of its own" if "salt" in of.options else ""
    return f"{told}; equal values of domain {of.domain!r} have the same{salted}; NULL stays NULL"


def _with(form: str, **options: str) -> Callable[[PseudonymCall], bool]:
    """Whether a call masks a column in a form, with these options."""

    def told(call: PseudonymCall) -> bool:
        wanted = {FORM: form, **options}
        return not call.reverse and any(
            wanted.items() <= given.items() for given in call.columns.values()
        )

    return told


def _masks(call: PseudonymCall) -> bool:
    return not call.reverse


KEEPS = (
    Guarantee(
        Promise.EQUALITY,
        "equal values, as texts, have equal pseudonyms in every table and column of the domain; different ones have "
        "different ones: 'integer' and 'digits' always, others but for one chance in 2^122 a pair",
        _masks,
    ),
    Guarantee(
        Promise.KEYED,
        "a value keeps its pseudonym whatever other rows and columns there are, on any number of threads and on every "
        "DuckDB, under the same secret",
        _masks,
    ),
    Guarantee(
        Promise.VALUES,
        "the values that the same secret and domain replaced, whole numbers and digits",
        lambda call: call.reverse,
    ),
)
LOSES = (
    Loss(
        LossKind.FREQUENCIES,
        "secrecy of how often a value occurs and which rows share it: a value that is frequent, or known by its rows, "
        "is known by its pseudonym",
        _masks,
    ),
    Loss(
        LossKind.SEVERAL_RELEASES,
        "that releases of the same domain cannot be joined: they are meant to be; take another domain where they are "
        "not",
        _masks,
    ),
    Loss(LossKind.OTHER_COLUMNS, "protection by columns that are not named", _masks),
    Loss(
        LossKind.OTHER_KNOWLEDGE,
        "secrecy from whoever may call the mask under the secret, and can try values until a pseudonym fits",
        _masks,
    ),
    Loss(LossKind.PRESENCE, "secrecy of where nothing is known: NULL stays NULL", _masks),
    Loss(
        LossKind.STABILITY,
        "the same pseudonyms once the database is opened again, where ppduck.load was given no secret",
        _masks,
    ),
    Loss(
        LossKind.OTHER_KNOWLEDGE,
        "secrecy of the sign of a number in the form 'integer'",
        _with(INTEGER),
    ),
    Loss(
        LossKind.OTHER_KNOWLEDGE,
        "secrecy, in the form 'digits', of the number of digits, of a 0 in front and of all other characters, such as "
        "words beside a number",
        _with(DIGITS),
    ),
    Loss(
        LossKind.OTHER_KNOWLEDGE,
        "secrecy of the domain of an address, which may have one user only: it is kept",
        _with("email", **{DOMAIN: KEEP}),
    ),
    Loss(
        LossKind.OTHER_KNOWLEDGE,
        "any secrecy: these are the values; under another secret or domain they are others, and nothing tells",
        lambda call: call.reverse,
    ),
)
FUNCTION = register(
    Function(
        NAME,
        PseudonymCall,
        plan,
        "Pseudonyms: values replaced by tokens, UUIDs, hashes, numbers or addresses that only the secret leads back.",
        "Dworkin 2016, NIST SP 800-38G (FF1); RFC 9562 (2024), section 5.8",
        kind=Kind.MASK,
        explain=explained,
        keeps=KEEPS,
        loses=LOSES,
        udfs=(_pseudonym_check.CHECK, *UDFS),
        example="FROM pseudonym_mask('customers', columns={'id': 'token'}, domain='crm')",
    )
)
