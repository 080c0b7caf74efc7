"""Reads the arguments of a call from the text that DuckDB hands the planner.

A table macro passes its arguments as expressions. ``alias(CASE WHEN false THEN x END)`` gives the
text of x without evaluating it. Written ``conf := […]`` the text is the list; written ``conf=[…]``
DuckDB takes it for a comparison, CAST('conf' AS VARCHAR[]) = list_value(…), in whatever position
it stands, and the name is in that text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppduck.call.parameters import (
    AnyCall,
    ColumnNames,
    MisreadError,
    NotTakenError,
    Parameter,
    Reader,
    call_of,
    parameter,
    parameters_of,
)
from ppduck.call.ranges import Range
from ppduck.errors import Faults, listed, near_miss

_Argument = tuple[exp.Expr, exp.Expr | None]  # an expression, and the type that DuckDB gave it


def reader(
    takes: str,
    within: Range | None = None,
    *,
    options: tuple[str, ...] = (),
    columns: ColumnNames | None = None,
) -> Callable[[Callable[[Any], Any]], Reader]:
    """Makes a reader of a function, which raises a MisreadError without text for what it does not take."""
    return lambda read: Reader(takes, read, within, options=options, columns=columns)


@reader("a column name or a list of column names, such as ['x1', 'x2']", columns=ColumnNames.LISTED)
def columns(value: Any) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise MisreadError
    return names


@reader(
    f"{columns.takes}, or {{'token': 'customer_id'}} where a column stands for one of another name",
    columns=ColumnNames.LISTED,
)
def replaced_columns(value: Any) -> list[str] | dict[str, str]:
    if not isinstance(value, Mapping):
        names: list[str] = columns(value)
        return names
    if not all(isinstance(name, str) for name in value.values()):
        raise MisreadError
    return {str(name): original for name, original in value.items()}


@reader("a list of column names, such as ['x1', 'x2']", columns=ColumnNames.LISTED)
def column_list(value: Any) -> list[str]:
    """As the plain macros take them."""
    if not isinstance(value, list):
        raise MisreadError
    return list(columns(value))


@reader("true or false")
def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise MisreadError
    return value


@reader("a text in single quotes")
def words(value: Any) -> str:
    if not isinstance(value, str):
        raise MisreadError
    return value


column = Reader(words.takes, words, columns=ColumnNames.LISTED)  # the name of one


@reader("a whole number")
def integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise MisreadError
    return int(value)


def whole(low: int, high: int | None = None, why: str = "") -> Reader:
    """A whole number in a range; ``why`` says what is wrong with others."""
    within = Range(low) if high is None else Range(low, high)

    @reader(f"a whole number {within.behind_a_noun}", within)
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise MisreadError
        if value not in within:
            raise MisreadError(f"must be {within}{why}")
        return int(value)

    return read


def choice(*options: str) -> Reader:
    @reader("one of " + ", ".join(f"'{option}'" for option in options), options=options)
    def read(value: Any) -> str:
        if value not in options:
            raise MisreadError
        return str(value)

    return read


def number(within: Range, why: str = "") -> Reader:
    """A number in a range; ``why`` says what is wrong with others."""
    finite = ", and finite" if math.isinf(within.high) else ""

    @reader(f"a number {within.behind_a_noun}{finite}", within)
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise MisreadError
        try:
            # a decimal 0.1 is compared as the double 0.1, which a bound is too
            found = float(value)
        except OverflowError:
            found = math.inf
        if found not in within:
            raise MisreadError(f"must be {within}{finite}{why}")
        return found

    return read


def per_column(one: Reader) -> Reader:
    """A number for all columns, or {'x1': 0.8, 'x2': 0.3}."""

    @reader(f"{one.takes}, or {{'column': number}} of them", one.within, columns=ColumnNames.KEYED)
    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return one(value)
        try:
            return {str(name): one(part) for name, part in value.items()}
        except NotTakenError:
            raise
        except MisreadError as misread:
            raise MisreadError(f"{misread} (in a {{column: number}} of them)") from None

    return read


TABLE = parameter(words, "a table, view or file name, or a SELECT in parentheses")


def read_arguments(
    function: str,
    parameters: Sequence[Parameter],
    texts: Sequence[str | None],
    evaluate: Callable[[str], Any],
) -> dict[str, Any]:
    """The given values by parameter name. ``texts`` are those of each place, then those by := of each parameter."""
    faults = Faults(function)
    given = {
        name: _valued(*found, evaluate) for name, found in _named(faults, parameters, texts).items()
    }
    result: dict[str, Any] = {}
    for each in parameters:
        value = given.get(each.name)
        if value is None:
            if each.default is None:
                faults.add(f"parameter {each.name!r} is missing: {each.doc}.")
            continue
        try:
            result[each.name] = each.read(value)
        except MisreadError as misread:
            faults.add(f"{each.name} {misread}, got {_shown(value)}.")
    faults.raise_if_any()
    return result


def read_call(
    function: str, call: type[AnyCall], texts: Sequence[str | None], evaluate: Callable[[str], Any]
) -> AnyCall:
    """The arguments of a call, defaults filled in."""
    return call_of(call, read_arguments(function, parameters_of(call), texts, evaluate))


def read_texts(
    function: str, parameters: Sequence[Parameter], texts: Sequence[str | None]
) -> dict[str, str]:
    """The given arguments as SQL by parameter name, for a function that judges their values itself.

    One that is required and not given goes as NULL: the function says that it is missing.
    """
    faults = Faults(function)
    given = _named(faults, parameters, texts)
    faults.raise_if_any()
    required = {parameter.name: "NULL" for parameter in parameters if parameter.default is None}
    return required | {name: body.sql(dialect="duckdb") for name, (body, _) in given.items()}


def _named(
    faults: Faults, parameters: Sequence[Parameter], texts: Sequence[str | None]
) -> dict[str, _Argument]:
    """The arguments by parameter name, whichever position they stand in; NULL is as good as not given."""
    known = [parameter.name for parameter in parameters]
    given: dict[str, _Argument] = {}
    for slot, text in zip([*known, *known], texts, strict=True):
        name, argument = _read_one(faults.function, text, slot)
        if argument is None:
            continue
        if name not in known:
            faults.add(
                f"there is no parameter {name!r}.{near_miss(name, known)} Parameters: {listed(known)}."
            )
        elif name in given:
            faults.add(f"parameter {name!r} is given twice.")
        else:
            given[name] = argument
    return given


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, (int, float, Decimal)) else repr(value)


def _read_one(function: str, argument: str | None, slot: str) -> tuple[str, _Argument | None]:
    """The parameter that an argument is for, and what it gives; None for NULL."""
    if argument is None or argument.endswith("THEN (NULL) ELSE NULL END"):
        return slot, None
    try:
        case = sqlglot.parse_one(argument, dialect="duckdb")
    except SqlglotError:
        raise Faults(function).refuse(
            f"cannot read parameter {slot!r}; give it as a literal."
        ) from None
    body = case.args["ifs"][0].args["true"].unnest()
    if isinstance(body, exp.Null):
        return slot, None
    default = case.args.get("default")
    declared = default.args.get("to") if isinstance(default, exp.Cast) else None
    if (
        isinstance(body, exp.EQ)
        and isinstance(body.this, exp.Cast)
        and isinstance(body.this.this, exp.Literal)
    ):
        slot, declared, body = body.this.this.this, body.this.args["to"], body.expression.unnest()
    return slot, (body, declared)


def _valued(body: exp.Expr, declared: exp.Expr | None, evaluate: Callable[[str], Any]) -> Any:
    try:
        return _value(body, declared)
    except _NotALiteralError:
        return _renamed(evaluate(body.sql(dialect="duckdb")), declared)


class _NotALiteralError(Exception):
    """An expression that must be asked of DuckDB."""


def _value(node: exp.Expr, declared: exp.Expr | None = None) -> Any:
    match node:
        case exp.Literal():
            return node.this if node.is_string else _plain_number(node.this)
        case exp.Neg():
            return -_value(node.this)
        case exp.Boolean():
            return node.this
        case exp.Null():
            return None
        case exp.Paren():
            return _value(node.this, declared)
        case exp.Cast():
            # DuckDB 1.4 writes true as CAST('t' AS BOOLEAN).
            if node.args["to"].this == exp.DataType.Type.BOOLEAN and isinstance(
                node.this, exp.Literal
            ):
                return node.this.this == "t"
            if (
                isinstance(node.this, exp.Literal)
                and node.this.is_string
                and not node.args["to"].is_type(exp.DataType.Type.TEXT)
            ):
                raise _NotALiteralError
            return _value(node.this, node.args["to"])
        case exp.Array():
            return [_value(item, _inside(declared, 0)) for item in node.expressions]
        case exp.Struct():
            return _struct(node, declared)
        case exp.Map() | exp.ToMap():
            return _map(node, declared)
        case _:
            raise _NotALiteralError


def _renamed(value: Any, declared: exp.Expr | None) -> Any:
    """A struct of expressions has lost its names on the way; its declared type still has them."""
    if isinstance(value, list):
        return [_renamed(part, _inside(declared, 0)) for part in value]
    if not isinstance(value, dict) or not isinstance(declared, exp.DataType):
        return value
    if declared.is_type(exp.DataType.Type.MAP):
        return {name: _renamed(part, _inside(declared, -1)) for name, part in value.items()}
    fields = declared.expressions
    if len(fields) != len(value):
        return value
    parts = zip(fields, value.values(), strict=True)
    return {field.name: _renamed(part, field.args.get("kind")) for field, part in parts}


def _inside(declared: exp.Expr | None, which: int) -> exp.Expr | None:
    """The type of the items of a list, or of the keys or the values of a map."""
    if not isinstance(declared, exp.DataType) or not declared.expressions:
        return None
    found: exp.Expr = declared.expressions[which]
    return found


def _struct(node: exp.Struct, declared: exp.Expr | None) -> dict[str, Any]:
    named = {
        item.name: _value(item.expression, _field(declared, item.name))
        for item in node.expressions
        if isinstance(item, exp.PropertyEQ)
    }
    if named or not node.expressions:
        return named
    # struct_pack(0.8, 0.3) has lost its names; the declared type still has them.
    if not isinstance(declared, exp.DataType):
        raise _NotALiteralError
    parts = zip(declared.expressions, node.expressions, strict=True)
    return {field.name: _value(part, field.args.get("kind")) for field, part in parts}


def _field(declared: exp.Expr | None, name: str) -> exp.Expr | None:
    """The type of a struct's field."""
    fields = declared.expressions if isinstance(declared, exp.DataType) else []
    return next((field.args.get("kind") for field in fields if field.name == name), None)


def _map(node: exp.Expr, declared: exp.Expr | None) -> Mapping[str, Any]:
    inner = node.this if isinstance(node, exp.ToMap) else node
    if isinstance(inner, exp.Struct):
        return _struct(inner, None)
    keys, values = inner.args.get("keys"), inner.args.get("values")
    if keys is None or values is None:
        raise _NotALiteralError
    own = [_value(part, _inside(declared, -1)) for part in values.expressions]
    return dict(zip(_value(keys), own, strict=True))


def _plain_number(literal: str) -> int | float:
    try:
        return int(literal)
    except ValueError:
        return float(literal)
