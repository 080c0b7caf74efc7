"""The people who are attacked, and those who are not in the release, as steps of a statement.

People are drawn by the least hashes of their keys: the same whatever the order of rows. Their own masked records stand
beside them; all other records are only read through.
"""

from __future__ import annotations

from sqlglot import exp

from ppduck.attacks import _columns
from ppduck.attacks._columns import Attacked
from ppduck.catalogue.source import Source
from ppduck.frozen import frozen
from ppduck.pairs.columns import Compared
from ppduck.pairs.one_to_one import (
    KEY_LOOK,
    MASKED,
    ORIGINAL,
    PAIRED,
    REPEATED,
    MatchSpec,
    check,
    look_at_keys,
)
from ppduck.pairs.rows import Pairs
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.keys import text, told_apart
from ppduck.values import Array

CONTROL = "_pp_control"
PEOPLE, CONTROL_PEOPLE = "_pp_people", "_pp_control_people"  # steps of one row, with lists
HASH, POSITION, RECORD = "_pp_hash", "_pp_position", "_pp_record"
PERSON = "_pp_person"  # a key, whatever its type, where the control has it too
POOL = 10_000  # people, those who are attacked among them, that models are taught with


@frozen
class AttackSpec(MatchSpec):
    """What is known of a call: names and kinds of columns, how many people are attacked."""

    known: list[str]
    conf: list[str]
    numbers: list[bool]  # of known, then of conf
    attacks: list[str]
    sample: int
    numbers_shown: int
    categories_shown: int
    release_is_table: bool


@frozen
class People:
    """Rows one after the other: known and conf before and after, what is shown of them, where in the release they
    stand, and known and conf of control people.
    """

    x: Array | None
    y: Array | None
    shown: Array | None
    position: Array | None
    control: Array | None


TOLD = ("x", "y", "shown", "position", "control")


