"""What the gate asks of pseudonyms: that each original has one, that no two share one, that none is an original, and
that nobody without a secret reads the original from them.

A pseudonym is of the column that the original has under its name, or of the one that a call says: rows are matched by
the key, so that a release whose key is replaced is asked of as a table that has both, the key and what will stand in
its place. All different pairs of original and pseudonym are counted; some of them are read
(``kernels.unmasked_pseudonyms``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ppduck.call.roles import refuse_overlap
from ppduck.call.roles import resolve_columns as resolve
from ppduck.catalogue.source import Column
from ppduck.catalogue.tables import ROWS_PER_LEVEL
from ppduck.errors import quoted
from ppduck.frozen import frozen
from ppduck.gate.rules import Row
from ppduck.kernels import unmasked_pseudonyms as kernel
from ppduck.kernels.finding import Finding
from ppduck.kernels.released_column import Candidate
from ppduck.pairs.columns import Compared
from ppduck.pairs.rows import SHARED
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import folded

PARAMETER = "pseudonyms"
NAME, ONE_TO_ONE, IDENTIFIER = "pseudonym", "one_to_one", "identifier"
RULES = {
    NAME: "pseudonyms that are original values of their column, beyond chance",
    ONE_TO_ONE: "originals that have several pseudonyms, and pseudonyms that several originals have",
}
FEWEST_OF_A_DOMAIN = ROWS_PER_LEVEL
_DOMAIN = r"@([^@\s]+\.[a-z]{2,})$"
_MAIL = re.compile(_DOMAIN)
_WAS, _IS = "_pp_original_value", "_pp_pseudonym"
_HASHED_AS_THEY_ARE = ("VARCHAR", "UUID", "DATE")
Named = Sequence[str] | Mapping[str, str]  # {released: original}
Texts = Sequence[str | None]


@frozen
class Pseudonym:
    """A released column, the original's that it stands for, and its place among what the pairs carry along."""

    name: str
    original: str | None  # None where the original has no such column, and nobody says another
    type: str = ""
    carried: int = 0
    is_key: bool = False

    @property
    def step(self) -> str:
        return f"_pp_pseudonyms{self.carried}"

    @property
    def before(self) -> sql.Expr:
        return sql.column(f"_pp_carried{self.carried}")

    @property
    def hashed(self) -> sql.Expr:
        """What DuckDB's hash() makes of the original."""
        column, value = Column("", self.type), self.before
        if column.is_integer or self.type in _HASHED_AS_THEY_ARE[1:]:
            value = sql.tried(value, self.type)
        return sql.cast(sql.call("hash", value), "VARCHAR")


def of(columns: Compared, named: Named, others: Mapping[str, Sequence[Column]]) -> list[Pseudonym]:
    """The pseudonyms of a call; the pairs carry them along, beside what they stand for."""
    faults = columns.faults
    found = resolve(faults, columns.masked, PARAMETER, [*named])
    keys = {folded(column.name) for column in columns.key}
    for column in found:
        if folded(column.name) in keys:
            faults.add(
                f"{PARAMETER} names column {quoted(column.name)}, by which rows are matched: leave the key as it is in "
                f"a table that is judged before it is dropped, beside its pseudonym under another name, and say "
                f"{PARAMETER} := {{'its pseudonym': '{column.name}'}}."
            )
    refuse_overlap(
        faults, {PARAMETER: found, **{name: [*each] for name, each in others.items()}}, PARAMETER
    )
    said = (
        {folded(name): each for name, each in named.items()} if isinstance(named, Mapping) else {}
    )
    originals = {
        folded(name): resolve(faults, columns.original, PARAMETER, [name]) for name in said.values()
    }
    result = []
    for after in found:
        if folded(after.name) in said:
            before = next(iter(originals[folded(said[folded(after.name)])]), None)
        else:
            before = columns.original.find(after.name)
        if before is None:
            result.append(Pseudonym(after.name, None))
            continue
        place = columns.carry(before, after)
        is_key = folded(before.name) in keys
        result.append(Pseudonym(after.name, before.name, before.type, place, is_key))
    return result


