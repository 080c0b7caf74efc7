"""The last stage: masked values in the place of the originals, row by row or joined back by the rows' numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import tree as sql
from ppduck.stages import rounding
from ppduck.stages.masking import KEY, ROW, SOURCE, Masking
from ppduck.stages.moments import Measured
from ppduck.stages.noise import NOISY, noise_names
from ppduck.stages.plan import Rows, Sorted
from ppduck.stages.solve import FORM, coefficients, outputs

ANSWER = "_pp_answer"


def measured_rows(measured: Measured, count: int) -> sql.Expr:
    """Every row beside all that its masked values are made of."""
    masking, terms = measured.masking, measured.terms
    names = [*terms.centres[terms.p :], *coefficients(masking.mask, terms, count)]
    form = [sql.column(name, FORM) for name in names]
    tables = sql.table(NOISY).matched(sql.table(FORM), masking.to_rows(NOISY, FORM))
    return sql.query([sql.star(NOISY), *measured.deviations(FORM), *form], tables)


def projection(measured: Measured) -> Rows:
    """The user's rows, in which the form stands for each confidential value; NULL stays NULL."""
    masking, terms = measured.masking, measured.terms
    replace: dict[str, sql.Expr] = {}
    for column, output in zip(masking.roles.conf, outputs(measured, masking.q), strict=True):
        masked = rounding.rounded(output, column) if masking.call.round else output
        replace[column.name] = sql.cases((sql.column(column.name).is_(exp.null()).not_(), masked))
    added = [KEY, *noise_names(masking), *terms.deviations, *terms.centres[terms.p :]]
    added += coefficients(masking.mask, terms, masking.q)
    columns = sql.star("_pp_masked", [*added, *masking.roles.drop], replace)
    rows = sql.derived(measured_rows(measured, masking.q), "_pp_masked")
    return Rows(ANSWER, False, sql.query([columns], rows))


def joined_back(masking: Masking, results: Sequence[tuple[sql.Expr | str, str]]) -> Sorted:
    """The user's rows, each with the values that were made of it elsewhere, by the numbers of rows.

    For each conf column a stage, or a SELECT, that has the number of every row, and the column that is released.
    """
    tables, replace = sql.table(SOURCE), {}
    for j, (column, (made, value)) in enumerate(zip(masking.roles.conf, results, strict=True)):
        alias = f"_pp_result{j}"
        rows = sql.named_table(made, alias) if isinstance(made, str) else sql.derived(made, alias)
        same = exp.EQ(this=sql.column(ROW, alias), expression=sql.column(ROW, SOURCE))
        tables = tables.join(rows, same)
        released = sql.column(value, alias)
        rounds = masking.call.round and not masking.permutes
        replace[column.name] = rounding.rounded(released, column) if rounds else released
    columns = sql.star(SOURCE, [KEY, ROW, *masking.roles.drop], replace)
    # Joins may leave rows in the order of a sort, and that of a confidential column would tell its ranks.
    return Sorted(ANSWER, False, sql.query([columns], tables, order=[sql.column(ROW, SOURCE)]))
