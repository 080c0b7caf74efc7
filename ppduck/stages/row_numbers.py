"""Masked values that come back by the number of their row: for masks that sort, or that see all rows at once."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.stages import rounding
from ppduck.stages.look import Look


class Numbered(Look):
    """Numbers the rows of the source, and joins to each what was made of it."""

    def _results(self) -> list[tuple[str, sql.Expr]]:
        """For each conf column a FROM item with the number of every row, and the column of it that is released."""
        raise NotImplementedError

    def _source(self, more: Sequence[sql.Expr] = ()) -> str:
        number = sql.column("rowid") if self.roles.source.has_rowid else sql.raw("row_number() OVER ()")
        return super()._source([*more, sql.named(number, ranks.ROW)])

    def _joined_back(self) -> str:
        """The user's rows with their masked values."""
        tables, replace = ['"_pp_source"'], {}
        for j, (column, (table, value)) in enumerate(zip(self.roles.conf, self._results(), strict=True)):
            alias = f"_pp_r{j}"
            on = exp.EQ(this=sql.column(ranks.ROW, alias), expression=sql.column(ranks.ROW, "_pp_source"))
            tables.append(f'JOIN {table} AS "{alias}" ON {sql.render(on)}')
            released = exp.column(value.name, table=alias, quoted=True)
            rounds = self.given.get("round") and not self.mask.permutes(self.given)
            replace[column.name] = rounding.rounded(released, column) if rounds else released
        columns = sql.star("_pp_source", ["_pp_key", ranks.ROW, *self.roles.drop], replace)
        # Joins may leave rows in the order of a sort, and that of a confidential column would tell its ranks.
        return f'{sql.select([columns], " ".join(tables))} ORDER BY "_pp_source"."{ranks.ROW}"'