def count(statement: sql.Statement, found: Iterable[Pseudonym]) -> None:
    """A step for each, of its different pairs."""
    for each in found:
        if each.original is not None:
            before, after = each.before, sql.column(f"_pp_carried{each.carried}_masked")
            both = sql.present([before, after])
            assert both is not None
            own = [sql.named(before.copy(), _WAS), sql.named(after.copy(), _IS)]
            pairs = sql.query(own, sql.table(SHARED), where=both, distinct=True)
            statement.step(each.step, pairs, materialized=True)


@frozen
class Counts:
    """What was counted of all different pairs."""

    pairs: float = 0.0
    kept: float = 0.0  # whose pseudonym is the original
    mails: float = 0.0  # whose e-mail domain is that of the original
    originals: float = 0.0
    several: float = 0.0  # originals with more than one pseudonym
    pseudonyms: float = 0.0
    shared: float = 0.0  # pseudonyms of more than one original
    borrowed: float = 0.0  # pseudonyms that are some original
    domains: float = 0.0  # that are kept
    smallest: float = 0.0  # the fewest originals of such a domain


def counted(each: Pseudonym) -> sql.Expr:
    """A SELECT of a list of these counts."""
    was, own, n = sql.column(_WAS), sql.column(_IS), sql.column("_pp_n")
    mail = _domain(was).eq(_domain(own)) & _domain(own).eq(sql.text("")).not_()
    of_all = _one_row(
        sql.table(each.step),
        aggregates.rows(),
        aggregates.count_if(_folded(was).eq(_folded(own))),
        aggregates.count_if(mail),
    )
    by_original = _groups(each, {"_pp_n": aggregates.rows()}, was)
    by_pseudonym = _groups(each, {"_pp_n": aggregates.count_distinct(sql.call("lower", was))}, own)
    more = aggregates.count_if(n > sql.number(1))
    sides = [
        sql.query(
            sql.columns({"_pp_value": _folded(value), "_pp_n": sql.number(side)}),
            sql.table(each.step),
        )
        for side, value in enumerate((was, own))
    ]
    both = {"_pp_n": aggregates.count_distinct(n)}
    by_value = sql.query(
        sql.columns(both),
        sql.derived(sql.union_all(sides), "_pp_sides"),
        group=[sql.column("_pp_value")],
    )
    kept = {"_pp_n": aggregates.rows(), "_pp_kept": aggregates.count_if(mail)}
    by_domain = _groups(each, kept, _domain(own))
    any_kept = sql.column("_pp_kept") > sql.number(0)
    lists = [
        of_all,
        _one_row(sql.derived(by_original, "_pp_by_original"), aggregates.rows(), more),
        _one_row(sql.derived(by_pseudonym, "_pp_by_pseudonym"), aggregates.rows(), more),
        _one_row(sql.derived(by_value, "_pp_by_value"), more),
        _one_row(
            sql.derived(by_domain, "_pp_by_domain"),
            aggregates.count_if(any_kept),
            sql.only(sql.call("min", n), any_kept),
        ),
    ]
    return sql.flat(map(sql.scalar, lists))


def _one_row(rows: sql.Rows, *figures: sql.Expr) -> sql.Expr:
    # There may be no pairs: where all pseudonyms are NULL.
    known = [sql.call("coalesce", each.copy(), sql.number(0)) for each in figures]
    own = sql.named(sql.array(known, "DOUBLE"), "_pp_figures")
    return sql.query([own], rows)


def _groups(each: Pseudonym, parts: Mapping[str, sql.Expr], by: sql.Expr) -> sql.Expr:
    return sql.query(sql.columns(parts), sql.table(each.step), group=[by.copy()])


def _folded(value: sql.Expr) -> sql.Expr:
    """As ``kernels.unmasked_pseudonyms.folded_digits``, and a number without zeros behind its point."""
    plain = sql.call("ltrim", sql.call("trim", sql.call("lower", value.copy())), sql.text("0"))
    return sql.call("regexp_replace", plain, sql.text(r"\.0+$"), sql.text(""))


