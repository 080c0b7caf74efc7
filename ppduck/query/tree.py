"""Small builders over sqlglot trees; every name is quoted, every user text is a literal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlglot import exp

from ppduck.query.render import render as render

Expr = exp.Expr

# Names that ppduck adds beside the user's columns.
RESERVED = "_pp_"
_ONE_ROW = 'WITH RECURSIVE "_pp_once"("_pp_one") AS (SELECT 1 UNION SELECT "_pp_one" FROM "_pp_once") FROM "_pp_once"'


def name(text: str) -> Expr:
    """A quoted identifier."""
    return exp.Identifier(this=text, quoted=True)


def column(name: str, table: str | None = None) -> Expr:
    own = exp.Identifier(this=name, quoted=True)
    return (
        exp.Column(this=own)
        if table is None
        else exp.Column(this=own, table=exp.Identifier(this=table, quoted=True))
    )


def call(function: str, *arguments: Expr) -> Expr:
    """A function call that sqlglot passes on as it stands, whatever it knows of the name."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def null() -> Expr:
    return exp.null()


def text(value: str) -> Expr:
    return exp.Literal.string(value)


def number(value: float | int) -> Expr:
    # Literal.number would read it again.
    literal: Expr = exp.Literal(this=repr(abs(value)), is_string=False)
    return exp.Neg(this=literal) if value < 0 else literal


@cache
def _type(written: str) -> Expr:
    """As text: there are hundreds of casts in a plan, and few types."""
    return raw(render(exp.DataType.build(written, dialect="duckdb")))


def cast(value: Expr, type_name: str) -> Expr:
    return exp.Cast(this=value, to=_type(type_name))


def double(value: Expr) -> Expr:
    return cast(value, "DOUBLE")


def short(digest: Expr) -> Expr:
    """The upper 53 bits of a hash, which a DOUBLE holds."""
    return double(paren(exp.BitwiseRightShift(this=digest, expression=number(11))))


def total(terms: Sequence[Expr]) -> Expr:
    """The sum of some terms; 0 where there are none."""
    if not terms:
        return number(0)
    result = terms[0]
    for term in terms[1:]:
        result = exp.Add(this=result, expression=term)
    return result


def product(left: Expr, right: Expr) -> Expr:
    return exp.Mul(this=left.copy(), expression=right.copy())


def paren(value: Expr) -> Expr:
    return exp.Paren(this=value)  # exp.paren would copy all of it


def tried(value: Expr, type_name: str) -> Expr:
    """A value as a type; NULL where it is none, so that it does not end up in a message."""
    return exp.TryCast(this=value, to=_type(type_name))


def equal(left: Expr, right: Expr) -> Expr:
    return exp.EQ(this=left, expression=right)


def minus(left: Expr, right: Expr) -> Expr:
    return paren(exp.Sub(this=left, expression=right))


def named(value: Expr, alias: str) -> Expr:
    return exp.Alias(this=value, alias=name(alias))


def columns(values: Mapping[str, Expr]) -> list[Expr]:
    """Some values, each under its name."""
    return [named(value, alias) for alias, value in values.items()]


def array(values: Iterable[Expr], of: str) -> Expr:
    """A list of a declared element type, so that an empty one binds too."""
    return cast(call("list_value", *values), f"{of}[]")


def flat(lists: Iterable[Expr]) -> Expr:
    """Lists of numbers as one, one after the other."""
    return call("flatten", array(lists, "DOUBLE[]"))


def present(values: Iterable[Expr]) -> Expr | None:
    """Condition that no value is NULL; None where there is nothing to ask."""
    conditions = [
        exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null())) for value in values
    ]
    return exp.and_(*conditions, copy=False) if conditions else None


def star(
    table: str, exclude: Iterable[str] = (), replace: Mapping[str, Expr] | None = None
) -> Expr:
    """table.* EXCLUDE (…) REPLACE (…)"""
    modifiers: dict[str, list[Expr]] = {}
    left_out: list[Expr] = [exp.to_identifier(each, quoted=True) for each in exclude]
    if left_out:
        modifiers["except_"] = left_out
    if replace:
        modifiers["replace"] = [named(value, each) for each, value in replace.items()]
    return exp.Column(this=exp.Star(**modifiers), table=exp.to_identifier(table, quoted=True))


