"""What a SELECT over one randomized relation asks: counts and shares of conditions, by groups and sets of groups.

Only what has an unbiased answer is read; everything else is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from ppduck.catalogue.source import Column
from ppduck.errors import Faults, quoted
from ppduck.estimators.answers import Aggregate, aggregate, bare, is_mean, name_of, outputs
from ppduck.estimators.question import Grouping, Question
from ppduck.query import tree as sql
from ppduck.values import folded

MOST_SETS = 1_024
_MAY_HAVE = {"expressions", "from_", "where", "group", "order", "limit", "offset", "kind"}
_REASONS = {
    "joins": "joins another relation; a randomized value matches the wrong rows. Join in the view behind the mask",
    "laterals": "joins another relation; a randomized value matches the wrong rows",
    "with_": "has a WITH clause; ask about one relation",
    "having": "has a HAVING clause, which would pick groups by their noise; filter the answer instead",
    "distinct": "has a DISTINCT clause; how many values are different cannot be told from randomized ones",
    "qualify": "has a QUALIFY clause; windows over randomized rows cannot be answered",
    "windows": "has a WINDOW clause; windows over randomized rows cannot be answered",
    "sample": "samples rows; ask about all of them",
}
# Kinds of functions that are no functions of a row's values, and why.
_KINDS = {
    "volatile": "which gives another value whenever it is called",
    "macro": "a macro, which may hide anything; write it out",
    "aggregate": "an aggregate that cannot be answered",
    "table": "which gives several rows for one",
}


class Names(Protocol):
    """What the database knows of the names in a query."""

    def column(self, table: str, name: str) -> Column | None: ...

    def kind_of(self, function: str) -> str | None:
        """'scalar', or one of the kinds that are refused; None for a name that is no function of DuckDB's."""
        ...


def read_question(faults: Faults, text: str, names: Names) -> Question:
    """Takes a query apart; raises where it holds anything that cannot be answered."""
    try:
        statements = [
            statement
            for statement in sqlglot.parse(text, dialect="duckdb")
            if statement is not None
        ]
    except SqlglotError as error:
        where = error.errors if isinstance(error, ParseError) else []
        near = f" near {where[0]['highlight']!r}" if where and where[0].get("highlight") else ""
        raise faults.refuse(
            f"the query cannot be parsed{near}; give one SELECT, such as {_EXAMPLE}."
        ) from None
    if len(statements) != 1:
        raise faults.refuse(
            f"the query holds {len(statements)} statements; give one SELECT, such as {_EXAMPLE}."
        )
    query = statements[0]
    while isinstance(query, exp.Subquery) and not any(
        value for part, value in query.args.items() if part != "this"
    ):
        query = query.this
    if not isinstance(query, exp.Select):
        what = (
            f"is the statement {query.key.upper()}"
            if isinstance(query, (exp.DML, exp.DDL, exp.Command))
            else "is no SELECT"
        )
        what = "combines queries" if isinstance(query, exp.SetOperation) else what
        raise faults.refuse(
            f"the query {what}; only one SELECT over one randomized relation is answered."
        )
    return _Reader(faults, query, names).question()


_EXAMPLE = "'SELECT disease, count(*) FROM survey_rr GROUP BY disease'"