def _domain(value: sql.Expr) -> sql.Expr:
    lower = sql.call("lower", value.copy())
    return sql.call("regexp_extract", lower, sql.text(_DOMAIN), sql.number(1))


def rows(
    each: Pseudonym, counts: Counts, before: Sequence[str], after: Sequence[str]
) -> Iterator[Row]:
    """The rules of pseudonyms, of which some pairs are at hand."""
    if each.original is None:
        why = (
            "could not be asked: the original has no column of that name; say which it stands for: "
            f"{PARAMETER} := {{'{each.name}': …}}"
        )
        yield Row(NAME, each.name, None, 0.0, why)
        return
    yield _originals(each, counts, before, after)
    why = (
        f"{counts.several:.0f} of {counts.originals:.0f} originals have more than one pseudonym, and "
        f"{counts.shared:.0f} of {counts.pseudonyms:.0f} pseudonyms stand for more than one original"
    )
    yield Row(ONE_TO_ONE, each.name, counts.several + counts.shared, 0.0, why)
    if counts.domains:
        why = (
            f"1 by the fewest originals of a domain: {counts.domains:.0f} domains of e-mail addresses are kept, and "
            "released as categories; give rare ones another domain, or all of them"
        )
        yield Row(IDENTIFIER, each.name, 1 / counts.smallest, 1 / FEWEST_OF_A_DOMAIN, why)


def _originals(each: Pseudonym, counts: Counts, before: Sequence[str], after: Sequence[str]) -> Row:
    """Values that are their own pseudonym; where these are no more than chance makes, those that are another's."""
    most = kernel.same_by_chance(before, after, counts.pairs)
    of_any = kernel.same_by_chance(before, after, counts.originals * counts.pseudonyms)
    borrowed = min(of_any, counts.pseudonyms)
    if counts.kept <= most and counts.borrowed > borrowed:
        why = (
            f"pseudonyms that are the values of others in the original, of {counts.pseudonyms:.0f}: that these "
            "occur is told; draw pseudonyms that nobody has"
        )
        return Row(NAME, each.name, counts.borrowed, borrowed, why)
    why = (
        f"originals that are their own pseudonym, of {counts.originals:.0f}; {counts.borrowed:.0f} pseudonyms are the "
        "value of some original; replace every value"
    )
    return Row(NAME, each.name, counts.kept, most, why)


def different(before: Texts, after: Texts, *more: Texts) -> list[list[str]]:
    """Columns of the pairs that are there, each once; ``more`` of each pair comes along."""
    found = {
        (was, own): row
        for was, own, *row in zip(before, after, *more, strict=True)
        if was is not None and own is not None
    }
    table = [[was, own, *(each or "" for each in row)] for (was, own), row in found.items()]
    return [*map(list, zip(*table, strict=True))] if table else [[] for _ in range(2 + len(more))]


def told(
    each: Pseudonym, before: Texts, hashes: Texts, candidate: Candidate, keys: Mapping[str, Texts]
) -> Iterator[Finding]:
    """What pseudonyms of sampled rows tell of the originals, and of the key."""
    after, kind = candidate.texts, candidate.type
    if each.original is not None:
        was, own, known = different(before, after, hashes)
        yield from kernel.told(each.original, was, own, kind, [known])
    for name, values in () if each.is_key else keys.items():
        # Of the rows that share a pseudonym one, for they may be neighbours by the key.
        rows = {
            text: i for i, text in enumerate(after) if text is not None and values[i] is not None
        }
        key = [values[i] or "" for i in rows.values()]
        yield from kernel.told(name, key, [*rows], kind)


def domains(texts: Texts) -> list[str | None]:
    """Of e-mail addresses the domains, which are categories."""
    found = (_MAIL.search(text.lower()) if text else None for text in texts)
    return [each[1] if each else None for each in found]