def hidden(name: str) -> Expr:
    """A column of whole numbers whose range DuckDB does not know: its plans, which EXPLAIN shows, would name the least.

    Sorts, groups and joins store whole numbers as their distance from it. What is known of a range ends at greatest(),
    which passes over NULL and takes any type, should the name stand for another table when the statement runs.
    """
    return call("greatest", column(name), exp.Null())


class Rows:
    """What a SELECT reads: a table, a SELECT under a name, or several joined."""

    def __init__(self, first: Expr, joins: Sequence[Expr] = ()) -> None:
        self.first = first
        self.joins = tuple(joins)

    def join(self, other: Rows, on: Expr, *, outer: bool = False) -> Rows:
        return self._with(other, side="LEFT" if outer else None, on=on)

    def matched(
        self, other: Rows, pairs: Sequence[tuple[Expr, Expr]], *, outer: bool = False
    ) -> Rows:
        """Joined where all pairs are equal, NULLs matching NULLs; each with each where there is nothing to match."""
        if not pairs and not outer:
            return self.cross(other)
        same = [exp.NullSafeEQ(this=a.copy(), expression=b.copy()) for a, b in pairs]
        return self.join(other, exp.and_(*same) if same else exp.true(), outer=outer)

    def using(
        self, other: Rows, columns: Sequence[str], *, anti: bool = False, outer: bool = False
    ) -> Rows:
        """Joined by columns of the same name; ``anti``, those rows that have no partner."""
        return self._with(
            other, side="ANTI" if anti else "LEFT" if outer else None, using=[*map(name, columns)]
        )

    def either(self, other: Rows, columns: Sequence[str]) -> Rows:
        """The same with all rows of both, those without a partner too."""
        return self._with(other, side="FULL", using=[*map(name, columns)])

    def cross(self, other: Rows) -> Rows:
        return self._with(other, kind="CROSS")

    def beside(self, other: Rows) -> Rows:
        """Row by row as they lie."""
        return self._with(other, method="POSITIONAL")

    def _with(self, other: Rows, **how: Any) -> Rows:
        told = {key: value for key, value in how.items() if value is not None}
        return Rows(self.first, (*self.joins, exp.Join(this=other.first, **told), *other.joins))


def table(name: str) -> Rows:
    """A step of the statement, or another table that ppduck names."""
    return Rows(exp.Table(this=exp.to_identifier(name, quoted=True)))


def named_table(name: str, alias: str) -> Rows:
    """The same under another name, so that it can be read twice."""
    found = exp.Table(
        this=exp.to_identifier(name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)),
    )
    return Rows(found)


def source(text: str, alias: str | None = None) -> Rows:
    """The user's table, whose SQL the catalogue has written already."""
    own: Expr = exp.Var(this=text)
    return Rows(own if alias is None else exp.alias_(own, alias, quoted=True, copy=False))


def derived(query: Expr, alias: str) -> Rows:
    """The rows of a SELECT under a name."""
    return Rows(exp.Subquery(this=query, alias=exp.TableAlias(this=name(alias))))


def query(
    columns: Sequence[Expr],
    rows: Rows | None = None,
    *,
    where: Expr | None = None,
    group: Sequence[Expr] = (),
    order: Sequence[Expr] = (),
    limit: Expr | None = None,
    distinct: bool = False,
    offset: Expr | None = None,
) -> Expr:
    """One SELECT."""
    parts: dict[str, Any] = {"expressions": list(columns)}
    if distinct:
        parts["distinct"] = exp.Distinct()
    if rows is not None:
        parts |= {"from_": exp.From(this=rows.first), "joins": list(rows.joins)}
    if where is not None:
        parts["where"] = exp.Where(this=where)
    if group:
        parts["group"] = exp.Group(expressions=list(group))
    if order:
        parts["order"] = _order(order)
    if limit is not None:
        parts["limit"] = exp.Limit(expression=limit)
    if offset is not None:
        parts["offset"] = exp.Offset(expression=offset)
    return exp.Select(**parts)


def union_all(queries: Sequence[Expr]) -> Expr:
    result = queries[0]
    for each in queries[1:]:
        result = exp.Union(this=result, expression=each, distinct=False)
    return result


def scalar(query: Expr) -> Expr:
    """A SELECT of one value as an expression."""
    return exp.Subquery(this=query)


def _order(by: Sequence[Expr]) -> Expr:
    own = [
        each if isinstance(each, exp.Ordered) else exp.Ordered(this=each, nulls_first=False)
        for each in by
    ]
    return exp.Order(expressions=own)


