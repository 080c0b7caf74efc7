"""Generalisation: quasi-identifiers as ranges and sets of values that at least k rows share, by strict Mondrian.

With l the rows that share them are l-diverse in the sensitive column, too. See the kernel for the cuts. There is no
chance in it. (LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2006, ICDE.)

What it does not hide: columns outside ``qi`` are released as they are, so that what identifies people must be dropped;
and a sensitive value that is rare in the table may still be told of a group by one who knows who cannot have it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Kind, register
from ppduck.call.roles import refuse_overlap
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog, Column
from ppduck.errors import Faults, quoted
from ppduck.kernels import mondrian
from ppduck.kernels.mondrian import Cells, Rule
from ppduck.masks._explain_groups import explained
from ppduck.masks._quasi import INTERSECTED, OTHER_KNOWLEDGE, QI, GroupingMask, Named, at_least_two
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array

NAME, SOLVE = "generalize_mask", "ppduck_generalize"
# Specification; types of the quasi-identifiers; rows without each of them, and without a sensitive value; then of each
# cell the codes of its values, their places, the code of its sensitive value and its count.
TAKES = ["VARCHAR", "VARCHAR[]", "BIGINT[]", "DOUBLE[]"]
MOST_LEVELS = 1_000
MOST_CELLS = 5_000_000
ALL, BETWEEN, UPTO = "*", "|", ".."

PARAMETERS = (
    arguments.TBL,
    QI,
    Parameter("k", at_least_two, "the least number of rows that share all quasi-identifiers, such as k := 5"),
    Parameter("sensitive", arguments.words, "the column in which rows that share them must differ; needs l", "NULL"),
    Parameter(
        "l",
        at_least_two,
        "how diverse the sensitive values of such rows must be, such as l := 3; needs sensitive",
        "NULL",
    ),
    Parameter(
        "diversity",
        arguments.choice(mondrian.FREQUENCY, mondrian.DISTINCT, mondrian.ENTROPY),
        "what l says: at most 1/l of the rows have one value, there are l values, or their entropy is ln l; needs l",
        "'frequency'",
    ),
    Parameter(GROUP_ID, arguments.flag, "add the number of each row's group", "false"),
    Parameter("drop", arguments.columns, "columns to leave out of the output", "NULL"),
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    named = Named(NAME, catalog, given)
    sensitive, drop = named.columns("sensitive"), named.columns("drop")
    refuse_overlap(named.faults, {"qi": named.qi, "sensitive": sensitive, "drop": drop}, "qi")
    if "l" in given and "sensitive" not in given:
        named.faults.add("l needs the column that is to be diverse: sensitive := '…'.")
    if "sensitive" in given and "l" not in given:
        named.faults.add("sensitive is given without l, which says how diverse it must be; give l, or leave it out.")
    if "diversity" in given and "l" not in given:
        named.faults.add("diversity says what l means, and l is not given; leave it out for k-anonymity alone.")
    if given.get(GROUP_ID):
        dropped = {column.name for column in drop}
        named.refuse_called([c for c in named.source.columns or () if c.name not in dropped], (GROUP_ID,))
    for column in named.qi:
        if column.type and not (_is_category(column.type) or _is_range(column.type)):
            named.faults.add(_unfit(column.name, column.type))
    named.faults.raise_if_any()
    return _Generalization(named, sensitive if "l" in given else [], [c.name for c in drop], given).statement()


def _unambiguous(text: str) -> str:
    """A level in quotes where it could be taken for a list of levels, or for all of them."""
    return (
        f"CASE WHEN contains({text}, '{BETWEEN}') OR {text} = '{ALL}' THEN concat('\"', {text}, '\"') ELSE {text} END"
    )


def _is_range(type_: str) -> bool:
    return Column("", type_).is_numeric or type_ == "DATE" or type_.startswith("TIMESTAMP")


def _is_category(type_: str) -> bool:
    return Column("", type_).is_category or type_ == "BOOLEAN"


def _unfit(name: str, type_: str) -> str:
    return (
        f"qi names column {quoted(name)} of type {type_}; only numbers, dates, texts, enums and booleans can be "
        "generalised. Turn it into one of them in tbl."
    )


class _Generalization:
    """Writes the statement of one call: cells are counted and grouped, and rows get the texts of their cell's group."""

    def __init__(self, named: Named, sensitive: list[Column], drop: list[str], given: dict[str, Any]) -> None:
        self.source, self.qi, self.sensitive, self.drop, self.given = named.source, named.qi, sensitive, drop, given
        self.columns = range(len(self.qi))

    def statement(self) -> str:
        statement = sql.Statement()
        hidden = {c.name: sql.hidden(c.name) for c in [*self.qi, *self.sensitive] if c.is_integer}
        rows = sql.select([sql.star("_pp_row", replace=hidden)], f'{self.source.sql} AS "_pp_row"')
        statement.step("_pp_source", rows, materialized=not self.source.repeatable)
        statement.step("_pp_counted", self._counted(), materialized=True)
        statement.step("_pp_cells", self._cells(), materialized=True)
        statement.step("_pp_asked", self._asked(), materialized=True)
        statement.step("_pp_grouped", self._grouped(), materialized=True)
        statement.step("_pp_levels", self._levels(), materialized=True)
        statement.step("_pp_boxes", self._boxes(), materialized=True)
        statement.step("_pp_released", self._released(), materialized=False)
        # Rows in their own order might tell more than their box does, if they were sorted by a quasi-identifier; so the
        # order is made of nothing but what is released.
        return statement.finish('SELECT * FROM "_pp_released" ORDER BY hash("_pp_released") ASC')

    def _specification(self) -> str:
        spec = {
            "function": NAME,
            "table": self.source.label,
            "qi": [column.name for column in self.qi],
            "types": [column.type for column in self.qi],
            "sensitive": [column.name for column in self.sensitive],
            "k": self.given["k"],
            "l": self.given.get("l"),
            "diversity": self.given.get("diversity", mondrian.FREQUENCY),
        }
        return json.dumps(spec, sort_keys=True)

    def _counted(self) -> str:
        used = [sql.named(sql.column(column.name), f"_pp_q{j}") for j, column in enumerate(self.qi)]
        used += [sql.named(sql.column(column.name), "_pp_s") for column in self.sensitive]
        group = [sql.number(i) for i in range(1, len(used) + 1)]
        return sql.select([*used, sql.named(aggregates.rows(), "_pp_n")], '"_pp_source"', group=group)

    def _cells(self) -> str:
        """Cells with the rank of each of their values among those of its column, from 1."""
        ranked = [(f"_pp_q{j}", f"_pp_c{j}") for j in self.columns]
        ranked += [("_pp_s", "_pp_v")] if self.sensitive else []
        codes = [
            sql.raw(f'dense_rank() OVER (ORDER BY "{value}" ASC NULLS LAST) AS "{code}"') for value, code in ranked
        ]
        number = sql.raw('row_number() OVER () AS "_pp_cell"')
        return sql.select([sql.star("_pp_counted"), number, *codes], '"_pp_counted"')

    def _asked(self) -> str:
        """The group of every cell. Of more cells than can be worked on one too many is shown, to be refused."""
        types = [sql.call("any_value", sql.call("typeof", sql.column(f"_pp_q{j}"))) for j in self.columns]
        values = [f"_pp_q{j}" for j in self.columns] + (["_pp_s"] if self.sensitive else [])
        missing = [sql.raw(f'coalesce(sum("_pp_n") FILTER ("{value}" IS NULL), 0)') for value in values]
        numbers = [sql.column(f"_pp_c{j}") for j in self.columns] + [self._place(j) for j in self.columns]
        numbers += [sql.column("_pp_v") if self.sensitive else sql.number(1), sql.column("_pp_n")]
        flat = f'flatten(list({sql.render(sql.array(numbers, "DOUBLE"))} ORDER BY "_pp_cell" ASC))'
        asked = sql.call(
            SOLVE,
            sql.text(self._specification()),
            sql.array(types, "VARCHAR"),
            sql.array(missing, "BIGINT"),
            sql.raw(flat),
        )
        few = exp.LTE(this=sql.column("_pp_cell"), expression=sql.number(MOST_CELLS + 1))
        return sql.select([sql.named(asked, "_pp_groups")], '"_pp_cells"', where=few)

    def _place(self, j: int) -> sql.Expr:
        """A value as a number whose distance from others can be measured; NULL for a category."""
        value, type_ = sql.column(f"_pp_q{j}"), self.qi[j].type
        if type_ and _is_category(type_):
            return exp.null()
        if Column("", type_).is_numeric:
            # Should it be no number after all, its value must not end up in a message.
            return exp.TryCast(this=value, to=exp.DataType.build("DOUBLE"))
        if type_:
            return sql.call("epoch", value)
        # Where the type is not known, no function of one type can be written.
        text = sql.cast(value, "VARCHAR")
        number = exp.TryCast(this=text, to=exp.DataType.build("DOUBLE"))
        time = exp.TryCast(this=text.copy(), to=exp.DataType.build("TIMESTAMP", dialect="duckdb"))
        return sql.call("coalesce", number, sql.call("epoch", time))

    def _grouped(self) -> str:
        groups = sql.select(
            [
                sql.named(sql.call("unnest", sql.column("_pp_groups")), "_pp_group"),
                sql.named(sql.raw('unnest(generate_series(1, len("_pp_groups")))'), "_pp_cell"),
            ],
            '"_pp_asked"',
        )
        tables = f'"_pp_cells" JOIN ({groups}) AS "_pp_g" ON "_pp_cells"."_pp_cell" = "_pp_g"."_pp_cell"'
        return sql.select([sql.star("_pp_cells"), sql.column("_pp_group", "_pp_g")], tables)

    def _levels(self) -> str:
        """Of each category all levels in their order, in one row; NULL where a column is none."""
        found = []
        for j in self.columns:
            own = _unambiguous(f'CAST("_pp_q{j}" AS VARCHAR)')
            pairs = f'SELECT DISTINCT "_pp_c{j}" AS "_pp_c", {own} AS "_pp_text" FROM "_pp_cells"'
            condition = f" WHERE {sql.render(self._is_category(sql.column(f'_pp_q{j}'), j))}"
            found.append(f'(SELECT list("_pp_text" ORDER BY "_pp_c" ASC) FROM ({pairs}{condition})) AS "_pp_l{j}"')
        return f"SELECT {', '.join(found)}"

    def _is_category(self, value: sql.Expr, j: int) -> sql.Expr:
        if self.qi[j].type:
            return exp.true() if _is_category(self.qi[j].type) else exp.false()
        kind = sql.call("typeof", value)
        return exp.or_(kind.isin("VARCHAR", "BOOLEAN"), sql.call("starts_with", kind.copy(), sql.text("ENUM")))

    def _boxes(self) -> str:
        """The texts of each group."""
        bounds, texts = [], []
        for j in self.columns:
            code, text = f'"_pp_c{j}"', f'CAST("_pp_q{j}" AS VARCHAR)'
            bounds += [f'min({code}) AS "_pp_low{j}"', f'max({code}) AS "_pp_high{j}"']
            bounds += [f'arg_min({text}, {code}) AS "_pp_from{j}"', f'arg_max({text}, {code}) AS "_pp_to{j}"']
            first = _unambiguous(f'"_pp_from{j}"')
            one = f'CASE WHEN "_pp_l{j}" IS NULL THEN "_pp_from{j}" ELSE {first} END'
            low, high, levels = f'"_pp_low{j}"', f'"_pp_high{j}"', f'"_pp_l{j}"'
            texts.append(
                f"CASE WHEN {low} = {high} THEN {one} "
                f'WHEN {levels} IS NULL THEN concat("_pp_from{j}", \'{UPTO}\', "_pp_to{j}") '
                f"WHEN {high} - {low} + 1 = len({levels}) THEN '{ALL}' "
                f"ELSE list_aggregate(CAST(list_slice({levels}, {low}, {high}) AS VARCHAR[]), "
                f"'string_agg', '{BETWEEN}') "
                f'END AS "_pp_t{j}"'
            )
        groups = f'SELECT "_pp_group", {", ".join(bounds)} FROM "_pp_grouped" GROUP BY "_pp_group"'
        return f'SELECT "_pp_group", {", ".join(texts)} FROM ({groups}) CROSS JOIN "_pp_levels"'

    def _released(self) -> str:
        names = [(column.name, f"_pp_q{j}") for j, column in enumerate(self.qi)]
        names += [(column.name, "_pp_s") for column in self.sensitive]
        same = (
            exp.EQ(this=sql.column(name, "_pp_source"), expression=sql.column(own, "_pp_grouped"))
            for name, own in names
        )
        tables = (
            f'"_pp_source" JOIN "_pp_grouped" ON {sql.render(exp.and_(*same))} '
            'JOIN "_pp_boxes" ON "_pp_grouped"."_pp_group" = "_pp_boxes"."_pp_group"'
        )
        replace = {column.name: sql.column(f"_pp_t{j}", "_pp_boxes") for j, column in enumerate(self.qi)}
        columns = [sql.star("_pp_source", self.drop, replace)]
        if self.given.get(GROUP_ID):
            columns.append(sql.named(sql.column("_pp_group", "_pp_boxes"), GROUP_ID))
        return sql.select(columns, tables)


