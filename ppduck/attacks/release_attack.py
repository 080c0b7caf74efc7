"""release_attack(): a release attacked as an intruder would, beside what is so without it.

What Opinion 05/2014 of the Article 29 Working Party asks of a release: whether people can be singled out, linked, or
their values inferred; and whether membership shows, reads can be averaged, sums differenced, or the order of rows
tells. Each attack is tried with the release, without what it adds (baseline), and with people who are not in it
(control), after Giomi, Boenisch, Wehmeyer & Tasnádi (2023): what succeeds with these too is true of anybody, and no
leak. Gain is success less the larger of both, with a 95 % range (Newcombe 1998).

People are drawn by the least hashes of their keys and sought among all records, which are read through in batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.attacks import _averaging, _differencing, _record_attacks, _search, _value_attacks
from ppduck.attacks._averaging import AVERAGING
from ppduck.attacks._columns import choose, control_source
from ppduck.attacks._control import ADMITTED, STRANGERS, admit
from ppduck.attacks._differencing import DIFFERENCING
from ppduck.attacks._figures import RESULTS
from ppduck.attacks._people import CONTROL_PEOPLE, AttackSpec, Sides, told_people
from ppduck.attacks._search import (
    ASKED,
    BOXED,
    BOXED_CONTROL,
    LINKABILITY,
    MEMBERSHIP,
    SEARCHED,
    SINGLING_OUT,
)
from ppduck.attacks._value_attacks import INFERENCE, ORDER
from ppduck.call import arguments
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.call.spec import Spec
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.pairs.columns import KEY, Compared, ReleaseCall
from ppduck.pairs.one_to_one import MATCH, MATCHED
from ppduck.query import tree as sql

NAME = "release_attack"
ATTACKS = (SINGLING_OUT, LINKABILITY, INFERENCE, MEMBERSHIP, AVERAGING, DIFFERENCING, ORDER)
SAMPLE, MOST_SAMPLE = 2_000, 20_000
_NAMED = ", ".join(f"'{attack}'" for attack in ATTACKS)


@arguments.reader(f"a list of attacks among {_NAMED}")
def _attacks(value: Any) -> list[str]:
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list | tuple) or not named or not set(named) <= set(ATTACKS):
        raise MisreadError
    return [attack for attack in ATTACKS if attack in named]


@parameters
class ReleaseAttackCall(ReleaseCall):
    """What the intruder is after, what is known, who is not in the release, and what is tried."""

    conf: Sequence[str] = parameter(
        arguments.columns, "the confidential columns, numbers or categories, which both tables have"
    )
    key: Sequence[str] = KEY
    known: Sequence[str] | None = parameter(
        arguments.columns,
        "what an intruder knows of a person; by default what both tables have beside conf and key, texts of many "
        "levels left out",
        None,
    )
    control: str | None = parameter(
        arguments.words,
        "a table, a view or a SELECT of people who are not in the release, with known and conf",
        None,
    )
    attacks: Sequence[str] | None = parameter(
        _attacks, f"which attacks to try: {_NAMED}; by default all", None
    )
    sample: int | None = parameter(
        arguments.whole(100, MOST_SAMPLE), f"how many people to attack; by default {SAMPLE}", None
    )


def plan(catalog: Catalog, call: ReleaseAttackCall) -> sql.Expr:
    columns = Compared(NAME, catalog, call)
    attacked = choose(columns, call.conf, call.known)
    columns.faults.raise_if_any()
    control = None
    if call.control is not None:
        control = control_source(NAME, catalog, columns, attacked, call.control)
        columns.faults.raise_if_any()
    sides = Sides(columns, attacked, control, call.sample or SAMPLE)
    asked = list(call.attacks or ATTACKS)
    statement, spec = sides.statement(), sides.spec(asked)
    admit(sides, statement)
    if {SINGLING_OUT, LINKABILITY, MEMBERSHIP} & set(asked):
        _search.search(sides, statement, spec)
    for attack in asked:
        statement.step(f"_pp_{attack}", _rows(sides, statement, spec, attack), materialized=True)
    every = [
        sql.query(
            [sql.named(sql.number(place), "_pp_place"), sql.star(f"_pp_{attack}")],
            sql.table(f"_pp_{attack}"),
        )
        for place, attack in enumerate(asked)
    ]
    own = [sql.column(result.name) for result in RESULTS]
    order = [sql.column("_pp_place"), sql.column("_pp_within")]
    return statement.query(
        sql.query(own, sql.derived(sql.union_all(every), "_pp_attacks"), order=order)
    )


def _rows(sides: Sides, statement: sql.Statement, spec: AttackSpec, attack: str) -> sql.Expr:
    """The SELECT of the rows of one attack; steps of its own go before it."""
    solved, own, told, rows = _asked(sides, statement, spec, attack)
    told = {**told, "pairs": sql.column(MATCHED)}
    listed = sql.named(solved.in_sql(own, told), "_pp_list")
    made = sql.derived(sql.query([listed], rows.cross(sql.table(ADMITTED))), "_pp_solved")
    size = sql.call("len", sql.column("_pp_list"))
    each = {
        "_pp_row": sql.call("unnest", sql.column("_pp_list")),
        "_pp_within": sql.call("unnest", sql.call("range", size)),
    }
    unnested = sql.derived(sql.query(sql.columns(each), made), "_pp_rows")
    parts = {result.name: sql.part(sql.column("_pp_row"), result.name) for result in RESULTS}
    return sql.query([sql.column("_pp_within"), *sql.columns(parts)], unnested)


def _asked(
    sides: Sides, statement: sql.Statement, spec: AttackSpec, attack: str
) -> tuple[Udf, Spec, Mapping[str, sql.Expr], sql.Rows]:
    """What is called, with what specification, what it is told, and where that stands."""
    if attack in (INFERENCE, ORDER):
        told, rows = told_people()
        by = _value_attacks.SOLVE_INFERENCE if attack == INFERENCE else _value_attacks.SOLVE_ORDER
        return by, spec, told, rows
    if attack == DIFFERENCING:
        _differencing.difference(sides, statement)
        own = _differencing.difference_spec(sides, spec)
        return (
            _differencing.SOLVE,
            own,
            {"sums": sql.column("_pp_sums")},
            sql.table(_differencing.STEP),
        )
    if attack == AVERAGING:
        fields = ("names", "r2_one", "r2_mean", "changed", "rows")
        if not _averaging.can_average(sides):
            return (
                _averaging.SOLVE,
                spec,
                {field: sql.null() for field in fields},
                sql.table(CONTROL_PEOPLE),
            )
        _averaging.average(sides, statement)
        told = {field: sql.column(f"_pp_{field}") for field in fields}
        return _averaging.SOLVE, spec, told, sql.table(_averaging.STEP)
    told, rows = {"token": sql.column("_pp_token")}, sql.table(ASKED)
    if attack == SINGLING_OUT:
        for field, step in (("found", BOXED), ("control", BOXED_CONTROL)):
            told[field] = sql.null()
            if statement.has(step):
                told[field], rows = sql.column(f"{step}_told"), rows.cross(sql.table(step))
        return _record_attacks.SOLVE_SINGLING_OUT, spec, told, rows
    told["found"] = sql.null()
    if statement.has(SEARCHED):
        told["found"], rows = sql.column(f"{SEARCHED}_told"), rows.cross(sql.table(SEARCHED))
    by = (
        _record_attacks.SOLVE_LINKABILITY
        if attack == LINKABILITY
        else _record_attacks.SOLVE_MEMBERSHIP
    )
    return by, spec, told, rows


FUNCTION = register(
    Function(
        NAME,
        ReleaseAttackCall,
        plan,
        "A release attacked as an intruder would, each attack beside a baseline and a control.",
        "Opinion 05/2014 of the Article 29 Working Party; Giomi, Boenisch, Wehmeyer & Tasnádi 2023; Newcombe 1998",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM release_attack('customers', 'released', conf=['x1'], key='id', attacks=['singling_out','order'])",
        udfs=(
            *_search.UDFS,
            *_record_attacks.UDFS,
            *_value_attacks.UDFS,
            _differencing.SOLVE,
            _averaging.SOLVE,
            MATCH,
            STRANGERS,
        ),
    )
)
