"""What the gate asks of the release as a whole table: a look at every column, at some rows of both tables, and at the
rows that stand apart.

One Python function judges it all: counts of all rows say which columns were kept, and how their values look; a sample
of rows, those of the least hashes, shows what columns, key and order tell of conf (``kernels.telling``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call.registry import Result
from ppduck.call.roles import MANY_LEVELS
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.source import Column
from ppduck.errors import listed
from ppduck.frozen import frozen
from ppduck.gate import _accounts, _apart
from ppduck.gate._accounts import Figures, Other
from ppduck.gate._parts import Parts
from ppduck.gate.rules import COPY, Limits, Row, arm, nobody
from ppduck.kernels import decoding
from ppduck.kernels.copies import copied
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.telling import FEWEST, MOST_ALIKE, MOST_GAIN, MOST_OF_THE_REST, Search
from ppduck.pairs.one_to_one import MASKED, ORIGINAL
from ppduck.pairs.rows import HASH, POSITION, SHARED, Pairs, PairSpec, Told, unnested
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array, folded

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
    "tells": "what a column, read in any way that is known, tells of conf beyond what is public",
    "order": "what the order of the rows tells of conf",
    "dominance": "largest share of a single row in the variance of a conf column, where the release tells it",
    "leverage": "largest share of a single row in the variance of a nonconf column",
    COPY: "share of rows in which another column is conf itself",
}
DECLARED = "declared"
K, DEFAULT_K = "k", 3
_QUASI_PLACE = len(RULES) * 10_000 - 200_000
_FIRST_PLACE = -200_000  # before the rules that are figures of functions


@frozen
class LookSpec(PairSpec):
    """The columns by their parts, the rules that are asked, and limits that the call names."""

    others: list[Other]
    unseen: list[Column]  # conf that the release lacks, or has in another form
    key_columns: list[Column]
    fixed: list[Row]
    asked: list[str]
    limits: dict[str, float]


@frozen
class LookTold(Told):
    """Rows in which each other column is as it was, and its profile; of sampled rows hash, position, features, conf
    before and after, one column after the other, and texts: categories of conf before and after, unseen, others, key;
    what ``_apart`` gathers.
    """

    same: Array | None
    profiles: list[list[float]] | None
    numbers: Array | None
    texts: list[list[str | None]] | None
    apart: Array | None


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


def quasi_row(parts: Parts, limits: Limits) -> sql.Expr | None:
    """The smallest group of rows that share all quasi-identifiers, as 1/k."""
    if not limits.asks(K):
        return None
    k = limits.numbers.get(K, DEFAULT_K)
    if not parts.qi:
        return sql.query(
            arm(
                sql.number(_QUASI_PLACE),
                sql.text(K),
                column=nobody(),
                value=sql.null(),
                at_most=sql.null(),
                why=sql.text("not asked: name in qi what an intruder may know of a person"),
                asked=False,
            )
        )
    names = [column.name for column in parts.qi]
    group = [_released(parts, column) for column in parts.qi]
    sizes = sql.query([sql.named(aggregates.rows(), "_pp_size")], sql.table(MASKED), group=group)
    risk = sql.double(sql.number(1.0)) / sql.call("min", sql.column("_pp_size"))
    why = (
        f"1 by the rows of the smallest group that shares the quasi-identifiers {listed(names)}, at most 1/{k:g}; "
        "coarsen them (generalize_mask), or drop one"
    )
    own = arm(
        sql.number(_QUASI_PLACE),
        sql.text(K),
        column=nobody(),
        value=risk,
        at_most=sql.number(1 / k),
        why=sql.text(why),
    )
    return sql.query(own, sql.derived(sizes, "_pp_sizes"))


def _released(parts: Parts, column: Column) -> sql.Expr:
    """A column of the release, by the name that it has in the pairs."""
    of = parts.columns

    def place(among: Sequence[Column]) -> int | None:
        found = [i for i, each in enumerate(among) if folded(each.name) == folded(column.name)]
        return found[0] if found else None

    for kind, among in (
        ("other", [after for _, after in of.others]),
        ("y", of.numbers),
        ("b", of.categories),
        ("k", of.key),
    ):
        found = place(among)
        if found is not None:
            return sql.column(f"_pp_{kind}{found}")
    return sql.column(f"_pp_carried{parts.hidden.generalised[column.name]}_masked")


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
    numbers = [_short(sql.column(HASH, "_pp_drawn")), sql.column(POSITION)]
    numbers += [sql.column(name, "_pp_drawn") for name in pairs.value_names]
    texts = [sql.column(name, "_pp_drawn") for name in pairs.category_names]
    texts += [sql.column(f"_pp_t{i}") for i in range(len(of.unseen))]
    texts += [_as_text(spec.others[i].column, sql.column(f"_pp_other{i}")) for i in some]
    texts += [
        _as_text(column, sql.column(name))
        for column, name in zip(of.key, pairs.key_names, strict=True)
    ]
    lists = {
        "_pp_sample": _flat([sql.call("list", sql.double(value)) for value in numbers], "DOUBLE"),
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
    }
    made = sql.query(sql.columns({f"_pp_told_{name}": each for name, each in told.items()}), whole)
    return unnested(JUDGE, spec, told, sql.derived(made, "_pp_look"), ROWS)


def profile(statement: sql.Statement, found: Sequence[Other]) -> None:
    """The step that counts the release's columns."""
    parts = sql.columns(_accounts.profile(found))
    statement.step(PROFILE, sql.query(parts, sql.table(MASKED)), materialized=True)


def _short(digest: sql.Expr) -> sql.Expr:
    """As many bits as a double holds."""
    shifted = exp.BitwiseRightShift(this=digest, expression=sql.number(11))
    return sql.double(exp.paren(shifted, copy=False))


