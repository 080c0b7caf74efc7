"""From a policy to one plan: every mask is planned for the original, and all are composed.

The table is looked at first: a column that the policy does not name is an error, so that what appears in the source
tomorrow does not leave the house unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from ppduck.call.parameters import call_of
from ppduck.call.registry import Function, function_named
from ppduck.catalogue.source import Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import Attribute, Design
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.frozen import frozen
from ppduck.policy import batches, names
from ppduck.policy.gate import Layout
from ppduck.policy.model import Policy, Step, Treatment
from ppduck.query import tree as sql
from ppduck.stages.composed import Part, composed, made
from ppduck.stages.plan import Plan, Rows, Stage
from ppduck.values import folded


@frozen
class Planned:
    """A policy beside a table: the calls of its masks, and under which names columns are released."""

    policy: Policy
    source: Source
    calls: Sequence[tuple[Step, Function, Any]]
    nothing: bool = False  # no batch has enough rows yet

    @property
    def layout(self) -> Layout:
        names = [column.name for column in self.source.columns or ()]
        return Layout.of(self.policy, [name for name in names if name != batches.GROUP])


def beside(
    function: str,
    catalog: Catalog,
    tbl: str,
    policy: Policy,
    after: str | None = None,
    *,
    reads: bool = True,
) -> Planned:
    """The policy held against the columns of a table, for those of its rows that are in batches behind ``after``.

    Who only tells of the policy ``reads`` no rows: which batches there are does not matter to him.
    """
    source = catalog.source(function, tbl)
    faults = Faults(function, source.label)
    if source.columns is None:
        remedy = (
            "a policy cannot tell whether it names every column; make it a table, or commit first."
        )
        raise faults.refuse(catalog.unseen(source, remedy))
    own = [column.name for column in source.columns]
    names.check_names(faults, policy.places, policy.named, policy.qi or (), own)
    faults.raise_if_any()
    if policy.batch is None:
        if after is not None:
            raise faults.refuse(
                "after is of batches, and the policy has none; give batch: …, or leave after out."
            )
        calls = [(step, *_call(step, policy, tbl)) for step in policy.steps]
        return Planned(policy, source, calls)
    if source.find(batches.GROUP) is not None:
        raise faults.refuse(
            f"a column cannot be called {quoted(batches.GROUP)} where the policy has batches."
        )
    for name in _without_domain(policy.steps, source):
        faults.add(
            f"column {quoted(name)} is randomized batch by batch, and a batch may lack a level: give the whole domain, "
            f"{{randomize: {{p: …, levels: […]}}}}."
        )
    faults.raise_if_any()
    if not reads:
        calls = [(step, *_call(step, policy, tbl)) for step in policy.steps]
        return Planned(policy, source, calls)
    column = source.column(policy.batch)
    found = batches.found(function, catalog, source, column, after, policy.smallest_batch)
    # Where no batch is large enough, all rows say which columns there will be, and none of them is read.
    rows = found.rows_of(source) if found.groups else tbl
    several = [batches.GROUP] if len(found.groups) > 1 else []
    calls = [(step, *_call(step, policy, rows, several)) for step in policy.steps]
    return Planned(policy, catalog.source(function, rows), calls, nothing=not found.groups)


def plan(function: str, catalog: Catalog, planned: Planned, *, staged: bool) -> Plan:
    """The plan of the whole release; ``staged``, with the key, as the gate wants it."""
    faults = Faults(function, planned.source.label)
    parts: list[Part] = []
    attributes: list[Attribute] = []
    for _, mask, call in planned.calls:
        try:
            part, records = catalog.trip.captured(partial(mask.plan, catalog, call))
        except PpduckError as error:
            faults.add(str(error))
            continue
        assert isinstance(part, Plan), f"{mask.name} has no plan in stages"
        parts.append(Part(part))
        attributes += [
            attribute
            for each in records
            if isinstance(each, Design)
            for attribute in each.attributes
        ]
    faults.raise_if_any()
    values: dict[str, str] = {}
    for i, ((step, mask, _), own) in enumerate(zip(planned.calls, parts, strict=True)):
        by_name = {folded(column): made(i, column) for column in own.values}
        missing = [column for column in step.columns if folded(column) not in by_name]
        assert not missing, f"{mask.name} makes nothing of {missing}"
        values |= {folded(column): by_name[folded(column)] for column in step.columns}
    layout = planned.layout
    answer = [sql.column(name) for name in layout.key] if staged else []
    for column in layout.released:
        name = layout.staged_as(column) if staged else column
        if staged and name in layout.key:
            continue  # kept, and there already
        value = sql.column(values.get(folded(column), column))
        answer.append(sql.named(value, name))
    if attributes:
        shown = tuple(each.alias_or_name for each in answer)
        catalog.trip.record(Design(function, planned.source.sql, tuple(attributes), shown))
    whole = composed(planned.source, parts, answer)
    return replace(whole, answer=_none_of(whole.answer)) if planned.nothing else whole


def early_faults(catalog: Catalog, source: Source, policy: Policy) -> Iterator[str]:
    """What the masks refuse of a table's columns and of their arguments, told before a row is read.

    The masks are planned for a table of these columns that has no rows. Of columns that are not there, and of
    randomized ones whose levels or shares only the rows tell, there is nothing to be said.
    """
    empty = f"({sql.render(sql.query([exp.Star()], sql.source(source.sql), where=exp.false()))})"
    label = quoted(catalog.source("", empty).label)
    there = [step for step in policy.steps if all(map(source.find, _named(step)))]
    by_rows = set(_without_domain(there, source))
    for step in there:
        if by_rows.isdisjoint(step.columns) and not step.arguments.get("invariant"):
            mask, call = _call(step, policy, empty)
            try:
                catalog.trip.captured(partial(mask.plan, catalog, call))
            except PpduckError as error:
                yield str(error).replace(label, quoted(source.label))


def _named(step: Step) -> list[str]:
    read = [(each, step.arguments.get(each)) for each in ("key", *names.OF_COLUMNS, "per")]
    return [*step.columns, *names.columns_named(read)]


def _without_domain(steps: Iterable[Step], source: Source) -> list[str]:
    """Randomized columns whose levels only the rows tell."""
    return [
        name
        for step in steps
        if step.treatment is Treatment.RANDOMIZE
        for name in step.columns
        if name not in (step.arguments.get("levels") or ()) and not source.column(name).is_enum
    ]


def _none_of(answer: Stage) -> Stage:
    """The columns of an answer, and no row."""
    return Rows(
        answer.name,
        False,
        sql.query([exp.Star()], sql.derived(answer.tree, "_pp_all"), where=exp.false()),
    )


def _call(step: Step, policy: Policy, tbl: str, groups: Sequence[str] = ()) -> tuple[Function, Any]:
    mask = function_named(step.function)
    given = {"tbl": tbl, **step.arguments}
    if step.treatment is Treatment.MASK and groups:
        given["strata"] = [*given.get("strata", ()), *groups]
    if step.treatment is Treatment.MASK and "nonconf" not in given:
        # What does not leave the house tells nothing of who is alike.
        named = {folded(name) for name in (*step.columns, *policy.key, *given.get("strata", ()))}
        unused = policy.treated(Treatment.DROP, Treatment.PSEUDONYM)
        given["drop"] = [name for name in unused if folded(name) not in named]
    assert isinstance(mask.takes, type)
    return mask, call_of(mask.takes, given)
