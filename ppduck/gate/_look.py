"""What the gate asks of the release as a whole table: a look at every column, at some rows of both tables, and at the
rows that stand apart.

One Python function judges it all: counts of all rows say which columns were kept, and how their values look; a sample
of rows, those of the least hashes, shows what columns, key and order tell of conf (``kernels.telling``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ppduck.call.registry import Result
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.source import Column
from ppduck.gate import _accounts, _apart, _pseudonyms, _telling
from ppduck.gate._accounts import Figures, Other
from ppduck.gate._looked import Looked, LookSpec, LookTold, looked
from ppduck.gate._parts import Parts
from ppduck.gate._pseudonyms import Counts
from ppduck.gate.rules import COPY, Limits, Row, arm
from ppduck.kernels.finding import MOST_GAIN
from ppduck.kernels.telling import MOST_OF_THE_REST
from ppduck.pairs.one_to_one import MASKED, ORIGINAL
from ppduck.pairs.rows import HASH, POSITION, SHARED, Pairs, unnested
from ppduck.query import aggregates
from ppduck.query import tree as sql

SAMPLED = 10_000
PROFILE = "_pp_profile"
ROWS = (
    Result("place", "BIGINT", ""),
    Result("rule", "VARCHAR", ""),
    Result("column_name", "VARCHAR", ""),
    Result("value", "DOUBLE", ""),
    Result("at_most", "DOUBLE", ""),
    Result("why", "VARCHAR", ""),
)
# The rules, in the order in which they are told; the first cannot be switched off.
RULES = {
    "declared": "share of rows in which a column is new or changed, that nobody declared",
    "identifier": "share of different values in a kept column, which tell who somebody is",
    "pattern": "share of values that look like e-mail addresses, telephone numbers or exact days",
    **_pseudonyms.RULES,
    "tells": "what a column, read in any way that is known, tells of conf beyond what is public, or of what it was",
    "order": "what the order of the rows tells of conf",
    "dominance": "largest share of a single row in the variance of a conf column, where the release tells it",
    "leverage": "largest share of a single row in the variance of a nonconf column, or of several together",
    COPY: "share of rows in which another column is conf itself",
}
DECLARED = "declared"
_FIRST_PLACE = -220_000  # before the rules that are figures of functions


def row(pairs: Pairs, parts: Parts, limits: Limits) -> sql.Expr:
    """A SELECT of the rules that are judged in Python."""
    of = pairs.columns
    spec = pairs.spec(
        LookSpec,
        others=parts.others,
        unseen=of.unseen,
        key_columns=of.key,
        fixed=_accounts.fixed_rows(of, parts.conf, parts.dropped),
        asked=[rule for rule in RULES if limits.asks(rule)],
        limits={rule: limit for rule, limit in limits.numbers.items() if rule in RULES},
        pseudonyms=parts.pseudonyms,
    )
    own = arm(
        sql.column("place"),
        sql.column("rule"),
        column=sql.column("column_name"),
        value=sql.column("value"),
        at_most=sql.column("at_most"),
        why=sql.column("why"),
    )
    return sql.query(own, sql.derived(_found(pairs, spec), "_pp_looked"))


def _found(pairs: Pairs, spec: LookSpec) -> sql.Expr:
    of = pairs.columns
    some = list(range(len(spec.others)))
    keys = [*map(sql.column, pairs.key_names)]
    own = [HASH, *pairs.value_names, *pairs.category_names]
    drawn = sql.query(
        [*keys, *map(sql.column, own)],
        sql.table(SHARED),
        order=[sql.column(HASH)],
        limit=sql.number(SAMPLED),
    )
    both = sql.derived(drawn, "_pp_drawn")
    for side in (MASKED, ORIGINAL):
        both = both.using(sql.table(side), pairs.key_names)
    numbers = [sql.short(sql.column(HASH, "_pp_drawn")), sql.column(POSITION)]
    numbers += [sql.column(name, "_pp_drawn") for name in pairs.value_names]
    texts = [sql.column(name, "_pp_drawn") for name in pairs.category_names]
    texts += [sql.column(f"_pp_t{i}") for i in range(len(of.unseen))]
    texts += [_as_text(spec.others[i].column, sql.column(f"_pp_other{i}")) for i in some]
    texts += [
        _as_text(Column(other.name, other.was), sql.column(f"_pp_was{i}"))
        for i, other in enumerate(spec.others)
        if other.is_compared
    ]
    stood_for = [each for each in spec.pseudonyms if each.original is not None]
    texts += [text for each in stood_for for text in (each.before, each.hashed)]
    texts += [
        _as_text(column, sql.column(name))
        for column, name in zip(of.key, pairs.key_names, strict=True)
    ]
    lists = {
        "_pp_sample": sql.flat(sql.call("list", sql.double(value)) for value in numbers),
        "_pp_texts": sql.array([sql.call("list", value) for value in texts], "VARCHAR[]"),
    }
    sample = sql.query(sql.columns(lists), both)
    same = [
        sql.call("sum", sql.cast(sql.column(f"_pp_same{i}"), "BIGINT"))
        if spec.others[i].old
        else sql.number(0)
        for i in some
    ]
    # A count too, as there may be nothing else to sum up.
    counted = {"_pp_same_rows": sql.array([*same, aggregates.rows()], "DOUBLE")}
    counted |= _apart.gathered(pairs)
    whole = (
        sql.table(PROFILE)
        .cross(sql.derived(sql.query(sql.columns(counted), sql.table(SHARED)), "_pp_counted"))
        .cross(sql.derived(sample, "_pp_sampled_rows"))
    )
    told = {
        "same": sql.column("_pp_same_rows"),
        "profiles": sql.array((sql.column(f"_pp_profile{i}") for i in some), "DOUBLE[]"),
        "numbers": sql.column("_pp_sample"),
        "texts": sql.column("_pp_texts"),
        "apart": sql.column(_apart.GATHERED),
        "counted": sql.array(map(_pseudonyms.counted, stood_for), "DOUBLE[]"),
    }
    made = sql.query(sql.columns({f"_pp_told_{name}": each for name, each in told.items()}), whole)
    return unnested(JUDGE, spec, told, sql.derived(made, "_pp_look"), ROWS)


def profile(statement: sql.Statement, found: Sequence[Other]) -> None:
    """The step that counts the release's columns."""
    parts = sql.columns(_accounts.profile(found))
    statement.step(PROFILE, sql.query(parts, sql.table(MASKED)), materialized=True)