def over(function: Expr, by: Sequence[Expr] = (), order: Sequence[Expr] = ()) -> Expr:
    """A window function; what it is called with, and by, is copied."""
    parts: dict[str, Any] = {"this": function}
    if by:
        parts["partition_by"] = [each.copy() for each in by]
    if order:
        parts["order"] = _order([each.copy() for each in order])
    return exp.Window(**parts)


def in_order(function: str, value: Expr, order: Sequence[Expr], *, distinct: bool = False) -> Expr:
    """An aggregate that heeds the order of its values, such as list(x ORDER BY y)."""
    own: Expr = exp.Distinct(expressions=[value]) if distinct else value
    ordered = _order([each.copy() for each in order])
    ordered.set("this", own)
    return call(function, ordered)


def only(aggregate: Expr, where: Expr) -> Expr:
    """An aggregate of the rows that meet a condition."""
    return exp.Filter(this=aggregate, expression=exp.Where(this=where))


def item(values: Expr, position: int | Expr) -> Expr:
    """An item of a list, the first at 1."""
    return call("list_extract", values, number(position) if isinstance(position, int) else position)


def part(row: Expr, name: str) -> Expr:
    """A field of a struct."""
    return exp.Dot(this=row, expression=exp.to_identifier(name, quoted=True))


def struct(fields: Mapping[str, Expr]) -> Expr:
    pairs = [exp.PropertyEQ(this=name(each), expression=value) for each, value in fields.items()]
    return call("struct_pack", *pairs)


def argument(parameter: str, value: Expr) -> Expr:
    """An argument by its name: parameter := value."""
    return exp.PropertyEQ(this=exp.to_identifier(parameter), expression=value)


def cases(*pairs: tuple[Expr, Expr], otherwise: Expr | None = None) -> Expr:
    """CASE WHEN … THEN … ELSE … END."""
    found = exp.Case()
    for condition, value in pairs:
        found = found.when(condition, value, copy=False)
    return found if otherwise is None else found.else_(otherwise, copy=False)


def rows_of(function: str, *arguments: Expr) -> Rows:
    """The rows that a table function gives."""
    return Rows(exp.Table(this=call(function, *arguments)))


def exists(query: Expr) -> Expr:
    return exp.Exists(this=query)


def among(value: Expr, texts: Iterable[str]) -> Expr:
    """value IN ('a', 'b')"""
    return exp.In(this=value, expressions=[text(each) for each in texts])


def cast_as(value: Expr, written: str, *, try_: bool = False) -> Expr:
    """A cast to a type as DuckDB wrote it, which sqlglot need not know."""
    to = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=written)
    return (exp.TryCast if try_ else exp.Cast)(this=value, to=to)


def texts(values: Iterable[str | None]) -> Expr:
    """A list of literal texts."""
    return array([null() if value is None else text(value) for value in values], "VARCHAR")


def every(conditions: Sequence[Expr]) -> Expr | None:
    """All of the conditions; None where there are none."""
    return exp.and_(*conditions, copy=False) if conditions else None


class Statement:
    """WITH … SELECT, step by step."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Expr, bool]] = []

    def step(self, name: str, body: Expr, *, materialized: bool) -> None:
        self._steps.append((name, body, materialized))

    def has(self, name: str) -> bool:
        return any(step == name for step, _, _ in self._steps)

    def query(self, body: Expr) -> Expr:
        """The whole statement as a tree."""
        last = max((i for i, (_, _, kept) in enumerate(self._steps) if kept), default=None)
        steps = []
        for i, (own, rows, kept) in enumerate(self._steps):
            tree = _whole(rows) if i == last else rows
            steps.append(
                exp.CTE(this=tree, alias=exp.TableAlias(this=name(own)), materialized=kept)
            )
        if steps:
            body.set("with_", exp.With(expressions=steps))
        return body


def _whole(rows: Expr) -> Expr:
    """The same rows, in a plan in which no step is handed on in pieces.

    DuckDB 2.0 feeds the readers of a MATERIALIZED step while it is still being made. Where one of them may stop early
    (LIMIT, EXISTS, a result read in part) and waits for what another sums up, all wait for ever once a buffer is full.
    It keeps a step whole wherever the plan from there on holds a recursion: here one of a single row, in the last step
    that is kept, which costs next to nothing.
    """
    return query(
        [star("_pp_body")], derived(rows, "_pp_body").cross(derived(raw(_ONE_ROW), "_pp_once"))
    )


def raw(text: str) -> Expr:
    """SQL that is written already; every name and literal in it must be rendered by the caller."""
    return exp.Var(this=text)