class Sides:
    """Both tables and the control of one call, with the columns as numbers."""

    def __init__(
        self, columns: Compared, attacked: Attacked, control: Source | None, sample: int
    ) -> None:
        self.columns, self.attacked, self.control = columns, attacked, control
        self.sample, self.pool = sample, max(sample, POOL)
        self.pairs = Pairs(columns)
        self.keys = [sql.column(name) for name in self.pairs.key_names]

    @property
    def places(self) -> range:
        return range(len(self.attacked.every))

    @property
    def control_keys(self) -> bool:
        """Whether the control has the key, too."""
        own = self.control
        return own is not None and all(own.find(key.name) for key in self.columns.key)

    def _person(self, source: Source) -> list[sql.Expr]:
        if not self.control_keys:
            return []
        own = [text(source.column(key.name)) for key in self.columns.key]
        return [sql.named(told_apart(own), PERSON)]

    def statement(self) -> sql.Statement:
        """Steps up to the people, and the check that keys match one to one."""
        statement = sql.Statement()
        self._sides(statement)
        look_at_keys(statement, self.pairs.key_names)
        original = sql.table(ORIGINAL).cross(sql.table(KEY_LOOK))
        read = sql.query([*self._copied()], original, where=sql.column(REPEATED).not_())
        both = sql.derived(read, ORIGINAL).using(sql.table(MASKED), self.pairs.key_names)
        counted = sql.query([sql.named(aggregates.rows(), PAIRED)], both)
        check(statement, self._match_spec(), self.pairs.key_names, counted)
        self._people(statement)
        self._control(statement)
        return statement

    def _copied(self) -> list[sql.Expr]:
        return [key.copy() for key in self.keys]

    def _match_spec(self) -> MatchSpec:
        own = self.columns
        return MatchSpec(
            own.function, own.original.label, own.masked.label, [key.name for key in own.key]
        )

    def spec(self, attacks: list[str]) -> AttackSpec:
        own, of = self.columns, self.attacked
        numbers, categories = _columns.shown(own.masked)
        return AttackSpec(
            function=own.function,
            table=own.original.label,
            release=own.masked.label,
            key=[key.name for key in own.key],
            known=[column.name for column in of.known],
            conf=[column.name for column in of.conf],
            numbers=[of.is_number(column) for column in of.every],
            attacks=attacks,
            sample=self.sample,
            numbers_shown=len(numbers),
            categories_shown=len(categories),
            release_is_table=own.masked.repeatable,
        )

    def _sides(self, statement: sql.Statement) -> None:
        for step, source, letter in (
            (ORIGINAL, self.columns.original, "x"),
            (MASKED, self.columns.masked, "y"),
        ):
            keys = zip(self.pairs.keys(source), self.pairs.key_names, strict=True)
            own = [sql.named(key, name) for key, name in keys]
            own += self._values(source, letter)
            if step == ORIGINAL:
                own += self._person(source)
            else:
                numbers, categories = _columns.shown(source)
                own.append(sql.named(sql.array([*numbers, *categories], "DOUBLE"), "_pp_shown"))
                where = (
                    sql.column("rowid") if source.has_rowid else sql.over(sql.call("row_number"))
                )
                own.append(sql.named(sql.double(where), POSITION))
            read = sql.query(own, sql.source(source.sql))
            statement.step(step, read, materialized=not source.repeatable)

    def _values(self, source: Source, letter: str) -> list[sql.Expr]:
        return [
            sql.named(value, f"_pp_{letter}{j}")
            for j, value in enumerate(_columns.values(self.attacked, source))
        ]

    def row(self, letter: str) -> sql.Expr:
        """Known and conf of a row as a list."""
        return sql.array((sql.column(f"_pp_{letter}{j}") for j in self.places), "DOUBLE")

    def record(self) -> sql.Expr:
        """What stands for a released record."""
        return sql.short(told_apart(self.keys))

    def _people(self, statement: sql.Statement) -> None:
        drawn = sql.query(
            [
                *self._copied(),
                sql.named(self.row("x"), "_pp_x"),
                sql.named(told_apart(self.keys), HASH),
            ],
            sql.table(ORIGINAL),
            order=[sql.column(HASH), *self._copied()],
            limit=sql.number(self.pool),
        )
        statement.step("_pp_drawn", drawn, materialized=True)
        both = sql.table("_pp_drawn").using(sql.table(MASKED), self.pairs.key_names)
        lists = {"x": sql.column("_pp_x"), "y": self.row("y"), "shown": sql.column("_pp_shown")}
        order = [sql.column(HASH), *self._copied()]
        told = {f"_pp_told_{name}": _flat(value, order) for name, value in lists.items()}
        told["_pp_told_position"] = sql.in_order("list", sql.column(POSITION), order)
        statement.step(PEOPLE, sql.query(sql.columns(told), both), materialized=True)

    def _control(self, statement: sql.Statement) -> None:
        if self.control is None:
            nobody = sql.named(sql.cast(exp.null(), "DOUBLE[]"), "_pp_told_control")
            statement.step(CONTROL_PEOPLE, sql.query([nobody]), materialized=True)
            return
        own = [*self._values(self.control, "x"), *self._person(self.control)]
        read = sql.query(own, sql.source(self.control.sql))
        statement.step(CONTROL, read, materialized=not self.control.repeatable)
        row = sql.named(self.row("x"), "_pp_x")
        digest = sql.named(sql.call("hash", *(sql.column(f"_pp_x{j}") for j in self.places)), HASH)
        drawn = sql.query(
            [row, digest],
            sql.table(CONTROL),
            order=[sql.column(HASH), sql.column("_pp_x")],
            limit=sql.number(self.sample),
        )
        listed = _flat(sql.column("_pp_x"), [sql.column(HASH), sql.column("_pp_x")])
        told = sql.query(
            [sql.named(listed, "_pp_told_control")], sql.derived(drawn, "_pp_drawn_control")
        )
        statement.step(CONTROL_PEOPLE, told, materialized=True)


def told_people() -> tuple[dict[str, sql.Expr], sql.Rows]:
    """What a UDF is told of people, and where it stands."""
    told = {name: sql.column(f"_pp_told_{name}") for name in TOLD}
    return told, sql.table(PEOPLE).cross(sql.table(CONTROL_PEOPLE))


def _flat(row: sql.Expr, order: list[sql.Expr]) -> sql.Expr:
    """Lists of rows, one after the other."""
    return sql.call("flatten", sql.in_order("list", row, order))
