"""What the macros ask of a model that a policy makes: its statement, what the gate finds, and its manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp, parse_one

from ppduck.dbt.policies import Release, where
from ppduck.dbt.project import Project, name_of, release_of
from ppduck.dbt.requests import CommentRequest, ReleaseGiven, ReleaseRequest, TableRequest
from ppduck.dbt.rules import literal
from ppduck.dbt.statements import as_table, failed_rules, in_from, refuse_source, written
from ppduck.errors import Faults, listed, quoted
from ppduck.policy import gate, release_manifest, release_table
from ppduck.policy.gate import Layout
from ppduck.policy.model import Treatment
from ppduck.query import tree as sql
from ppduck.query.whole_names import theirs
from ppduck.values import folded

# What the test takes of a model that has a policy; what else it could be told, the policy says.
_OF_THE_TEST = ("original", "limits")
_NEAR = "1e-9"  # of the largest number of a column
_RULE = "policy"  # that the model is what its policy makes


def table(request: TableRequest) -> dict[str, Any]:
    """The statement of a model that is a release. Of an incremental one, also its batch column, and its gate.

    A batch is judged before it is added: afterwards nobody can tell what was released together.
    """
    node, source = request.node, request.source
    refuse_source(Faults(where(name_of(node))), node, source)
    own = release_of(node)
    names = source.columns or list(own.policy.columns)
    if source.columns:
        own.check_columns(source.name, source.columns)
    more: dict[str, Any] = {}
    if request.newest is not None:
        _refuse_other_policy(own, request.comment)
        more["after"] = request.newest
    layout, tbl = Layout.of(own.policy, names), as_table(source.table)
    found: dict[str, Any] = {
        "sql": _as_written(own, tbl, more),
        "empty": sql.render(sql.query([*map(sql.column, layout.released)])),
        "batch": own.policy.batch if own.incremental else None,
    }
    if own.incremental:
        count = sql.query([sql.call("count_star")], _called(release_table.NAME, own, tbl, **more))
        rows = failed_rules(*_asked(own, layout, tbl, own.policy.limits, **more))
        found |= {"rows": written(count), "gate": written(rows)}
    return found


def _refuse_other_policy(own: Release, comment: str | None) -> None:
    """A table takes batches of the policy that it was made by, and no others."""
    try:
        told = json.loads(comment or "{}")
    except ValueError:
        told = {}
    if not isinstance(told, dict) or told.get("policy") != own.policy.digest:
        raise Faults(where(own.model)).refuse(
            "the table that is there does not say that it was made by this policy, so that no batch can be added. Give "
            'the model post_hook: "{{ ppduck_comment() }}", which writes it down, and run it with --full-refresh '
            "once, and whenever the policy is another."
        )


def check(request: ReleaseRequest) -> dict[str, Any]:
    """The statement whose rows are the rules of the gate that a policy's release fails.

    The released table has no key that the gate could match by. So it is asked of the release with its key, which the
    same secret makes again, and the model must have the rows of that release and no others.
    """
    own, given = release_of(request.node), request.given
    faults = Faults(_test_of(own))
    if own.incremental:
        raise faults.refuse(
            "the model is incremental, and each batch is judged before it is added; take out the test."
        )
    _refuse_told_twice(faults, given)
    original = given.original or Project(request.made_of).only_source(request.node)
    if not original:
        faults.add(
            "parameter 'original' is missing: the table that is released, such as ref('stg_customers')."
        )
    faults.raise_if_any()
    assert original
    source, masked = as_table(original), as_table(request.masked)
    layout = Layout.of(own.policy, request.original_columns or list(own.policy.columns))
    limits = {**own.policy.limits, **(given.limits or {})}
    rows = [failed_rules(*_asked(own, layout, source, limits))]
    if request.columns is not None:
        rows += _departures(own, source, masked, layout.released, request.columns)
    return {
        "sql": written(sql.union_all(rows)),
        "release": in_from(masked),
        "original": in_from(source),
    }


def comment(request: CommentRequest) -> dict[str, Any]:
    """The statement whose one value is the manifest of a model's release."""
    own = release_of(request.node)
    original = Project(request.made_of).only_source(request.node)
    if not original:
        raise Faults(where(own.model)).refuse(
            "ppduck_comment cannot tell what the model releases, as it is made of several relations."
        )
    rows = _called(release_manifest.NAME, own, as_table(original))
    whole = sql.column("role").eq(sql.text(release_manifest.WHOLE))
    return {"sql": written(sql.query([sql.column("note")], rows, where=whole))}