def _as_text(column: Column, value: sql.Expr) -> sql.Expr:
    own = sql.cast(value, "INTEGER") if column.is_boolean else value
    return sql.cast(own, "VARCHAR")


def _flat(lists: Sequence[sql.Expr], of: str) -> sql.Expr:
    return sql.call("flatten", sql.array(lists, f"{of}[]"))


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
    yield from _telling(spec, told, figures)
    yield from _apart.rows(spec, told.apart)


def _figures(spec: LookSpec, told: LookTold) -> list[Figures]:
    same = np.nan_to_num(np.zeros(len(spec.others) + 1) if told.same is None else told.same)[:-1]
    profiles = told.profiles or [[] for _ in spec.others]
    return [
        Figures(told.pairs, int(equal), profile[0], profile[1], profile[2:])
        for equal, profile in zip(same, profiles, strict=True)
    ]


def _telling(spec: LookSpec, told: LookTold, figures: Sequence[Figures]) -> Iterator[Row]:
    q, p = len(spec.columns), len(spec.features)
    table = _table(told.numbers, 2 + p + 2 * q)
    texts = [[*(each or [])] for each in told.texts or []]
    n = table.shape[1]
    # In the order of their hashes, whatever order the rows came in.
    order = np.argsort(table[0], kind="stable")
    table = table[:, order]
    texts = [[each[i] for i in order] if each else [] for each in texts]
    lengths = (len(spec.categories), len(spec.categories), len(spec.unseen), len(spec.others))
    ends = [0, *np.cumsum(lengths).tolist()]
    before, after, unseen, others = (texts[i:j] for i, j in pairwise(ends))
    of_keys = [
        Candidate(column.name, Role.KEY, _read_as(column), own)
        for column, own in zip(spec.key_columns, texts[ends[-1] :], strict=True)
    ]
    s, x, y = table[2 : 2 + p].T, table[2 + p : 2 + p + q].T, table[2 + p + q :].T
    not_numbers = [*zip(spec.categories, before, strict=True)]
    not_numbers += [(column.name, own) for column, own in zip(spec.unseen, unseen, strict=True)]
    as_numbers = [
        (name, values) for name, own in not_numbers if (values := _as_numbers(own)) is not None
    ]
    numbers_of_keys = [each.values for each in of_keys if each.values is not None]
    search = Search(
        Sample(
            open=_filled(s),
            conf=[*spec.columns, *(name for name, _ in as_numbers)],
            x=np.column_stack([x, *(values for _, values in as_numbers)]) if n else x,
            y=y,
            categories=[name for name, _ in not_numbers],
            levels=[own for _, own in not_numbers],
            released=after,
            keys=np.column_stack([np.empty((n, 0)), *numbers_of_keys]),
        )
    )
    candidates = [
        Candidate(name, Role.MASKED, Type.NUMBER, [_written(value) for value in column])
        for name, column in zip(spec.columns, y.T, strict=True)
    ]
    numeric_texts = {name for name, _ in as_numbers}
    candidates += [
        Candidate(name, Role.OTHER, Type.TEXT, own)
        for name, own in zip(spec.categories, after, strict=True)
        if name in numeric_texts
    ]
    for other, counted, own in zip(spec.others, figures, others, strict=True):
        if not other.of_groups:
            kept = other.old and counted.same == counted.rows
            role = Role.KEPT if kept else Role.OTHER
            candidates.append(Candidate(other.name, role, other.read_as, own))
    position = [_written(value) for value in table[1]]
    for candidate in [*candidates, *of_keys]:
        yield _told_by(search, candidate, "tells", candidate.name)
        if candidate.role in (Role.OTHER, Role.KEPT):
            why = "share of rows in which it is a conf column, to six digits; no limit allows more"
            yield Row(COPY, candidate.name, copied(search.sample, candidate), MOST_ALIKE, why)
    yield _told_by(search, Candidate("", Role.ORDER, Type.NUMBER, position), "order", None)


def _told_by(search: Search, candidate: Candidate, rule: str, name: str | None) -> Row:
    found = search.found_in(candidate)
    if found is None and search.n < FEWEST:
        why = f"fewer than {FEWEST} rows: what they tell cannot be judged"
        return Row(rule, name, None, MOST_GAIN, why)
    if found is None:
        return Row(rule, name, 0.0, MOST_GAIN, "nothing of conf to tell")
    told = "tells" if not found.passed else "at most tells"
    why = f"{told} {found.conf}, read {found.how}"
    if not found.passed:
        why += "; drop it, or mask it" if rule == "tells" else "; order the rows anew"
    return Row(rule, name, float(found.value), float(found.at_most), why)


def _as_numbers(texts: Sequence[str | None]) -> Array | None:
    """Texts that are numbers or days, and more of them than a category has."""
    if len(set(texts)) <= MANY_LEVELS:
        return None
    there = sum(text is not None for text in texts)
    read = (decoding.numbers(texts), decoding.days(texts), decoding.first_numbers(texts))
    return next((each for each in read if 2 * np.isfinite(each).sum() > there), None)


def _read_as(column: Column) -> Type:
    return Other(column.name, column.type, True, "").read_as


def _table(values: Array | None, rows: int) -> Array:
    return np.empty((rows, 0)) if values is None or not len(values) else values.reshape(rows, -1)


def _filled(values: Array) -> Array:
    """Open columns with their means where there is NULL."""
    if not values.size:
        return values
    known = np.isfinite(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, values, means)


def _written(value: float) -> str | None:
    return repr(float(value)) if np.isfinite(value) else None


JUDGE = told_udf("ppduck_release_look", judge, LookSpec, LookTold, rows_type(ROWS))
