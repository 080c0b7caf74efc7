"""assert_release(): release_check() that raises, so that a script stops at a release which fails a rule.

What it returns when every rule is passed are the rows of ``release_check``. They are gathered into one list, and the
list is only taken apart again once all were judged: no LIMIT 1, EXISTS or count(*) around the call gets by the verdict.
"""

from __future__ import annotations

from ppduck.call.registry import Function, Kind, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.gate import release_check
from ppduck.gate.release_check import RESULTS, ReleaseCheckCall
from ppduck.query import aggregates
from ppduck.query import tree as sql

NAME = "assert_release"
REMEDY = (
    ". Mask more, drop columns, or give limits that you can answer for; FROM release_check(…) shows every rule and "
    "what to do."
)


def plan(catalog: Catalog, call: ReleaseCheckCall) -> sql.Expr:
    statement = sql.Statement()
    statement.step("_pp_found", release_check.checked(NAME, catalog, call), materialized=False)
    asked = sql.present([sql.column("passed")])
    assert asked is not None
    passed, failed = sql.column("passed"), sql.column("passed").not_()
    judged = {
        "_pp_list": sql.call(
            "list", sql.struct({result.name: sql.column(result.name) for result in RESULTS})
        ),
        "_pp_asked": sql.only(aggregates.rows(), asked),
        "_pp_kept": sql.only(aggregates.rows(), passed),
        "_pp_failed": sql.only(sql.call("string_agg", _failure(), sql.text("; ")), failed),
    }
    statement.step(
        "_pp_judged", sql.query(sql.columns(judged), sql.table("_pp_found")), materialized=False
    )
    asked, kept = sql.column("_pp_asked"), sql.column("_pp_kept")
    all_kept = (asked > sql.number(0)) & kept.eq(asked)
    rows = sql.cases(
        (all_kept, sql.column("_pp_list")), otherwise=sql.call("error", _message(call))
    )
    each = sql.query([sql.named(sql.call("unnest", rows), "_pp_rule")], sql.table("_pp_judged"))
    own = [
        sql.named(sql.part(sql.column("_pp_rule"), result.name), result.name) for result in RESULTS
    ]
    return statement.query(sql.query(own, sql.derived(each, "_pp_rules")))


def _failure() -> sql.Expr:
    """A rule that failed, in words; its value is a figure of the whole table, and tells of nobody."""
    value, most = map(_shown, ("value", "at_most"))
    above = sql.call("concat", sql.text(" is "), value, sql.text(", above its limit of "), most)
    unknown = sql.call("concat", sql.text(" could not be measured, limit "), most.copy())
    known = sql.call("isfinite", sql.column("value"))
    asked_of = sql.present([sql.column("column_name")])
    assert asked_of is not None
    of = sql.call("concat", sql.text(" of "), sql.column("column_name"))
    named = sql.cases((asked_of, of), otherwise=sql.text(""))
    return sql.call(
        "concat", sql.column("rule"), named, sql.cases((known, above), otherwise=unknown)
    )


def _shown(name: str) -> sql.Expr:
    number = sql.column(name)
    finite = sql.call("isfinite", number)
    shown = sql.call("printf", sql.text("%.10g"), number.copy())
    return sql.cases((finite, shown), otherwise=sql.text("none"))


def _message(call: ReleaseCheckCall) -> sql.Expr:
    asked, kept = sql.column("_pp_asked"), sql.column("_pp_kept")
    return sql.call(
        "concat",
        sql.text(f"{NAME} on {quoted(call.original)}: {quoted(call.release)} fails "),
        asked - kept,
        sql.text(" of "),
        asked,
        sql.text(" rules and must not be released: "),
        sql.column("_pp_failed"),
        sql.text(REMEDY),
    )


FUNCTION = register(
    Function(
        NAME,
        ReleaseCheckCall,
        plan,
        "The release gate that raises: release_check's rows where all are passed, else an error that names the others.",
        "",
        kind=Kind.CHECK,
        results=RESULTS,
        example="FROM assert_release('customers', 'released', conf=['x1','x2'], nonconf=['s1','s2'], key='id')",
        udfs=release_check.FUNCTION.udfs,
    )
)
