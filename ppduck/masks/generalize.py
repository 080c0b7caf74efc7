"""Generalisation: quasi-identifiers as ranges and sets of values that at least k rows share, by strict Mondrian.

With l the rows that share them are l-diverse in the sensitive column, too. See the kernel for the cuts. There is no
chance in it. (LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2006, ICDE.)

What it does not hide: columns outside ``qi`` are released as they are, so that what identifies people must be dropped;
and a sensitive value that is rare in the table may still be told of a group by one who knows who cannot have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Kind, register
from ppduck.call.roles import refuse_overlap
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.catalogue.tables import Catalog, Column
from ppduck.errors import Faults, quoted
from ppduck.kernels import mondrian
from ppduck.kernels.mondrian import Cells, Rule
from ppduck.masks._boxes import box_text, is_category, is_range, unambiguous, unfit
from ppduck.masks._explain_groups import explained
from ppduck.masks._quasi import (
    INTERSECTED,
    OTHER_KNOWLEDGE,
    QI,
    GroupingMask,
    Named,
    at_least_two,
    names_column,
)
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.masking import SOURCE
from ppduck.stages.plan import Groups, Plan, Rows, Sorted
from ppduck.values import Array

NAME = "generalize_mask"
MOST_LEVELS = 1_000
MOST_CELLS = 5_000_000


@parameters
class GeneralizeCall(Call):
    tbl: str = TABLE
    qi: Sequence[str] = QI
    k: int = parameter(
        at_least_two, "the least number of rows that share all quasi-identifiers, such as k := 5"
    )
    sensitive: str | None = parameter(
        arguments.words, "the column in which rows that share them must differ; needs l", None
    )
    l: int | None = parameter(  # noqa: E741 - what the paper, and everybody, calls it
        at_least_two,
        "how diverse the sensitive values of such rows must be, such as l := 3; needs sensitive",
        None,
    )
    diversity: str | None = parameter(
        arguments.choice(mondrian.FREQUENCY, mondrian.DISTINCT, mondrian.ENTROPY),
        "what l says: at most 1/l of the rows have one value, there are l values, or their entropy is ln l; needs l; "
        "'frequency' unless said",
        None,
    )
    group_id: bool = parameter(arguments.flag, "add the number of each row's group", False)
    drop: Sequence[str] = parameter(arguments.columns, "columns to leave out of the output", ())


@dataclass(frozen=True)
class GeneralizeSpec(Spec):
    qi: list[str]
    types: list[str]
    sensitive: list[str]
    k: int
    l: int | None  # noqa: E741
    diversity: str


@dataclass(frozen=True)
class Told:
    """Types of the quasi-identifiers; rows without each of them, and without a sensitive value; then of each cell the
    codes of its values, their places, the code of its sensitive value and its count.
    """

    types: list[str | None]
    missing: list[int]
    cells: Array | None


def plan(catalog: Catalog, call: GeneralizeCall) -> sql.Expr:
    named = Named(NAME, catalog, call)
    sensitive = named.columns("sensitive", [] if call.sensitive is None else [call.sensitive])
    drop = named.columns("drop", call.drop)
    refuse_overlap(named.faults, {"qi": named.qi, "sensitive": sensitive, "drop": drop}, "qi")
    if call.l is not None and call.sensitive is None:
        named.faults.add("l needs the column that is to be diverse: sensitive := '…'.")
    if call.sensitive is not None and call.l is None:
        named.faults.add(
            "sensitive is given without l, which says how diverse it must be; give l, or leave it out."
        )
    if call.diversity is not None and call.l is None:
        named.faults.add(
            "diversity says what l means, and l is not given; leave it out for k-anonymity alone."
        )
    if call.group_id:
        dropped = {column.name for column in drop}
        named.refuse_called(
            [c for c in named.source.columns or () if c.name not in dropped], (GROUP_ID,)
        )
    for column in named.qi:
        if column.type and not (is_category(column.type) or is_range(column.type)):
            named.faults.add(unfit(column.name, column.type))
    named.faults.raise_if_any()
    used = sensitive if call.l is not None else []
    return _Generalization(named, used, [c.name for c in drop], call).plan().query()


class _Generalization:
    """The stages of one call: cells are counted and grouped, and rows get the texts of their cell's group."""

    def __init__(
        self, named: Named, sensitive: list[Column], drop: list[str], call: GeneralizeCall
    ) -> None:
        self.source, self.qi, self.sensitive, self.drop, self.call = (
            named.source,
            named.qi,
            sensitive,
            drop,
            call,
        )
        self.columns = range(len(self.qi))

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

    def _specification(self) -> GeneralizeSpec:
        return GeneralizeSpec(
            NAME,
            self.source.label,
            qi=[column.name for column in self.qi],
            types=[column.type for column in self.qi],
            sensitive=[column.name for column in self.sensitive],
            k=self.call.k,
            l=self.call.l,
            diversity=self.call.diversity or mondrian.FREQUENCY,
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
        asked = sql.named(SOLVE.asked(self._specification(), told), "_pp_groups")
        few = exp.LTE(this=sql.column("_pp_cell"), expression=sql.number(MOST_CELLS + 1))
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
        if self.call.group_id:
            columns.append(sql.named(sql.column("_pp_group", "_pp_boxes"), GROUP_ID))
        return sql.query(columns, rows)


def _sum_where_null(value: str) -> sql.Expr:
    """How many rows have NULL in a column of the cells."""
    found = sql.only(sql.call("sum", sql.column("_pp_n")), sql.column(value).is_(exp.null()))
    return sql.call("coalesce", found, sql.number(0))


def solve(spec: GeneralizeSpec, told: Told) -> Any:
    """The group of each cell, from 1, after everything that can be wrong with the table."""
    faults, names = spec.faults(), spec.qi
    if told.cells is None:
        raise faults.refuse("there are no rows.")
    d = len(names)
    table = told.cells.reshape(-1, 2 * d + 2)
    if len(table) > MOST_CELLS:
        raise faults.refuse(
            f"there are more than {MOST_CELLS:,} combinations of values, which is too many to work on; cut numbers "
            "into classes in tbl, or name fewer columns."
        )
    counts = table[:, -1].astype(np.int64)
    _refuse_missing(faults, spec, told.missing, int(counts.sum()))
    codes, places = table[:, :d].astype(np.int64) - 1, table[:, d : 2 * d].copy()
    for j, (name, type_) in enumerate(zip(names, told.types, strict=True)):
        _refuse_unfit(faults, name, spec.types[j], type_ or "", int(codes[:, j].max()) + 1)
        if is_category(type_ or ""):
            places[:, j] = codes[:, j]
        elif not np.isfinite(places[:, j]).all():
            faults.add(
                f"qi column {quoted(name)} holds NaN or infinity; leave such rows out with a SELECT in tbl."
            )
    faults.raise_if_any()
    sensitive = table[:, -2].astype(np.int64) - 1
    rule = Rule(spec.k, spec.l, spec.diversity)
    _refuse_table(faults, spec, rule, np.bincount(sensitive, counts).astype(np.int64))
    return 1 + mondrian.generalized(Cells(codes, places, counts, sensitive), rule).of


def _refuse_missing(
    faults: Faults, spec: GeneralizeSpec, missing: Sequence[int], rows: int
) -> None:
    parts = [*(("qi", name) for name in spec.qi), *(("sensitive", name) for name in spec.sensitive)]
    for (part, name), count in zip(parts, missing, strict=True):
        if count:
            faults.add(
                f"{part} column {quoted(name)} has NULL in {count} of {rows} rows; leave such rows out with a SELECT "
                "in tbl, or fill them."
            )
    faults.raise_if_any()


def _refuse_unfit(faults: Faults, name: str, planned: str, type_: str, levels: int) -> None:
    if planned not in ("", type_):
        faults.add(
            f"qi column {quoted(name)} is of another type than the call was planned for: here the name of the table "
            "stands for another one, such as a temporary one. Name it with its schema, or commit first."
        )
    elif not (is_category(type_) or is_range(type_)):
        faults.add(unfit(name, type_))
    elif is_category(type_) and levels > MOST_LEVELS:
        faults.add(
            f"qi column {quoted(name)} has {levels:,} levels, and {MOST_LEVELS:,} at most make a category; group them "
            "in tbl, such as by their first letters, or leave the column out."
        )


def _refuse_table(faults: Faults, spec: GeneralizeSpec, rule: Rule, counts: mondrian.Codes) -> None:
    """All rows together must keep the rule, or no group could."""
    n = int(counts.sum())
    if n < rule.k:
        raise faults.refuse(f"k = {rule.k} needs at least {rule.k} rows, and there are {n}.")
    possible = rule.largest_l(counts)
    if rule.l is not None and possible < rule.l:
        needs = {
            mondrian.FREQUENCY: f"that no value has more than 1/{rule.l} of the rows",
            mondrian.DISTINCT: f"{rule.l} distinct values",
            mondrian.ENTROPY: f"an entropy of at least ln {rule.l}",
        }[rule.diversity]
        remedy = (
            f"the largest l possible is {possible}"
            if possible > 1
            else "no l of 2 or more is possible"
        )
        raise faults.refuse(
            f"l = {rule.l} by {rule.diversity} needs {needs}, and column {quoted(spec.sensitive[0])} does not have "
            f"that in all {n} rows together; {remedy}."
        )


def _becomes(name: str, call: GeneralizeCall) -> tuple[str, str]:
    if names_column(call.qi, name):
        return (
            "quasi-identifier",
            f"replaced by a range or a set of values, as text, that {call.k} rows share",
        )
    if names_column(call.drop, name):
        return "dropped", "left out of the output"
    if call.sensitive is not None and names_column([call.sensitive], name):
        diversity = call.diversity or mondrian.FREQUENCY
        return (
            "sensitive",
            f"released as it is; {call.l}-diverse by {diversity} among rows that share all ranges",
        )
    return "not used", "released as it is: drop it if it tells who somebody is"


SOLVE = told_udf("ppduck_generalize", solve, GeneralizeSpec, Told, "BIGINT[]")
FUNCTION = register(
    GroupingMask(
        NAME,
        GeneralizeCall,
        plan,
        "Generalisation by strict Mondrian: ranges and sets that k rows share, with l also l-diverse.",
        "LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2006, ICDE",
        keeps=(
            Guarantee(
                Promise.ALIKE_ROWS,
                "at least k rows share all quasi-identifiers: by these alone nobody is found with more than 1/k",
            ),
            Guarantee(
                Promise.DIVERSE_VALUES,
                "with l, rows that share them are l-diverse in the sensitive column",
                lambda call: call.l is not None,
            ),
        ),
        loses=(
            Loss("protection by columns outside qi, which are released as they are"),
            Loss("without l, secrecy of what all rows of a group have in common"),
            Loss("values of the quasi-identifiers beyond their ranges, and the order of rows"),
            INTERSECTED,
            OTHER_KNOWLEDGE,
        ),
        becomes=_becomes,
        kind=Kind.MASK,
        explain=explained,
        example="FROM generalize_mask('survey', qi=['gender','smoker'], k=5, sensitive='disease', l=2, drop=['id'])",
        udfs=(SOLVE,),
    )
)
