"""The first look of every mask of numbers: its source with keys, checked before anything is masked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from ppduck import interrupts
from ppduck.call.numeric_mask import COMMON_NAMES, NumericMask
from ppduck.call.roles import Roles, numeric
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.solve import CHECK
from ppduck.stages import keys, release_identity, rounding

QUERY = "current_query_id"


class Look:
    """Writes ``_pp_source``, the user's rows each with its key, and ``_pp_first``, what is told of each group.

    ``_pp_tweak`` in it ties all chance to this release.
    """

    mask: NumericMask

    def __init__(self, mask: NumericMask, roles: Roles, given: dict[str, Any]) -> None:
        self.mask = mask
        self.roles = roles
        self.given = given
        self.on_null = given.get("on_null", "error")
        # What is measured. A frame may put other values in their place, or more beside them.
        self.labels = [feature.label for feature in roles.features]
        self.values = [feature.value for feature in roles.features] + [numeric(column) for column in roles.conf]
        self.p, self.q = len(self.labels), len(roles.conf)
        self.by = [f"_pp_b{i}" for i in range(len(roles.strata))]

    @property
    def centres(self) -> list[str]:
        return [f"_pp_m{i}" for i in range(self.p + self.q)]

    def specification(self) -> str:
        """What check and solve are told: names and parameters, never a value or the secret."""
        roles = self.roles
        own = {name: value for name, value in self.given.items() if name not in COMMON_NAMES}
        return json.dumps(
            {
                interrupts.ASKING: interrupts.asking(),
                "function": self.mask.name,
                "table": roles.source.label,
                "conf": [column.name for column in roles.conf],
                "nonconf": roles.nonconf,
                "features": self.labels,
                "key": list(roles.key),
                "row": roles.source.row_type,
                "measured": [f.label for f in roles.features if f.level is None] + [c.name for c in roles.conf],
                "categories": [name for name, _ in self.categories],
                "indicators_of": [
                    [i for i, feature in enumerate(roles.features) if feature.column == name]
                    for name, levels in self.categories
                    if len(levels) > 1 or name in roles.null_levels
                ],
                "bases": [f"{name} = {levels[0]}" for name, levels in self.categories],
                "on_null": self.on_null,
                "null_levels": sorted(roles.null_levels),
                "nullable": [name for name in roles.nonconf if self._is_category(name)],
                "left_out": list(roles.left_out),
                "steps": [rounding.step(column) for column in roles.conf],
                "rounds": bool(self.given.get("round")),
                "permutes": self.mask.permutes(self.given),
                "parameters": own,
                "context": release_identity.context(self.mask, roles, self.given),
            },
            sort_keys=True,
        )

    def _is_category(self, name: str) -> bool:
        """Whether NULL can be a level of the column."""
        column = self.roles.source.find(name)
        return column is not None and (column.is_boolean or name in self.roles.levels)

    def _source(self, more: Sequence[sql.Expr] = ()) -> str:
        roles = self.roles
        # Beside the key stands what is masked and what it is masked by: rows that wrongly share a key must not share
        # noise, which their difference would be free of. The order in which columns are named must not show.
        key = [*self._key(), *self._used()]
        where = None
        if self.on_null == "drop":
            where = sql.present([sql.column(name) for name in roles.nonconf])
        # The key stands right behind the user's columns, where the first look checks what type the row has.
        hidden = {column.name: sql.hidden(column.name) for column in roles.conf if column.is_integer}
        columns = [sql.star("_pp_row", replace=hidden), sql.named(sql.call("hash", *key), "_pp_key"), *more]
        return sql.select(columns, f'{roles.source.sql} AS "_pp_row"', where=where)

    def _key(self) -> list[sql.Expr]:
        """What identifies a row beside its used columns: the key that is named, else its number in a table."""
        if self.roles.key:
            return keys.numbers([self.roles.source.column(name) for name in self.roles.key])
        return [sql.column("rowid")] if self.roles.source.has_rowid else []

    def _used(self) -> list[sql.Expr]:
        """What is masked and what it is masked by, as values: numbers as doubles, strata as keys, all else as texts."""
        roles = self.roles
        measured = {feature.column for feature in roles.features if feature.level is None}
        measured |= {column.name for column in roles.conf}
        found: list[sql.Expr] = []
        for column in keys.in_order([roles.source.column(name) for name in {*measured, *roles.nonconf, *roles.strata}]):
            if column.name in roles.strata:  # a group is the same whether its name is 3 or '3'
                found += keys.numbers([column])
            else:
                as_number = column.name in measured or column.is_numeric or column.is_boolean
                found.append(numeric(column) if as_number else keys.text(column))
        return found

    def _groups(self) -> list[sql.Expr]:
        return [sql.named(sql.column(name), alias) for name, alias in zip(self.roles.strata, self.by, strict=True)]

    def _label(self, names: tuple[str, ...] | list[str]) -> sql.Expr:
        """'bank_no = 3' for messages; NULL where there are no groups."""
        if not names:
            return sql.cast(exp.null(), "VARCHAR")
        parts = [
            sql.call(
                "concat",
                sql.text(f"{name} = "),
                sql.call("coalesce", sql.cast(sql.column(column), "VARCHAR"), sql.text("NULL")),
            )
            for name, column in zip(self.roles.strata, names, strict=True)
        ]
        return sql.call("concat_ws", sql.text(", "), *parts)

    def _first_look(self) -> str:
        """Checks every row and finds a centre; the checks answer with the tweak that all noise needs."""
        roles = self.roles
        raw = [sql.column(name) for name in roles.nonconf]
        conf = [sql.column(column.name) for column in roles.conf]
        numbers = [numeric(column) for column in roles.conf]
        measured = [f.value for f in roles.features if f.level is None] + numbers
        untyped = [*conf, *raw] if roles.source.columns is None else []
        keys = [sql.column(name) for name in roles.key]
        no_key = sql.present(keys)
        check = sql.call(
            CHECK,
            sql.text(self.specification()),
            self._label(roles.strata),
            aggregates.rows(),
            aggregates.missing(raw),
            aggregates.peaks(measured),
            aggregates.constant(numbers),
            aggregates.constant(conf),
            self._unread(untyped),
            self._unseen(),
            self._count_if(exp.Not(this=exp.paren(no_key))) if no_key is not None else sql.number(0),
            self._distinct_keys(),
            sql.call("any_value", sql.call("typeof", sql.column("_pp_source"))),
            sql.cast(aggregates.digest(sql.column("_pp_key")), "VARCHAR"),
        )
        group = [sql.column(name) for name in roles.strata]
        columns = [*self._groups(), sql.named(check, "_pp_tweak"), *self._centres(), *self._looked()]
        return sql.select(columns, '"_pp_source"', group=group)

    def _looked(self) -> list[sql.Expr]:
        """What else is told of conf."""
        return []

    def _centres(self) -> list[sql.Expr]:
        return [
            sql.named(sql.call("coalesce", sql.call("avg", value.copy()), sql.number(0)), name)
            for value, name in zip(self.values, self.centres, strict=True)
        ]

    def _distinct_keys(self) -> sql.Expr:
        """About how many rows have a key of their own; row numbers are known to be unique."""
        if not self.roles.key and self.roles.source.has_rowid:
            return aggregates.rows()
        key = sql.call("hash", *self._key()) if self.roles.key else sql.column("_pp_key")
        return sql.call("approx_count_distinct", key)

    def _unread(self, columns: list[sql.Expr]) -> sql.Expr:
        """Of columns whose type is not known: how many values are no numbers."""
        counts = [
            exp.Sub(
                this=sql.call("count", column.copy()),
                expression=sql.call("count", exp.TryCast(this=column.copy(), to=exp.DataType.build("DOUBLE"))),
            )
            for column in columns
        ]
        return sql.array(counts, "BIGINT")

    @staticmethod
    def _count_if(condition: sql.Expr) -> sql.Expr:
        return sql.cast(sql.call("count_if", condition), "BIGINT")

    def _unseen(self) -> sql.Expr:
        """How many rows have a level that planning did not see, for each category."""
        counts = [
            self._count_if(
                exp.Not(this=sql.cast(sql.column(name), "VARCHAR").isin(*(sql.text(level) for level in levels)))
                if levels
                else sql.column(name).is_(exp.null()).not_(),
            )
            for name, levels in self.roles.levels.items()
            if name in self.roles.nonconf
        ]
        return sql.array(counts, "BIGINT")

    def _matching(self, table: str, other: str = "_pp_first") -> list[tuple[sql.Expr, sql.Expr]]:
        """The join of a table that has the user's by columns with one that has ppduck's copies."""
        return [
            (sql.column(name, table), sql.column(alias, other))
            for name, alias in zip(self.roles.strata, self.by, strict=True)
        ]

    @property
    def categories(self) -> list[tuple[str, list[str]]]:
        """The categories among the features, with their levels."""
        used = self.roles.nonconf
        return [(name, levels) for name, levels in self.roles.levels.items() if name in used]
