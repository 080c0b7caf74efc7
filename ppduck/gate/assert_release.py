"""assert_release(): release_check() that raises, so that a script stops at a release which fails a rule.

What it returns when every rule is passed are the rows of ``release_check``. They are gathered into one list, and the
list is only taken apart again once all were judged: no LIMIT 1, EXISTS or count(*) around the call gets by the verdict.
"""

from __future__ import annotations

from typing import Any

from ppduck.call.registry import Function, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import quoted
from ppduck.gate import release_check
from ppduck.query import tree as sql

NAME = "assert_release"
REMEDY = (
    ". Mask more, drop columns, or give limits that you can answer for; FROM release_check(…) shows every rule and "
    "what it means."
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    statement = sql.Statement()
    statement.step("_pp_rules", release_check.checked(NAME, catalog, given), materialized=False)
    judged = (
        f"SELECT list({_row()}) AS _pp_found, count(*) AS _pp_asked, count(*) FILTER (passed) AS _pp_kept, "
        f"string_agg({_failure()}, '; ') FILTER (NOT passed) AS _pp_failed FROM _pp_rules"
    )
    statement.step("_pp_judged", judged, materialized=False)
    rows = f"CASE WHEN _pp_asked > 0 AND _pp_kept = _pp_asked THEN _pp_found ELSE error({_message(given)}) END"
    return statement.finish(f'SELECT unnest("_pp_rule") FROM (SELECT unnest({rows}) AS "_pp_rule" FROM _pp_judged)')


def _row() -> str:
    return "{" + ", ".join(f"'{name}': \"{name}\"" for name in release_check.COLUMNS) + "}"


def _failure() -> str:
    """A rule that failed, in words; its value is a figure of the whole table, and tells of nobody."""
    above = "concat(' is ', printf('%.10g', \"value\"), ', above its limit of ', printf('%.10g', at_most))"
    unknown = "concat(' could not be measured, limit ', printf('%.10g', at_most))"
    return f'concat("rule", CASE WHEN isfinite("value") THEN {above} ELSE {unknown} END)'


def _message(given: dict[str, Any]) -> str:
    before = f"{NAME} on {quoted(given['original'])}: {quoted(given['release'])} fails "
    told = ["_pp_asked - _pp_kept", "' of '", "_pp_asked", "' rules and must not be released: '"]
    ends = [sql.render(sql.text(text)) for text in (before, REMEDY)]
    return f"concat({', '.join([ends[0], *told, '_pp_failed', ends[1]])})"


FUNCTION = register(
    Function(
        NAME,
        release_check.FUNCTION.parameters,
        plan,
        "The release gate that raises: release_check's rows where all are passed, else an error that names the others.",
        "",
    )
)