def solve(specification: str, types: Sequence[str | None], missing: Sequence[int], flat: Array | None) -> Any:
    """The group of each cell, from 1, after everything that can be wrong with the table."""
    spec = json.loads(specification)
    faults, names = Faults(spec["function"], spec["table"]), spec["qi"]
    if flat is None:
        raise faults.refuse("there are no rows.")
    d = len(names)
    table = flat.reshape(-1, 2 * d + 2)
    if len(table) > MOST_CELLS:
        raise faults.refuse(
            f"there are more than {MOST_CELLS:,} combinations of values, which is too many to work on; cut numbers "
            "into classes in tbl, or name fewer columns."
        )
    counts = table[:, -1].astype(np.int64)
    _refuse_missing(faults, spec, missing, int(counts.sum()))
    codes, places = table[:, :d].astype(np.int64) - 1, table[:, d : 2 * d].copy()
    for j, (name, type_) in enumerate(zip(names, types, strict=True)):
        _refuse_unfit(faults, name, spec["types"][j], type_ or "", int(codes[:, j].max()) + 1)
        if _is_category(type_ or ""):
            places[:, j] = codes[:, j]
        elif not np.isfinite(places[:, j]).all():
            faults.add(f"qi column {quoted(name)} holds NaN or infinity; leave such rows out with a SELECT in tbl.")
    faults.raise_if_any()
    sensitive = table[:, -2].astype(np.int64) - 1
    rule = Rule(spec["k"], spec["l"], spec["diversity"])
    _refuse_table(faults, spec, rule, np.bincount(sensitive, counts).astype(np.int64))
    return 1 + mondrian.generalized(Cells(codes, places, counts, sensitive), rule).of