def _test_of(own: Release) -> str:
    return f"ppduck_release on {quoted(own.model)}"


def _asked(
    own: Release, layout: Layout, source: str, limits: Mapping[str, Any], **more: Any
) -> tuple[tuple[str, str], dict[str, Any]]:
    """What the gate is asked: original and release, which has its key, and which part each column plays."""
    given = gate.arguments(_test_of(own), layout)
    given["limits"] = {**given["limits"], **limits}
    made = _called(release_table.NAME, own, source, staged=True, **more)
    staged = f"({written(sql.query([exp.Star()], made))})"
    rows = source if own.policy.batch is None else _same_rows(source, staged, layout.key)
    return (rows, staged), {name: value for name, value in given.items() if value is not None}


def _same_rows(source: str, staged: str, key: Sequence[str]) -> str:
    """The original rows of the batches that are released; others wait, or were released before."""
    keys = sql.source(staged, "released")
    join = exp.Join(this=keys.first, kind="SEMI", using=[*map(sql.name, key)])
    every = sql.source(in_from(source), "every")
    return f"({sql.render(sql.query([exp.Star()], sql.Rows(every.first, [join])))})"


def _as_written(own: Release, source: str, more: Mapping[str, Any]) -> str:
    """The call as a user would write it: dbt shows it as the model's SQL."""
    told = "".join(f", {name} := {literal(value)}" for name, value in more.items())
    return f"select * from {release_table.NAME}({literal(source)}, policy := {literal(own.text)}{told})"


def _called(function: str, own: Release, source: str, **more: Any) -> sql.Rows:
    given = {"policy": own.text, **more}
    named = (sql.argument(name, theirs(literal(value))) for name, value in given.items())
    return sql.rows_of(function, sql.text(source), *named)


def _refuse_told_twice(faults: Faults, given: ReleaseGiven) -> None:
    named = [name for name in vars(given) if name not in _OF_THE_TEST]
    named = [name for name in named if getattr(given, name) is not None]
    if named:
        faults.add(
            f"the model has a policy, which says what the gate is asked; take out {listed(named)}. Beside it the test "
            f"takes {listed(_OF_THE_TEST)}."
        )


def _departures(
    own: Release, source: str, masked: str, released: Sequence[str], columns: Sequence[str]
) -> list[sql.Expr]:
    """Rows that tell where a model is not what its policy makes: columns of its own, and rows that differ."""
    known = {folded(name) for name in released}
    found = [
        _failed(sql.text(name), sql.number(1), "is none of the columns that the policy releases")
        for name in columns
        if folded(name) not in known
    ]
    shared = [name for name in columns if folded(name) in known]
    if not shared:
        return found
    tables = sql.source(in_from(masked)), _called(release_table.NAME, own, source)
    one, other = (sql.query([*map(sql.column, shared)], each) for each in tables)
    drawn = {folded(name) for name in own.policy.treated(Treatment.MASK)}
    masked_too = [name for name in shared if folded(name) in drawn]
    exact = [name for name in shared if folded(name) not in drawn]
    counts = [_differing(*(_only(each, exact) for each in (one, other)))] if exact else []
    counts += [_moved(one, other, exact, masked_too)] if masked_too else []
    # Rows that are not there at all are told as such; numbers are compared where all rows are there.
    first = sql.named(
        sql.call("coalesce", *(_unless_0(each) for each in counts), sql.number(0)), "differing"
    )
    count = sql.query([first])
    why = (
        "rows that the model has and its policy does not make of the source as it is now, or the other way round: the "
        "gate judges what the policy makes; build the model again, and let its SQL be the call alone"
    )
    value = sql.column("differing")
    rows = sql.derived(count, "counted")
    found.append(_failed(sql.null(), value, why, rows, value.copy() > sql.number(0)))
    return found


