"""Anatomy: quasi-identifiers and sensitive values in two tables, which only the number of a group connects.

Both are released as they are. In a group of at least l rows no sensitive value occurs twice, so that who finds a
person's row knows the value with a probability of at most 1/l. See the kernel for how groups are made; they depend on
the counts of the sensitive values only. Which row of a value goes to which group is chance, keyed by the secret, the
data and the parameters: both tables of one call have the same groups. (Xiao & Tao 2006, VLDB.)

What it does not hide: that a person is in the table, and anything from one who has two releases with other groups, as
after a change of the data; what both groups of a person have in common may be a single value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Kind, register
from ppduck.call.roles import refuse_overlap
from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.kernels.anatomy import anatomized, largest_l
from ppduck.masks._explain_groups import explained
from ppduck.masks._quasi import (
    INTERSECTED,
    OTHER_KNOWLEDGE,
    PRESENCE,
    QI,
    GroupingMask,
    Named,
    at_least_two,
    names_column,
)
from ppduck.masks.groups import GROUP_ID
from ppduck.query import aggregates as plain
from ppduck.query import normals
from ppduck.query import tree as sql
from ppduck.runtime.group_lists import noise_of
from ppduck.runtime.key_check import ReleaseSeen, Uniqueness, refuse_keys
from ppduck.runtime.noise import WORDS
from ppduck.stages import aggregates, keys, release_identity
from ppduck.stages.key_look import release_seen
from ppduck.stages.masking import KEY, LOOK, SEEN, SOURCE, TWEAK
from ppduck.stages.plan import Groups, Plan, Rows, Sorted, Stage, Totals
from ppduck.values import Array, folded

NAME = "anatomy_mask"
COUNT = "count"
MOST_ROWS = 100_000_000  # a group's number is eight bytes, and several times that on the way


@parameters
class AnatomyCall(Call):
    tbl: str = TABLE
    qi: Sequence[str] = QI
    sensitive: str = parameter(
        arguments.column, "the column whose values nobody may connect with a person"
    )
    l: int = parameter(  # noqa: E741 - what the paper, and everybody, calls it
        at_least_two,
        "the least number of rows, all of different values, in a group, such as l := 3",
    )
    part: str = parameter(
        arguments.choice("qit", "st"),
        "'qit' for the quasi-identifiers, 'st' for the sensitive values",
        "qit",
    )
    keep: Sequence[str] = parameter(
        arguments.columns, "further columns of the quasi-identifier table", ()
    )
    key: Sequence[str] = parameter(
        arguments.columns, "the columns that identify a row for its chance", ()
    )
    seed: int | None = parameter(
        arguments.integer, "repeatable, unprotected chance for tests", None
    )


@frozen
class AnatomySpec(Spec):
    sensitive: str
    key: list[str]
    l: int  # noqa: E741
    context: str  # what makes the release the one it is


@frozen
class Seen(ReleaseSeen):
    """What the first look tells."""

    missing: int  # rows without a sensitive value


@frozen
class Counts:
    """How often each sensitive value occurs, in their order, and the secret of the release."""

    secret: str
    counts: Array


def plan(catalog: Catalog, call: AnatomyCall) -> Plan:
    refuse_another_hash(NAME, catalog)
    named = Named(NAME, catalog, call)
    sensitive, keep = named.columns("sensitive", [call.sensitive]), named.columns("keep", call.keep)
    key = named.columns("key", call.key)
    refuse_overlap(
        named.faults,
        {"sensitive": sensitive, "qi": named.qi, "keep": keep, "key": key},
        "sensitive",
    )
    refuse_overlap(named.faults, {"qi": named.qi, "keep": keep}, "qi")
    named.refuse_called([*named.qi, *keep], (GROUP_ID,))
    named.refuse_called(sensitive, (GROUP_ID, COUNT))
    named.faults.raise_if_any()
    return _Anatomy(
        named, sensitive[0].name, [c.name for c in keep], [c.name for c in key], call
    ).plan()


class _Anatomy:
    """The stages of one call."""

    def __init__(
        self, named: Named, sensitive: str, keep: list[str], key: list[str], call: AnatomyCall
    ) -> None:
        self.source, self.qi = named.source, [column.name for column in named.qi]
        self.sensitive, self.keep, self.key, self.call = sensitive, keep, key, call
        self.words = normals.word_function(1, seeded=call.seed is not None)

    def plan(self) -> Plan:
        answer = self._sensitive_table() if self.call.part == "st" else self._qi_table()
        return Plan(
            (
                Rows(SOURCE, not self.source.has_rowid, self._source()),
                *self._look(),
                Groups("_pp_asked", True, self._asked()),
                Groups("_pp_places", False, self._places()),
                Rows("_pp_drawn", False, self._drawn()),
                Sorted("_pp_ranked", False, self._ranked()),
            ),
            Sorted("_pp_answer", False, answer),
        )

    def _specification(self) -> AnatomySpec:
        # Neither the part that is asked for, nor what else is kept, nor the order of columns may change the groups.
        context = {
            "function": NAME,
            "qi": sorted(map(folded, self.qi)),
            "sensitive": folded(self.sensitive),
            "l": self.call.l,
            "seed": self.call.seed,
        }
        made = release_identity.written(context)
        return AnatomySpec(NAME, self.source.label, self.sensitive, self.key, self.call.l, made)

    def _source(self) -> sql.Expr:
        columns = [
            sql.named(self._hidden(name), f"_pp_q{i}")
            for i, name in enumerate([*self.qi, *self.keep])
        ]
        columns += [
            sql.named(self._hidden(self.sensitive), "_pp_s"),
            sql.named(self._row_key(), KEY),
        ]
        if self.key:
            named_key = [sql.column(name) for name in self.key]
            has_key = sql.present(named_key)
            assert has_key is not None
            own = sql.cases((has_key, keys.told_apart(named_key)))
            columns.append(sql.named(own, "_pp_named_key"))
        return sql.query(columns, sql.source(self.source.sql, "_pp_row"))

    def _hidden(self, name: str) -> sql.Expr:
        column = self.source.find(name)
        return sql.hidden(name) if column is not None and column.is_integer else sql.column(name)

    def _row_key(self) -> sql.Expr:
        """What a row's chance hangs on: its content, and its key, its number, or which of equal rows it is."""
        used = keys.numbers([self.source.column(name) for name in [*self.qi, self.sensitive]])
        if self.key:
            return sql.call(
                "hash", *keys.numbers([self.source.column(name) for name in self.key]), *used
            )
        if self.source.has_rowid:
            return sql.call("hash", sql.column("rowid"), *used)
        # Equal rows must not share their chance: they would go to groups that were made one after the other.
        which = sql.over(sql.call("row_number"), used, [sql.column(name) for name in self.keep])
        return sql.call("hash", *(each.copy() for each in used), which)

    def _look(self) -> list[Stage]:
        """Checks keys and values; answers with the tweak that all chance needs."""
        named = [sql.column("_pp_named_key")] if self.key else []
        missing = exp.Sub(this=plain.rows(), expression=sql.call("count", sql.column("_pp_s")))
        told = [
            *release_seen(named, named[0] if named else None, Uniqueness.EVERY),
            aggregates.count("_pp_missing", missing),
        ]
        seen = Totals(SEEN, False, [], told, sql.table(SOURCE))
        tweak = CHECK.in_sql(self._specification(), aggregates.told(told))
        return [seen, Groups(LOOK, True, sql.query([sql.named(tweak, TWEAK)], sql.table(SEEN)))]

    def _asked(self) -> sql.Expr:
        """The groups of all rows, in the order of their sensitive values."""
        counts = sql.query(
            [sql.column("_pp_s"), sql.named(sql.double(plain.rows()), "_pp_n")],
            sql.table(SOURCE),
            group=[sql.column("_pp_s")],
        )
        listed = sql.named(
            sql.in_order("list", sql.column("_pp_n"), [sql.column("_pp_s")]), "_pp_counts"
        )
        in_order = sql.derived(
            sql.query([listed], sql.derived(counts, "_pp_counted")), "_pp_in_order"
        )
        secret = sql.cast(
            sql.call(self.words, sql.cast(sql.number(0), "UBIGINT"), sql.column(TWEAK)), "VARCHAR"
        )
        asked = SOLVE.in_sql(
            self._specification(), {"secret": secret, "counts": sql.column("_pp_counts")}
        )
        return sql.query([sql.named(asked, "_pp_groups")], in_order.cross(sql.table(LOOK)))

    def _places(self) -> sql.Expr:
        counting = sql.call(
            "generate_series", sql.number(1), sql.call("len", sql.column("_pp_groups"))
        )
        columns = [
            sql.named(sql.call("unnest", sql.column("_pp_groups")), "_pp_group"),
            sql.named(sql.call("unnest", counting), "_pp_place"),
        ]
        return sql.query(columns, sql.table("_pp_asked"))

    def _drawn(self) -> sql.Expr:
        """Rows with two words each: one for their place among those of their value, one for the order of the output."""
        words = sql.named(sql.call(self.words, sql.column(KEY), sql.column(TWEAK)), "_pp_words")
        return sql.query([sql.star(SOURCE), words], sql.table(SOURCE).cross(sql.table(LOOK)))

    def _ranked(self) -> sql.Expr:
        order = [sql.column("_pp_s"), _word(1), sql.column(KEY)]
        place = sql.named(sql.over(sql.call("row_number"), (), order), "_pp_place")
        return sql.query([sql.star("_pp_drawn"), place], sql.table("_pp_drawn"))

    def _joined(self) -> sql.Rows:
        same = sql.equal(
            sql.column("_pp_place", "_pp_ranked"), sql.column("_pp_place", "_pp_places")
        )
        return sql.table("_pp_ranked").join(sql.table("_pp_places"), same)

    def _qi_table(self) -> sql.Expr:
        columns = [
            sql.named(sql.column(f"_pp_q{i}"), name)
            for i, name in enumerate([*self.qi, *self.keep])
        ]
        columns.append(sql.named(sql.column("_pp_group"), GROUP_ID))
        # Rows in their own order might tell the sensitive values, if that is what they were sorted by; and so might the
        # word that gave them their place: where it stands among those of its value is known of a group.
        return sql.query(columns, self._joined(), order=[sql.column("_pp_group"), _word(2)])

    def _sensitive_table(self) -> sql.Expr:
        group, value = sql.column("_pp_group"), sql.column("_pp_s")
        columns = [
            sql.named(group.copy(), GROUP_ID),
            sql.named(value.copy(), self.sensitive),
            sql.named(plain.rows(), COUNT),
        ]
        order = [group.copy(), value.copy()]
        return sql.query(columns, self._joined(), group=[group, value], order=order)


