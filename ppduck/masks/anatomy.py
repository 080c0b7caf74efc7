"""Anatomy: quasi-identifiers and sensitive values in two tables, which only the number of a group connects.

Both are released as they are. In a group of at least l rows no sensitive value occurs twice, so that who finds a
person's row knows the value with a probability of at most 1/l. See the kernel for how groups are made; they depend on
the counts of the sensitive values only. Which row of a value goes to which group is chance, keyed by the secret, the
data and the parameters: both tables of one call have the same groups. (Xiao & Tao 2006, VLDB.)

What it does not hide: that a person is in the table, and anything from one who has two releases with other groups, as
after a change of the data; what both groups of a person have in common may be a single value.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Kind, register
from ppduck.call.roles import refuse_overlap
from ppduck.call.udf import Udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.kernels.anatomy import anatomized, largest_l
from ppduck.kernels.noise import tweak_of
from ppduck.masks._explain_groups import explained
from ppduck.masks._quasi import (
    INTERSECTED,
    OTHER_KNOWLEDGE,
    PRESENCE,
    QI,
    GroupingMask,
    Named,
    at_least_two,
)
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates, normals
from ppduck.query import tree as sql
from ppduck.runtime.group_lists import noise_of
from ppduck.stages import keys
from ppduck.values import Array, folded

NAME = "anatomy_mask"
CHECK, SOLVE = "ppduck_anatomy_check", "ppduck_anatomy_groups"
# Specification; rows, of which so many have no sensitive value, and so many no key; distinct keys; sum of all keys.
CHECK_TAKES = ["VARCHAR", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "VARCHAR"]
# Specification, secret of the release, counts of the sensitive values in their order.
SOLVE_TAKES = ["VARCHAR", "VARCHAR", "DOUBLE[]"]
COUNT = "count"
MOST_ROWS = 100_000_000  # a group's number is eight bytes, and several times that on the way

PARAMETERS = (
    arguments.TBL,
    QI,
    Parameter("sensitive", arguments.words, "the column whose values nobody may connect with a person"),
    Parameter("l", at_least_two, "the least number of rows, all of different values, in a group, such as l := 3"),
    Parameter(
        "part", arguments.choice("qit", "st"), "'qit' for the quasi-identifiers, 'st' for the sensitive values", "'qit'"
    ),
    Parameter("keep", arguments.columns, "further columns of the quasi-identifier table", "NULL"),
    Parameter("key", arguments.columns, "the columns that identify a row for its chance", "NULL"),
    Parameter("seed", arguments.integer, "repeatable, unprotected chance for tests", "NULL"),
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    refuse_another_hash(NAME, catalog)
    named = Named(NAME, catalog, given)
    sensitive, keep, key = named.columns("sensitive"), named.columns("keep"), named.columns("key")
    refuse_overlap(named.faults, {"sensitive": sensitive, "qi": named.qi, "keep": keep, "key": key}, "sensitive")
    refuse_overlap(named.faults, {"qi": named.qi, "keep": keep}, "qi")
    named.refuse_called([*named.qi, *keep], (GROUP_ID,))
    named.refuse_called(sensitive, (GROUP_ID, COUNT))
    named.faults.raise_if_any()
    return _Anatomy(named, sensitive[0].name, [c.name for c in keep], [c.name for c in key], given).statement()


class _Anatomy:
    """Writes the statement of one call."""

    def __init__(self, named: Named, sensitive: str, keep: list[str], key: list[str], given: dict[str, Any]) -> None:
        self.source, self.qi = named.source, [column.name for column in named.qi]
        self.sensitive, self.keep, self.key, self.given = sensitive, keep, key, given
        self.words = normals.word_function(1, seeded="seed" in given)

    def statement(self) -> str:
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.source.has_rowid)
        statement.step("_pp_first", self._first_look(), materialized=True)
        statement.step("_pp_asked", self._asked(), materialized=True)
        statement.step("_pp_places", self._places(), materialized=False)
        statement.step("_pp_drawn", self._drawn(), materialized=False)
        statement.step("_pp_ranked", self._ranked(), materialized=False)
        return statement.finish(self._sensitive_table() if self.given.get("part") == "st" else self._qi_table())

    def _specification(self) -> str:
        # Neither the part that is asked for, nor what else is kept, nor the order of columns may change the groups.
        context = {
            "function": NAME,
            "qi": sorted(map(folded, self.qi)),
            "sensitive": folded(self.sensitive),
            "l": self.given["l"],
            "seed": self.given.get("seed"),
        }
        spec = {
            "function": NAME,
            "table": self.source.label,
            "sensitive": self.sensitive,
            "key": self.key,
            "l": self.given["l"],
            "context": json.dumps(context, sort_keys=True),
        }
        return json.dumps(spec, sort_keys=True)

    def _source(self) -> str:
        columns = [sql.named(self._hidden(name), f"_pp_q{i}") for i, name in enumerate([*self.qi, *self.keep])]
        columns += [sql.named(self._hidden(self.sensitive), "_pp_s"), sql.named(self._row_key(), "_pp_key")]
        if self.key:
            no_key = sql.present([sql.column(name) for name in self.key])
            assert no_key is not None
            named_key = sql.call("hash", *map(sql.column, self.key))
            columns.append(sql.named(exp.Case().when(no_key, named_key), "_pp_named"))
        return sql.select(columns, f'{self.source.sql} AS "_pp_row"')

    def _hidden(self, name: str) -> sql.Expr:
        column = self.source.find(name)
        return sql.hidden(name) if column is not None and column.is_integer else sql.column(name)

    def _row_key(self) -> sql.Expr:
        """What a row's chance hangs on: its content, and its key, its number, or which of equal rows it is."""
        used = keys.numbers([self.source.column(name) for name in [*self.qi, self.sensitive]])
        if self.key:
            return sql.call("hash", *keys.numbers([self.source.column(name) for name in self.key]), *used)
        if self.source.has_rowid:
            return sql.call("hash", sql.column("rowid"), *used)
        # Equal rows must not share their chance: they would go to groups that were made one after the other.
        over = "PARTITION BY " + ", ".join(map(sql.render, used))
        if self.keep:
            over += " ORDER BY " + ", ".join(f"{sql.render(sql.column(name))} ASC NULLS LAST" for name in self.keep)
        return sql.call("hash", *(each.copy() for each in used), sql.raw(f"row_number() OVER ({over})"))

    def _first_look(self) -> str:
        """Checks keys and values; answers with the tweak that all chance needs."""
        rows, keys = aggregates.rows(), aggregates.rows()
        keyless: sql.Expr = sql.number(0)
        if self.key:
            named = sql.column("_pp_named")
            keyless = exp.Sub(this=aggregates.rows(), expression=sql.call("count", named))
            keys = sql.call("count", exp.Distinct(expressions=[named.copy()]))
        missing = exp.Sub(this=aggregates.rows(), expression=sql.call("count", sql.column("_pp_s")))
        digest = sql.cast(aggregates.digest(sql.column("_pp_key")), "VARCHAR")
        check = sql.call(CHECK, sql.text(self._specification()), rows, missing, keyless, keys, digest)
        return sql.select([sql.named(check, "_pp_tweak")], '"_pp_source"')

    def _asked(self) -> str:
        """The groups of all rows, in the order of their sensitive values."""
        counts = sql.select(
            [sql.column("_pp_s"), sql.named(sql.double(aggregates.rows()), "_pp_n")],
            '"_pp_source"',
            group=[sql.column("_pp_s")],
        )
        in_order = f'SELECT list("_pp_n" ORDER BY "_pp_s" ASC) AS "_pp_counts" FROM ({counts})'
        secret = sql.cast(sql.call(self.words, sql.cast(sql.number(0), "UBIGINT"), sql.column("_pp_tweak")), "VARCHAR")
        asked = sql.call(SOLVE, sql.text(self._specification()), secret, sql.column("_pp_counts"))
        return sql.select([sql.named(asked, "_pp_groups")], f'({in_order}) CROSS JOIN "_pp_first"')

    def _places(self) -> str:
        columns = [
            sql.named(sql.call("unnest", sql.column("_pp_groups")), "_pp_group"),
            sql.named(sql.raw('unnest(generate_series(1, len("_pp_groups")))'), "_pp_place"),
        ]
        return sql.select(columns, '"_pp_asked"')

    def _drawn(self) -> str:
        """Rows with two words each: one for their place among those of their value, one for the order of the output."""
        words = sql.named(sql.call(self.words, sql.column("_pp_key"), sql.column("_pp_tweak")), "_pp_words")
        return sql.select([sql.star("_pp_source"), words], '"_pp_source" CROSS JOIN "_pp_first"')

    def _ranked(self) -> str:
        place = 'row_number() OVER (ORDER BY "_pp_s" ASC, array_extract("_pp_words", 1) ASC, "_pp_key" ASC)'
        return sql.select([sql.star("_pp_drawn"), sql.named(sql.raw(place), "_pp_place")], '"_pp_drawn"')

    def _joined(self) -> str:
        return '"_pp_ranked" JOIN "_pp_places" ON "_pp_ranked"."_pp_place" = "_pp_places"."_pp_place"'

    def _qi_table(self) -> str:
        columns = [sql.named(sql.column(f"_pp_q{i}"), name) for i, name in enumerate([*self.qi, *self.keep])]
        rows = sql.select([*columns, sql.named(sql.column("_pp_group"), GROUP_ID)], self._joined())
        # Rows in their own order might tell the sensitive values, if that is what they were sorted by; and so might the
        # word that gave them their place: where it stands among those of its value is known of a group.
        return f'{rows} ORDER BY "_pp_group" ASC, array_extract("_pp_words", 2) ASC'

    def _sensitive_table(self) -> str:
        group, value = sql.column("_pp_group"), sql.column("_pp_s")
        columns = [
            sql.named(group.copy(), GROUP_ID),
            sql.named(value.copy(), self.sensitive),
            sql.named(aggregates.rows(), COUNT),
        ]
        return f'{sql.select(columns, self._joined(), group=[group, value])} ORDER BY "_pp_group" ASC, "_pp_s" ASC'


