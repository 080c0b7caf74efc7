"""suggest_policy(): a proposal for the policy of a table, line by line, each with its reason; nothing is applied.

It goes by the names and types of the columns, in English and German, and by what one statement counts of about 10,000
rows: how many values there are and are missing, and how many texts look like addresses, phone numbers, dates, cards,
names. Of a table these rows are from everywhere, by a hash of their number; of a view, a file, or a very large table
they are the first ones. The answer tells counts, shares and names of columns, and no value.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, Result, register
from ppduck.call.roles import refuse_reserved, resolve_columns
from ppduck.call.udf import rows_type, told_udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, quoted
from ppduck.policy import _suggestion_look as look
from ppduck.policy._suggestions import solve
from ppduck.query import tree as sql

NAME = "suggest_policy"
RESULTS = (
    Result("column_name", "VARCHAR", "a column of the table; NULL for a line that holds of all"),
    Result(
        "treatment",
        "VARCHAR",
        "what may become of it, as a policy says it; of all, what stands at its top; NULL where nothing is proposed",
    ),
    Result("reason", "VARCHAR", "by which name, form or count; never a value"),
)


@parameters
class SuggestCall(Call):
    tbl: str = TABLE
    key: Sequence[str] = parameter(
        arguments.columns,
        "the columns that identify a row; by default one that is unique and looks like a key",
        (),
    )


def plan(catalog: Catalog, call: SuggestCall) -> sql.Expr:
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        remedy = "a policy cannot be proposed; make it a table, or commit first."
        raise faults.refuse(catalog.unseen(source, remedy))
    refuse_reserved(faults, source)
    key = resolve_columns(faults, source, "key", call.key)
    for column in key:
        if not look.is_single(column):
            faults.add(
                f"key names column {quoted(column.name)} of type {column.type}, which has no pseudonym; name a number "
                "or a text."
            )
    faults.raise_if_any()
    rows = catalog.size_of(source)
    statement, first = look.looked(source, source.columns, rows)
    spec = look.SuggestionSpec(
        NAME,
        source.label,
        [look.Asked(column.name, column.type) for column in source.columns],
        [column.name for column in key],
        rows,
        first,
    )
    told = {name: sql.column(name) for name in look.FIELDS}
    lines = sql.call("unnest", UDF.in_sql(spec, told))
    every = sql.query([sql.named(lines, "_pp_line")], sql.table(look.LOOKED))
    shown = [sql.named(sql.part(sql.column("_pp_line"), each.name), each.name) for each in RESULTS]
    return statement.query(sql.query(shown, sql.derived(every, "_pp_lines")))


UDF = told_udf("ppduck_suggest_policy", solve, look.SuggestionSpec, look.Looked, rows_type(RESULTS))
FUNCTION = register(
    Function(
        NAME,
        SuggestCall,
        plan,
        "A proposal for a policy: what may become of each column, by name, type and a look at some rows, with reasons.",
        "",
        kind=Kind.MEASURE,
        results=RESULTS,
        example="FROM suggest_policy('customers')",
        udfs=(look.CHECK_DIGITS, UDF),
    )
)