def _word(place: int) -> sql.Expr:
    return sql.call("array_extract", sql.column("_pp_words"), sql.number(place))


def check(spec: AnatomySpec, seen: Seen) -> int:
    """Refuses rows without a key of their own, or without a sensitive value; else the tweak for this release."""
    faults, rows = spec.faults(), seen.rows
    if not rows:
        raise faults.refuse("there are no rows.")
    if rows > MOST_ROWS:
        faults.add(f"{rows:,} rows are too many to group at once; {MOST_ROWS:,} are possible.")
    if seen.missing:
        faults.add(
            f"sensitive column {quoted(spec.sensitive)} has NULL in {seen.missing} of {rows} rows; leave such rows out "
            "with a SELECT in tbl, or fill them."
        )
    refuse_keys(faults, spec.key, seen, Uniqueness.EVERY)
    faults.raise_if_any()
    return seen.tweak(spec.context)


def solve(spec: AnatomySpec, told: Counts) -> Any:
    """The number of each row's group, value by value."""
    sizes, wanted = told.counts.astype(np.int64), spec.l
    possible = largest_l(sizes)
    if possible < wanted:
        most, n = int(sizes.max()), int(sizes.sum())
        remedy = (
            f"the largest l possible is {possible}"
            if possible > 1
            else "no l of 2 or more is possible"
        )
        raise spec.refuse(
            f"l = {wanted} needs a table in which no value of column {quoted(spec.sensitive)} has more than "
            f"1/{wanted} of the rows; the most frequent one has {most} of {n}, so that {remedy}."
        )
    return anatomized(sizes, wanted, noise_of(told.secret))