def _refuse_missing(faults: Faults, spec: dict[str, Any], missing: Sequence[int], rows: int) -> None:
    parts = [*(("qi", name) for name in spec["qi"]), *(("sensitive", name) for name in spec["sensitive"])]
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
    elif not (_is_category(type_) or _is_range(type_)):
        faults.add(_unfit(name, type_))
    elif _is_category(type_) and levels > MOST_LEVELS:
        faults.add(
            f"qi column {quoted(name)} has {levels:,} levels, and {MOST_LEVELS:,} at most make a category; group them "
            "in tbl, such as by their first letters, or leave the column out."
        )


def _refuse_table(faults: Faults, spec: dict[str, Any], rule: Rule, counts: mondrian.Codes) -> None:
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
        remedy = f"the largest l possible is {possible}" if possible > 1 else "no l of 2 or more is possible"
        raise faults.refuse(
            f"l = {rule.l} by {rule.diversity} needs {needs}, and column {quoted(spec['sensitive'][0])} does not have "
            f"that in all {n} rows together; {remedy}."
        )


def _becomes(name: str, places: dict[str, list[str]], given: dict[str, Any]) -> tuple[str, str]:
    if name in places["qi"]:
        return "quasi-identifier", f"replaced by a range or a set of values, as text, that {given['k']} rows share"
    if name in places.get("drop", []):
        return "dropped", "left out of the output"
    if name in places.get("sensitive", []):
        diversity = given.get("diversity", mondrian.FREQUENCY)
        return "sensitive", f"released as it is; {given['l']}-diverse by {diversity} among rows that share all ranges"
    return "not used", "released as it is: drop it if it tells who somebody is"


FUNCTION = register(
    GroupingMask(
        NAME,
        PARAMETERS,
        plan,
        "Generalisation by strict Mondrian: ranges and sets that k rows share, with l also l-diverse.",
        "LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2006, ICDE",
        keeps=(
            "at least k rows share all quasi-identifiers: by these alone nobody is found with more than 1/k",
            "with l, rows that share them are l-diverse in the sensitive column",
        ),
        loses=(
            "protection by columns outside qi, which are released as they are",
            "without l, secrecy of what all rows of a group have in common",
            "values of the quasi-identifiers beyond their ranges, and the order of rows",
            INTERSECTED,
            OTHER_KNOWLEDGE,
        ),
        becomes=_becomes,
        kind=Kind.MASK,
        explain=explained,
        udfs=(Udf(SOLVE, solve, TAKES, "BIGINT[]"),),
    )
)
