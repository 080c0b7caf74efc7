"""The stages of a generalisation: cells are counted and grouped, and rows get the texts of their cell's group."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.catalogue.source import Column, Source
from ppduck.masks import _cell_groups
from ppduck.masks._boxes import box_text, is_category, unambiguous
from ppduck.masks._cell_groups import GeneralizeSpec
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.masking import SOURCE
from ppduck.stages.plan import Groups, Plan, Rows, Sorted


class Generalization:
    """The stages of one call."""

    def __init__(
        self,
        spec: GeneralizeSpec,
        source: Source,
        qi: Sequence[Column],
        sensitive: Sequence[Column],
        drop: Sequence[str],
        *,
        group_id: bool,
    ) -> None:
        self.spec, self.source, self.group_id = spec, source, group_id
        self.qi, self.sensitive, self.drop = qi, sensitive, drop
        self.columns = range(len(qi))

    def plan(self) -> Plan:
        # Rows in their own order might tell more than their box does, if they were sorted by a quasi-identifier; so the
        # order is made of nothing but what is released.
        order = [sql.call("hash", sql.column("_pp_released"))]
        answer = sql.query([exp.Star()], sql.table("_pp_released"), order=order)
        return Plan(
            (
                Rows(SOURCE, not self.source.repeatable, self._source()),
                Sorted("_pp_counted", True, self._counted()),
                Sorted("_pp_cells", True, self._cells()),
                Groups("_pp_asked", True, self._asked()),
                Groups("_pp_grouped", True, self._grouped()),
                Groups("_pp_levels", True, self._levels()),
                Groups("_pp_boxes", True, self._boxes()),
                Rows("_pp_released", False, self._released()),
            ),
            Sorted("_pp_answer", False, answer),
        )

    def _source(self) -> sql.Expr:
        hidden = {c.name: sql.hidden(c.name) for c in [*self.qi, *self.sensitive] if c.is_integer}
        return sql.query(
            [sql.star("_pp_row", replace=hidden)], sql.source(self.source.sql, "_pp_row")
        )

    def _counted(self) -> sql.Expr:
        used = [sql.named(sql.column(column.name), f"_pp_q{j}") for j, column in enumerate(self.qi)]
        used += [sql.named(sql.column(column.name), "_pp_s") for column in self.sensitive]
        group = [sql.number(i) for i in range(1, len(used) + 1)]
        return sql.query(
            [*used, sql.named(aggregates.rows(), "_pp_n")], sql.table(SOURCE), group=group
        )

    def _cells(self) -> sql.Expr:
        """Cells with the rank of each of their values among those of its column, from 1."""
        ranked = [(f"_pp_q{j}", f"_pp_code{j}") for j in self.columns]
        ranked += [("_pp_s", "_pp_sensitive_code")] if self.sensitive else []
        codes = [
            sql.named(sql.over(sql.call("dense_rank"), (), [sql.column(value)]), code)
            for value, code in ranked
        ]
        number = sql.named(sql.over(sql.call("row_number")), "_pp_cell")
        return sql.query([sql.star("_pp_counted"), number, *codes], sql.table("_pp_counted"))

    def _asked(self) -> sql.Expr:
        """The group of every cell. Of more cells than can be worked on one too many is shown, to be refused."""
        types = [
            sql.call("any_value", sql.call("typeof", sql.column(f"_pp_q{j}"))) for j in self.columns
        ]
        values = [f"_pp_q{j}" for j in self.columns] + (["_pp_s"] if self.sensitive else [])
        missing = [_sum_where_null(value) for value in values]
        numbers = [sql.column(f"_pp_code{j}") for j in self.columns] + [
            self._place(j) for j in self.columns
        ]
        numbers += [
            sql.column("_pp_sensitive_code") if self.sensitive else sql.number(1),
            sql.column("_pp_n"),
        ]
        cells = sql.in_order("list", sql.array(numbers, "DOUBLE"), [sql.column("_pp_cell")])
        told = {
            "types": sql.array(types, "VARCHAR"),
            "missing": sql.array(missing, "BIGINT"),
            "cells": sql.call("flatten", cells),
        }
        asked = sql.named(_cell_groups.SOLVE.in_sql(self.spec, told), "_pp_groups")
        few = exp.LTE(
            this=sql.column("_pp_cell"), expression=sql.number(_cell_groups.MOST_CELLS + 1)
        )
        return sql.query([asked], sql.table("_pp_cells"), where=few)

    def _place(self, j: int) -> sql.Expr:
        """A value as a number whose distance from others can be measured; NULL for a category."""
        value, type_ = sql.column(f"_pp_q{j}"), self.qi[j].type
        if type_ and is_category(type_):
            return exp.null()
        if Column("", type_).is_numeric:
            # Should it be no number after all, its value must not end up in a message.
            return sql.tried(value, "DOUBLE")
        if type_:
            return sql.call("epoch", value)
        # Where the type is not known, no function of one type can be written.
        text = sql.cast(value, "VARCHAR")
        number = sql.tried(text, "DOUBLE")
        time = sql.tried(text.copy(), "TIMESTAMP")
        return sql.call("coalesce", number, sql.call("epoch", time))

    def _grouped(self) -> sql.Expr:
        counting = sql.call(
            "generate_series", sql.number(1), sql.call("len", sql.column("_pp_groups"))
        )
        groups = sql.query(
            [
                sql.named(sql.call("unnest", sql.column("_pp_groups")), "_pp_group"),
                sql.named(sql.call("unnest", counting), "_pp_cell"),
            ],
            sql.table("_pp_asked"),
        )
        same = sql.equal(sql.column("_pp_cell", "_pp_cells"), sql.column("_pp_cell", "_pp_of"))
        rows = sql.table("_pp_cells").join(sql.derived(groups, "_pp_of"), same)
        return sql.query([sql.star("_pp_cells"), sql.column("_pp_group", "_pp_of")], rows)

    def _levels(self) -> sql.Expr:
        """Of each category all levels in their order, in one row; NULL where a column is none."""
        found = []
        for j in self.columns:
            own = unambiguous(sql.cast(sql.column(f"_pp_q{j}"), "VARCHAR"))
            pairs = sql.query(
                [sql.named(sql.column(f"_pp_code{j}"), "_pp_code"), sql.named(own, "_pp_text")],
                sql.table("_pp_cells"),
                where=self._is_category(sql.column(f"_pp_q{j}"), j),
                distinct=True,
            )
            texts = sql.in_order("list", sql.column("_pp_text"), [sql.column("_pp_code")])
            listed = sql.query([texts], sql.derived(pairs, "_pp_pairs"))
            found.append(sql.named(sql.scalar(listed), f"_pp_levels{j}"))
        return sql.query(found)

    def _is_category(self, value: sql.Expr, j: int) -> sql.Expr:
        if self.qi[j].type:
            return exp.true() if is_category(self.qi[j].type) else exp.false()
        kind = sql.call("typeof", value)
        return exp.or_(
            kind.isin("VARCHAR", "BOOLEAN"), sql.call("starts_with", kind.copy(), sql.text("ENUM"))
        )

    def _boxes(self) -> sql.Expr:
        """The texts of each group."""
        bounds, texts = [], []
        for j in self.columns:
            code, text = sql.column(f"_pp_code{j}"), sql.cast(sql.column(f"_pp_q{j}"), "VARCHAR")
            bounds += [
                sql.named(sql.call("min", code.copy()), f"_pp_low{j}"),
                sql.named(sql.call("max", code.copy()), f"_pp_high{j}"),
                sql.named(sql.call("arg_min", text.copy(), code.copy()), f"_pp_from{j}"),
                sql.named(sql.call("arg_max", text.copy(), code.copy()), f"_pp_to{j}"),
            ]
            texts.append(sql.named(box_text(j), f"_pp_text{j}"))
        group = sql.column("_pp_group")
        groups = sql.query([group.copy(), *bounds], sql.table("_pp_grouped"), group=[group.copy()])
        rows = sql.derived(groups, "_pp_bounds").cross(sql.table("_pp_levels"))
        return sql.query([group, *texts], rows)

    def _released(self) -> sql.Expr:
        names = [(column.name, f"_pp_q{j}") for j, column in enumerate(self.qi)]
        names += [(column.name, "_pp_s") for column in self.sensitive]
        same = [
            sql.equal(sql.column(name, SOURCE), sql.column(own, "_pp_grouped"))
            for name, own in names
        ]
        of_group = sql.equal(
            sql.column("_pp_group", "_pp_grouped"), sql.column("_pp_group", "_pp_boxes")
        )
        rows = sql.table(SOURCE).join(sql.table("_pp_grouped"), exp.and_(*same))
        rows = rows.join(sql.table("_pp_boxes"), of_group)
        replace = {
            column.name: sql.column(f"_pp_text{j}", "_pp_boxes") for j, column in enumerate(self.qi)
        }
        columns = [sql.star(SOURCE, self.drop, replace)]
        if self.group_id:
            columns.append(sql.named(sql.column("_pp_group", "_pp_boxes"), GROUP_ID))
        return sql.query(columns, rows)


def _sum_where_null(value: str) -> sql.Expr:
    """How many rows have NULL in a column of the cells."""
    found = sql.only(sql.call("sum", sql.column("_pp_n")), sql.column(value).is_(exp.null()))
    return sql.call("coalesce", found, sql.number(0))