class _Reader:
    def __init__(self, faults: Faults, query: exp.Select, names: Names) -> None:
        self.faults, self.query, self.names = faults, query, names
        self.table = ""

    def question(self) -> Question:
        query = self.query
        for part, value in query.args.items():
            if value and part not in _MAY_HAVE:
                reason = _REASONS.get(
                    part, f"has a {part.strip('_').upper()} clause, which is not answered"
                )
                raise self.faults.refuse(f"the query {reason}.")
        table = self._table()
        plain = table.copy()
        plain.set("alias", None)
        self.table = plain.sql(dialect="duckdb")
        self._refuse_inside(query)
        self._unqualify(table)
        where = query.args.get("where")
        conditions = (
            tuple(where.this.flatten() if isinstance(where.this, exp.And) else [where.this])
            if where
            else ()
        )
        for each in conditions:
            self._refuse_aggregates(each, "WHERE")
        groups, sets = self._groups()
        items = self._items(groups)
        return Question(
            self.table,
            tuple(groups),
            tuple(sets),
            tuple(items),
            tuple(map(bare, conditions)),
            self._order(items),
            self._rows("limit"),
            self._rows("offset"),
        )

    def _table(self) -> exp.Table:
        start = self.query.args.get("from_")
        if start is None:
            raise self.faults.refuse(
                "the query reads no relation; ask about a view over rr_mask or pram_mask."
            )
        table = start.this
        if isinstance(table, exp.Subquery):
            raise self.faults.refuse(
                "the query nests another query; make it a view, and ask about the view."
            )
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise self.faults.refuse(
                "the query reads a function; make a view of it, and ask about the view."
            )
        if table.args.get("joins"):
            raise self.faults.refuse(f"the query {_REASONS['joins']}.")
        if table.args.get("alias") is not None and table.args["alias"].args.get("columns"):
            raise self.faults.refuse(
                "the query renames the columns of its relation; read them by their own names."
            )
        for part, value in table.args.items():
            if value and part not in ("this", "db", "catalog", "alias"):
                raise self.faults.refuse(
                    f"the query reads its relation with a {part.upper()} clause, which is not answered."
                )
        return table

    def _refuse_inside(self, query: exp.Select) -> None:
        for node in query.walk():
            if node is not query and isinstance(node, (exp.Query, exp.Subquery)):
                raise self.faults.refuse(
                    "the query nests another query; ask one question at a time."
                )
            if isinstance(node, exp.Window):
                raise self.faults.refuse(
                    "the query has a window function; windows over randomized rows cannot be answered."
                )
            if isinstance(node, exp.Func) and not isinstance(node, (exp.AggFunc, exp.Grouping)):
                kind = self.names.kind_of(node.sql(dialect="duckdb").partition("(")[0])
                if kind in _KINDS and not (isinstance(node, exp.Anonymous) and is_mean(node)):
                    raise self.faults.refuse(
                        f"the query calls {node.sql(dialect='duckdb')}, {_KINDS[kind]}."
                    )
            if isinstance(node, exp.Columns) or (
                isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count)
            ):
                raise self.faults.refuse(
                    "the query names columns by * or COLUMNS(…); single records cannot be answered, and columns must "
                    "be read by their names."
                )
            if isinstance(node, (exp.Placeholder, exp.Parameter)):
                raise self.faults.refuse("the query has a parameter; put its value into the text.")

    def _unqualify(self, table: exp.Table) -> None:
        known = {folded(table.alias or table.name)}
        for column in self.query.find_all(exp.Column):
            before = [folded(part.name) for part in column.parts[:-1]]
            if before and (len(before) > 1 or before[0] not in known):
                raise self.faults.refuse(
                    f"the query reads {column.sql(dialect='duckdb')}, which is no column of {quoted(table.name)}."
                )
            column.set("table", None)
            own = self.names.column(self.table, column.name)
            if own is not None:
                column.set("this", exp.to_identifier(own.name, quoted=True))

    def _groups(self) -> tuple[list[sql.Expr], list[tuple[int, ...]]]:
        """The expressions of all grouping sets, and the sets."""
        group = self.query.args.get("group")
        found: list[sql.Expr] = []
        if group is None:
            return found, [()]
        if group.args.get("all"):
            parts = [
                [self._place(found, item)]
                for item in self.query.expressions
                if not self._is_aggregate(item)
            ]
            return found, [tuple(place for part in parts for place in part)]
        choices: list[list[tuple[int, ...]]] = []
        for item in group.expressions:
            choices.append(self._sets(found, item))
        sets = [
            tuple(dict.fromkeys(place for part in combined for place in part))
            for combined in product(*choices)
        ]
        if len({frozenset(each) for each in sets}) < len(sets):
            raise self.faults.refuse("the query has a grouping set twice; name each once.")
        if len(sets) > MOST_SETS:
            raise self.faults.refuse(
                f"the query has {len(sets):,} grouping sets, more than {MOST_SETS:,}."
            )
        return found, sets

    def _sets(self, found: list[sql.Expr], item: sql.Expr) -> list[tuple[int, ...]]:
        if isinstance(item, exp.GroupingSets):
            return [each for part in item.expressions for each in self._sets(found, part)]
        if isinstance(item, (exp.Cube, exp.Rollup)):
            blocks = [self._block(found, part) for part in item.expressions]
            if isinstance(item, exp.Rollup):
                kept = [range(size) for size in range(len(blocks), -1, -1)]
            else:
                if len(blocks) > 10:
                    raise self.faults.refuse("the query has a CUBE of more than ten columns.")
                kept = [
                    [i for i in range(len(blocks)) if not mask >> i & 1]  # type: ignore[misc]
                    for mask in range(2 ** len(blocks))
                ]
            return [tuple(place for i in each for place in blocks[i]) for each in kept]
        return [self._block(found, item)]

    def _block(self, found: list[sql.Expr], item: sql.Expr) -> tuple[int, ...]:
        parts = item.expressions if isinstance(item, exp.Tuple) else [item]
        return tuple(self._place(found, part) for part in parts)

    def _place(self, found: list[sql.Expr], item: sql.Expr) -> int:
        expression = self._meant(item)
        self._refuse_aggregates(expression, "GROUP BY")
        if expression not in found:
            found.append(expression)
        return found.index(expression)

    def _meant(self, item: sql.Expr) -> sql.Expr:
        """What a GROUP BY item stands for: the n-th item, an alias, or itself."""
        item = bare(item)
        items = self.query.expressions
        if isinstance(item, exp.Literal) and not item.is_string:
            if not item.name.isdecimal() or not 1 <= int(item.name) <= len(items):
                raise self.faults.refuse(f"GROUP BY {item.name} is no item of the query.")
            return bare(items[int(item.name) - 1])
        if isinstance(item, exp.Column) and self.names.column(self.table, item.name) is None:
            for each in items:
                if isinstance(each, exp.Alias) and folded(each.alias) == folded(item.name):
                    return bare(each)
        return item

    def _is_aggregate(self, item: sql.Expr) -> bool:
        return item.find(exp.AggFunc) is not None or any(map(is_mean, item.find_all(exp.Anonymous)))

    def _refuse_aggregates(self, expression: sql.Expr, where: str) -> None:
        if expression.find(exp.AggFunc):
            raise self.faults.refuse(
                f"the query has an aggregate in {where}, where it cannot be answered."
            )

    def _items(self, groups: Sequence[sql.Expr]) -> list[tuple[str, int | Grouping | Aggregate]]:
        found: list[tuple[str, int | Grouping | Aggregate]] = []
        names: set[str] = set()
        for item in self.query.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                raise self.faults.refuse(
                    "the query asks for all columns; single records cannot be answered, only counts."
                )
            value = bare(item)
            if isinstance(value, exp.Grouping):
                found.append(
                    (self._free(item.alias or "grouping", names), self._grouping(groups, value))
                )
                names.add(folded(found[-1][0]))
                continue
            if self._is_aggregate(value):
                name = self._free(item.alias or name_of(value), names)
                found.append((name, aggregate(self.faults, name, value, self._is_flag)))
                names |= {folded(part) for part in outputs(name)}
                continue
            if value not in groups:
                raise self.faults.refuse(
                    f"the query asks for {value.sql(dialect='duckdb')}, which is neither grouped by nor a count or an "
                    "average of a condition; single values cannot be answered."
                )
            name = item.alias or value.name or value.sql(dialect="duckdb")
            if folded(name) in names:
                raise self.faults.refuse(f"the query gives two columns the name {quoted(name)}.")
            names.add(folded(name))
            found.append((name, groups.index(value)))
        if not any(isinstance(item, Aggregate) for _, item in found):
            raise self.faults.refuse(
                f"the query asks for no count and no average of a condition, such as {_EXAMPLE}."
            )
        return found

    def _grouping(self, groups: Sequence[sql.Expr], value: sql.Expr) -> Grouping:
        own = [bare(each) for each in value.expressions]
        for each in own:
            if each not in groups:
                raise self.faults.refuse(
                    f"{value.sql(dialect='duckdb')} names what is not grouped by."
                )
        return Grouping(tuple(groups.index(each) for each in own))

    def _is_flag(self, column: str) -> bool:
        own = self.names.column(self.table, column)
        return own is not None and own.is_boolean

    def _free(self, name: str, names: set[str]) -> str:
        base, number = name, 1
        while any(folded(part) in names for part in outputs(name)):
            number += 1
            name = f"{base}_{number}"
        return name

    def _order(
        self, items: Sequence[tuple[str, int | Grouping | Aggregate]]
    ) -> tuple[sql.Expr, ...]:
        """ORDER BY columns of the answer."""
        order = self.query.args.get("order")
        known = {
            folded(each): each
            for name, item in items
            for each in (outputs(name) if isinstance(item, Aggregate) else [name])
        }
        found = []
        for each in order.expressions if order is not None else ():
            key = bare(each.this)
            name = None
            if (
                isinstance(key, exp.Literal)
                and key.name.isdecimal()
                and 1 <= int(key.name) <= len(items)
            ):
                name = items[int(key.name) - 1][0]
            elif isinstance(key, exp.Column):
                name = known.get(folded(key.name))
            own = [
                items[i][0] for i, item in enumerate(self.query.expressions) if bare(item) == key
            ]
            if name is None and own:
                name = own[0]
            if name is None:
                raise self.faults.refuse(
                    f"ORDER BY {key.sql(dialect='duckdb')} is no column of the answer."
                )
            first = bool(each.args.get("nulls_first"))
            found.append(
                exp.Ordered(this=sql.column(name), desc=each.args.get("desc"), nulls_first=first)
            )
        return tuple(found)

    def _rows(self, part: str) -> sql.Expr | None:
        """The number of LIMIT or OFFSET."""
        value = self.query.args.get(part)
        if value is None:
            return None
        if any(each for name, each in value.args.items() if name != "expression"):
            raise self.faults.refuse(f"{part.upper()} takes a number of rows.")
        number: sql.Expr = value.expression
        if not isinstance(number, exp.Literal) or number.is_string:
            raise self.faults.refuse(f"{part.upper()} takes a number.")
        return number.copy()