def _as_text(column: Column, value: sql.Expr) -> sql.Expr:
    own = sql.cast(value, "INTEGER") if column.is_boolean else value
    return sql.cast(own, "VARCHAR")


def judge(spec: LookSpec, told: LookTold) -> list[dict[str, Any]]:
    places = {rule: i * 10_000 + _FIRST_PLACE for i, rule in enumerate(RULES)}
    return [
        {
            "place": places[row.rule] + i,
            "rule": row.rule,
            "column_name": row.column_name,
            "value": row.value,
            "at_most": _limit(spec, row),
            "why": row.why,
        }
        for i, row in enumerate(_judged(spec, told))
        if row.rule in spec.asked
    ]


def _limit(spec: LookSpec, row: Row) -> float:
    """What a call allows a column to tell is R²; counts, and shares of what is left, have limits of their own."""
    given = spec.limits.get(row.rule)
    if given is None:
        return row.at_most
    of_r2 = MOST_GAIN <= row.at_most < MOST_OF_THE_REST
    return (
        given
        if row.rule not in ("tells", "order") or of_r2
        else max(given if given == 1 else 0.0, row.at_most)
    )


def _judged(spec: LookSpec, told: LookTold) -> Iterator[Row]:
    yield from spec.fixed
    figures = _figures(spec, told)
    first = 2 * len(spec.categories) + len(spec.unseen)
    for place, (other, counted) in enumerate(zip(spec.others, figures, strict=True)):
        yield _accounts.declared_row(other, counted)
        some = (told.texts or [])[first + place : first + place + 1]
        yield from _accounts.identifier_rows(
            other, counted, [text for each in some for text in each or []]
        )
    found = looked(spec, told)
    yield from _of_pseudonyms(spec, told, found)
    yield from _telling.rows(spec, found, figures)
    yield from _apart.rows(spec, told.apart)


def _figures(spec: LookSpec, told: LookTold) -> list[Figures]:
    same = np.nan_to_num(np.zeros(len(spec.others) + 1) if told.same is None else told.same)[:-1]
    profiles = told.profiles or [[] for _ in spec.others]
    return [
        Figures(told.pairs, int(equal), profile[0], profile[1], profile[2:])
        for equal, profile in zip(same, profiles, strict=True)
    ]


def _of_pseudonyms(spec: LookSpec, told: LookTold, found: Looked) -> Iterator[Row]:
    counted = iter(told.counted or [])
    others = {other.name: own for other, own in zip(spec.others, found.others, strict=False)}
    for each in spec.pseudonyms:
        before, _ = found.originals.get(each.name, ([], []))
        counts = Counts(*next(counted)) if each.original is not None else Counts()
        was, own = _pseudonyms.different(before, others.get(each.name, []) if before else [])
        yield from _pseudonyms.rows(each, counts, was, own)


JUDGE = told_udf("ppduck_release_look", judge, LookSpec, LookTold, rows_type(ROWS))