def _only(rows: sql.Expr, names: Sequence[str]) -> sql.Expr:
    return sql.query([*map(sql.column, names)], sql.derived(rows.copy(), "every"))


def _unless_0(count: sql.Expr) -> sql.Expr:
    return sql.call("nullif", sql.scalar(count), sql.number(0))


def _differing(one: sql.Expr, other: sql.Expr) -> sql.Expr:
    """How many rows of either the other has not."""
    both = sql.union_all([_beyond(one, other), _beyond(other, one)])
    return sql.query([sql.call("count_star")], sql.derived(both, "both"))


def _moved(one: sql.Expr, other: sql.Expr, exact: Sequence[str], masked: Sequence[str]) -> sql.Expr:
    """How many masked numbers, or their sums by row, are not as they were made, beyond the last digits of a double.

    Sums of many rows come out with other last digits on other threads, and so do all masked numbers. So each side is
    sorted, by what is exact and then by the number, and compared place by place.
    """
    own = [f"CAST({quoted(name)} AS DOUBLE)" for name in masked]
    own += [" + ".join(own)] if len(own) > 1 else []
    names = ", ".join(map(quoted, exact))
    values = ", ".join(
        [*map(quoted, exact), *(f"{each} AS _pp_v{i}" for i, each in enumerate(own))]
    )
    by = f"{names}, " if exact else ""
    places = ", ".join(
        f"_pp_v{i}, row_number() OVER (ORDER BY {by}_pp_v{i}) AS _pp_p{i}" for i in range(len(own))
    )
    every = ", ".join(f"{{'c': {i}, 'place': _pp_p{i}, 'v': _pp_v{i}}}" for i in range(len(own)))
    side = (
        f"(SELECT e.c AS c, e.place AS place, e.v AS v FROM (SELECT unnest([{every}]) AS e FROM (SELECT {places} FROM "
        f"(SELECT {values} FROM _side) AS valued) AS placed) AS unnested)"
    )
    model, made = side.replace("_side", "_model"), side.replace("_side", "_made")
    asked = f"""
        SELECT count(*) FROM (
            SELECT a.v AS one, b.v AS other,
                   max(greatest(abs(a.v), abs(b.v))) OVER (PARTITION BY coalesce(a.c, b.c)) AS largest
            FROM {model} AS a FULL JOIN {made} AS b ON a.c = b.c AND a.place = b.place
        ) AS pairs
        WHERE one IS DISTINCT FROM other AND NOT coalesce(abs(one - other) <= {_NEAR} * largest, FALSE)"""
    tree = parse_one(asked, dialect="duckdb")
    sides = {"_model": one, "_made": other}
    for each in list(tree.find_all(exp.Table)):
        if each.name in sides:
            each.replace(sql.derived(sides[each.name].copy(), "every").first)
    return tree


def _beyond(one: sql.Expr, other: sql.Expr) -> sql.Expr:
    """The rows of one that the other has not, or not as often."""
    rest = exp.Except(this=one.copy(), expression=other.copy(), distinct=False)
    return sql.query([exp.Star()], sql.derived(rest, "rest"))


def _failed(
    column: sql.Expr,
    value: sql.Expr,
    why: str,
    rows: sql.Rows | None = None,
    when: sql.Expr | None = None,
) -> sql.Expr:
    told = [sql.text(_RULE), column, sql.double(sql.number(0)), sql.double(value), sql.text(why)]
    return sql.query(told, rows, where=when)
