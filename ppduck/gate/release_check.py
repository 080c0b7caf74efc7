"""release_check(): one verdict on a release, rule by rule and column by column: what is measured, its limit, whether it
is kept, and why.

A release is a whole table. Every column of it is accounted for: masked (conf), kept (keep, nonconf, or equal to the
original's of the same name), replaced (pseudonyms), dropped or new; what is new or changed and nobody declared is a
failed rule. Kept columns are looked at for identifiers and groups of few rows, and all of them, the key and the order
of the rows for what they tell of conf, or of what they were (``_accounts``, ``_look``); pseudonyms have rules of their
own (``_pseudonyms``). The masked columns are held to figures of other functions (``rules``), categories and columns
that are hidden in groups to rules of their own (``_agreement``, ``_groups``). All are one statement and see the same
data. A rule is passed where its value is at most its limit, but for rounding (1e-9); NULL or NaN is not.

Limits that a call names amend the defaults. NULL switches a rule off, which a row tells; what accounts for columns, and
what refuses a column that was not masked at all, cannot be switched off. Default limits and their reasons:
examples/gate.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import MisreadError, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import LEVELS, MATRIX, Matrix, P, Probability
from ppduck.gate import (
    _agreement,
    _groups,
    _leverage,
    _look,
    _measured,
    _pseudonyms,
    _quasi,
)
from ppduck.gate import limits as limits_of_rules
from ppduck.gate._parts import Parts
from ppduck.gate.rules import OF_ANY, OF_SHARES, RULES
from ppduck.kernels.prediction import ROUNDING
from ppduck.pairs.columns import KEY, NONCONF, ReleaseCall
from ppduck.pairs.one_to_one import MATCH
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql

NAME = "release_check"
RESULTS = (
    Result("rule", "VARCHAR", "the rule"),
    Result("column_name", "VARCHAR", "the column that it is of; NULL where it is of the table"),
    Result(
        "passed",
        "BOOLEAN",
        "whether its value is at most its limit; false where there is no value, NULL where it was not asked",
    ),
    Result("value", "DOUBLE", "the figure"),
    Result(
        "at_most",
        "DOUBLE",
        "the limit: what is given, what is the rule's own, or what chance allows",
    ),
    Result("why", "VARCHAR", "the figure in words, and what to do where it fails"),
)


@arguments.reader(
    f"rules with their limits, such as {{'linkage': 0.05, 'r2_gain': 0.01}}: {OF_SHARES.takes}, but for "
    f"{', '.join([*(name for name, rule in RULES.items() if rule.limits is OF_ANY), _pseudonyms.ONE_TO_ONE])}: "
    f"{OF_ANY.takes}"
)
def _given_limits(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise MisreadError
    return {str(name): limit for name, limit in value.items()}


@parameters
class ReleaseCheckCall(ReleaseCall):
    """Which columns were masked, what else is released and known, and which rules are asked."""

    conf: Sequence[str] = parameter(
        arguments.columns, "the confidential columns, numbers or categories, masked or dropped"
    )
    key: Sequence[str] = KEY
    nonconf: Sequence[str] | None = NONCONF
    limits: dict[str, Any] | None = parameter(
        _given_limits,
        "rules and the largest values they allow, which amend the defaults: "
        f"{', '.join(limits_of_rules.NAMES)}; of unchanged, "
        "near and tail a share of rows beyond chance, of k the fewest rows of a group; NULL switches a rule off, and "
        "'chance' allows what chance makes, where a rule knows that",
        None,
    )
    keep: Sequence[str] = parameter(
        arguments.columns, "columns of the release that may leave the house as they are", ()
    )
    qi: Sequence[str] | None = parameter(
        arguments.columns,
        "quasi-identifiers, which an intruder may know of a person; groups that share them are judged where they are "
        "named",
        None,
    )
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    pseudonyms: _pseudonyms.Named = parameter(
        arguments.replaced_columns,
        "columns of the release that have pseudonyms in place of values; {'token': 'customer_id'} of one that has "
        "another name than what it stands for, such as that of a key which is dropped later",
        (),
    )


def plan(catalog: Catalog, call: ReleaseCheckCall) -> sql.Expr:
    return checked(NAME, catalog, call)


def checked(name: str, catalog: Catalog, call: ReleaseCheckCall) -> sql.Expr:
    """A SELECT of the rules, for a function of this name."""
    parts = Parts.of(name, catalog, call)
    limits = limits_of_rules.read(parts.columns.faults, call.limits or {}, parts)
    parts.columns.faults.raise_if_any()
    statement = sql.Statement()
    pairs = Pairs(parts.columns)
    pairs.share(statement)
    _look.profile(statement, parts.others)
    _pseudonyms.count(statement, parts.pseudonyms)
    rows = [
        _look.row(pairs, parts, limits),
        _leverage.row(statement, parts, limits),
        _quasi.row(parts, limits),
        *_measured.rows(statement, parts, limits, call),
        *_agreement.rows(parts, limits),
        *_groups.rows(parts.hidden, limits),
        limits_of_rules.not_asked(limits),
    ]
    return _judged(statement, [row for row in rows if row is not None])


def _judged(statement: sql.Statement, rows: list[sql.Expr]) -> sql.Expr:
    """What fails comes first."""
    value, most = sql.column("value"), sql.column("at_most") + sql.number(ROUNDING)
    kept = sql.call("coalesce", value <= most, exp.false())
    passed = sql.cases((sql.column("_pp_asked"), kept))
    columns = {
        result.name: passed if result.name == "passed" else sql.column(result.name)
        for result in RESULTS
    }
    every = sql.derived(sql.union_all(rows), "_pp_rules")
    failed = sql.call("coalesce", sql.column("passed"), exp.true())
    own = [*sql.columns(columns), sql.column("_pp_place")]
    judged = sql.derived(sql.query(own, every), "_pp_judged")
    return statement.query(
        sql.query(
            [sql.column(result.name) for result in RESULTS],
            judged,
            order=[failed, sql.column("_pp_place"), sql.column("column_name")],
        )
    )


FUNCTION = register(
    Function(
        NAME,
        ReleaseCheckCall,
        plan,
        "The release gate: every rule of every column, its value, its limit, and whether it is passed; one statement.",
        "",
        kind=Kind.CHECK,
        results=RESULTS,
        example="FROM release_check('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=(MATCH, _look.JUDGE, _leverage.LEVERS, _leverage.JUDGE, _agreement.JUDGE),
    )
)