def check(specification: str, rows: int, missing: int, keyless: int, keys: int, digest: str | None) -> int:
    """Refuses rows without a key of their own, or without a sensitive value; else the tweak for this release."""
    spec = json.loads(specification)
    faults = Faults(spec["function"], spec["table"])
    key = quoted(", ".join(spec["key"]))
    if not rows:
        raise faults.refuse("there are no rows.")
    if rows > MOST_ROWS:
        faults.add(f"{rows:,} rows are too many to group at once; {MOST_ROWS:,} are possible.")
    if missing:
        faults.add(
            f"sensitive column {quoted(spec['sensitive'])} has NULL in {missing} of {rows} rows; leave such rows out "
            "with a SELECT in tbl, or fill them."
        )
    if keyless:
        faults.add(f"key {key} is NULL in {keyless} of {rows} rows; every row needs a key.")
    elif keys < rows:
        faults.add(
            f"key {key} has only {keys} values for {rows} rows and does not identify them; name columns that do."
        )
    faults.raise_if_any()
    return tweak_of(spec["context"], int(digest or 0))


def solve(specification: str, secret: str, counts: Array) -> Any:
    """The number of each row's group, value by value."""
    spec = json.loads(specification)
    sizes, wanted = counts.astype(np.int64), int(spec["l"])
    possible = largest_l(sizes)
    if possible < wanted:
        most, n = int(sizes.max()), int(sizes.sum())
        remedy = f"the largest l possible is {possible}" if possible > 1 else "no l of 2 or more is possible"
        raise Faults(spec["function"], spec["table"]).refuse(
            f"l = {wanted} needs a table in which no value of column {quoted(spec['sensitive'])} has more than "
            f"1/{wanted} of the rows; the most frequent one has {most} of {n}, so that {remedy}."
        )
    return anatomized(sizes, wanted, noise_of(secret))