def _becomes(name: str, call: AnatomyCall) -> tuple[str, str]:
    if folded(name) == folded(call.sensitive):
        return (
            "sensitive",
            f"released in part 'st' only, as a value of a group of at least {call.l} rows",
        )
    if names_column(call.qi, name):
        return (
            "quasi-identifier",
            f"released as it is in part 'qit', beside the number of its group ({GROUP_ID})",
        )
    if names_column(call.keep, name):
        return "kept", "released as it is in part 'qit': leave it out if it tells what sensitive is"
    keyed = "; names the row for its chance" if names_column(call.key, name) else ""
    return "not used", f"left out of both parts{keyed}"


CHECK = told_udf("ppduck_anatomy_check", check, AnatomySpec, Seen, "UBIGINT")
SOLVE = told_udf("ppduck_anatomy_groups", solve, AnatomySpec, Counts, "BIGINT[]")
FUNCTION = register(
    GroupingMask(
        NAME,
        AnatomyCall,
        plan,
        "Anatomy: quasi-identifiers and sensitive values in two tables, connected by groups of l different values.",
        "Xiao & Tao 2006, VLDB; Machanavajjhala et al. 2007, TKDD",
        keeps=(
            Guarantee(
                Promise.DIVERSE_VALUES,
                "who finds a person's row knows the sensitive value with a probability of at most 1/l",
            ),
            Guarantee(
                Promise.VALUES,
                "quasi-identifiers and sensitive values are all released, each as it is",
            ),
        ),
        loses=(
            PRESENCE,
            Loss(
                LossKind.RELATIONS,
                "relations of the sensitive column with the others: within a group every pairing is as likely",
            ),
            INTERSECTED,
            OTHER_KNOWLEDGE,
        ),
        becomes=_becomes,
        kind=Kind.MASK,
        explain=explained,
        example="FROM anatomy_mask('survey', qi=['gender','smoker'], sensitive='disease', l=2, part='qit', key='id')",
        udfs=(CHECK, SOLVE, *WORDS),
    )
)
