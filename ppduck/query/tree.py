"""Small builders over sqlglot trees; every name is quoted, every user text is a literal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

Expr = exp.Expr

# Names that ppduck adds beside the user's columns.
RESERVED = "_pp_"
_ONE_ROW = 'WITH RECURSIVE "_pp_once"("_pp_one") AS (SELECT 1 UNION SELECT "_pp_one" FROM "_pp_once") FROM "_pp_once"'


def name(text: str) -> Expr:
    """A quoted identifier."""
    return exp.to_identifier(text, quoted=True)


def column(name: str, table: str | None = None) -> Expr:
    return exp.column(name, table=table, quoted=True)


def call(function: str, *arguments: Expr) -> Expr:
    """A function call that sqlglot passes on as it stands, whatever it knows of the name."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def text(value: str) -> Expr:
    return exp.Literal.string(value)


def number(value: float | int) -> Expr:
    literal: Expr = exp.Literal.number(repr(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def cast(value: Expr, type_name: str) -> Expr:
    return exp.Cast(this=value, to=exp.DataType.build(type_name, dialect="duckdb"))


def double(value: Expr) -> Expr:
    return cast(value, "DOUBLE")


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


def minus(left: Expr, right: Expr) -> Expr:
    return exp.paren(exp.Sub(this=left, expression=right), copy=False)


def named(value: Expr, alias: str) -> Expr:
    return exp.alias_(value, alias, quoted=True, copy=False)


def array(values: Iterable[Expr], of: str) -> Expr:
    """A list of a declared element type, so that an empty one binds too."""
    return cast(call("list_value", *values), f"{of}[]")


def present(values: Iterable[Expr]) -> Expr | None:
    """Condition that no value is NULL; None where there is nothing to ask."""
    conditions = [value.copy().is_(exp.null()).not_() for value in values]
    return exp.and_(*conditions) if conditions else None


def star(table: str, exclude: Iterable[str] = (), replace: Mapping[str, Expr] | None = None) -> Expr:
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


def render(expression: Expr) -> str:
    return expression.sql(dialect="duckdb", copy=False)


def table_of(columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> str:
    """SELECT of literal rows of text."""
    tuples = [exp.Tuple(expressions=[exp.null() if v is None else text(v) for v in row]) for row in rows]
    names = ", ".join(render(name(each)) for each in columns)
    return f'SELECT * FROM (VALUES {", ".join(map(render, tuples))}) AS "rows"({names})'


class Statement:
    """WITH … SELECT, written CTE by CTE."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, str, bool]] = []

    def step(self, name: str, body: str, *, materialized: bool) -> None:
        self._steps.append((name, body, materialized))

    def finish(self, body: str) -> str:
        last = max((i for i, (_, _, kept) in enumerate(self._steps) if kept), default=None)
        steps = []
        for i, (own, rows, kept) in enumerate(self._steps):
            hint = "MATERIALIZED" if kept else "NOT MATERIALIZED"
            steps.append(f"{render(name(own))} AS {hint} ({_whole(rows) if i == last else rows})")
        return f"WITH {', '.join(steps)} {body}" if steps else body


def _whole(rows: str) -> str:
    """The same rows, in a plan in which no step is handed on in pieces.

    DuckDB 2.0 feeds the readers of a MATERIALIZED step while it is still being made. Where one of them may stop early
    (LIMIT, EXISTS, a result read in part) and waits for what another sums up, all wait for ever once a buffer is full.
    It keeps a step whole wherever the plan from there on holds a recursion: here one of a single row, in the last step
    that is kept, which costs next to nothing.
    """
    return f'SELECT "_pp_body".* FROM ({rows}) AS "_pp_body" CROSS JOIN ({_ONE_ROW}) AS "_pp_once"'


def select(
    columns: Sequence[Expr],
    source: str,
    *,
    where: Expr | None = None,
    group: Sequence[Expr] = (),
) -> str:
    """One SELECT over a FROM clause that is SQL already."""
    parts = ["SELECT", ", ".join(map(render, columns)), "FROM", source]
    if where is not None:
        parts += ["WHERE", render(where)]
    if group:
        parts += ["GROUP BY", ", ".join(map(render, group))]
    return " ".join(parts)


def joined(left: str, right: str, on: Sequence[tuple[Expr, Expr]], *, outer: bool = False) -> str:
    """left JOIN right, NULLs matching NULLs; a cross join where there is nothing to match.

    ``outer`` keeps rows of left that match nothing.
    """
    if not on and not outer:
        return f"{left} CROSS JOIN {right}"
    pairs = [render(exp.NullSafeEQ(this=a.copy(), expression=b.copy())) for a, b in on]
    return f"{left} {'LEFT JOIN' if outer else 'JOIN'} {right} ON {' AND '.join(pairs or ['true'])}"


def raw(text: str) -> Expr:
    """SQL that is written already; every name and literal in it must be rendered by the caller."""
    return exp.Var(this=text)