def _becomes(name: str, places: dict[str, list[str]], given: dict[str, Any]) -> tuple[str, str]:
    if name in places["sensitive"]:
        return "sensitive", f"released in part 'st' only, as a value of a group of at least {given['l']} rows"
    if name in places["qi"]:
        return "quasi-identifier", f"released as it is in part 'qit', beside the number of its group ({GROUP_ID})"
    if name in places.get("keep", []):
        return "kept", "released as it is in part 'qit': leave it out if it tells what sensitive is"
    return "not used", "left out of both parts" + ("; names the row for its chance" if _keys(name, places) else "")


def _keys(name: str, places: dict[str, list[str]]) -> bool:
    return name in places.get("key", [])


FUNCTION = register(
    GroupingMask(
        NAME,
        PARAMETERS,
        plan,
        "Anatomy: quasi-identifiers and sensitive values in two tables, connected by groups of l different values.",
        "Xiao & Tao 2006, VLDB; Machanavajjhala et al. 2006, ICDE",
        keeps=(
            "who finds a person's row knows the sensitive value with a probability of at most 1/l",
            "quasi-identifiers and sensitive values are all released, each as it is",
        ),
        loses=(
            PRESENCE,
            "relations of the sensitive column with the others: within a group every pairing is as likely",
            INTERSECTED,
            OTHER_KNOWLEDGE,
        ),
        becomes=_becomes,
        kind=Kind.MASK,
        explain=explained,
        udfs=(Udf(CHECK, check, CHECK_TAKES, "UBIGINT"), Udf(SOLVE, solve, SOLVE_TAKES, "BIGINT[]")),
    )
)
