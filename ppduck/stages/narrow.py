"""The frame of masks that sort, or that read more than the table's own columns.

Only what the mask works on goes through its sorts: a narrow table with the number of each row, by
which the masked values find the rest of their row again at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from ppduck.call.linear_mask import LinearMask
from ppduck.call.roles import Roles
from ppduck.query import aggregates, ranks
from ppduck.query import tree as sql
from ppduck.stages.frame import Frame
from ppduck.stages.row_numbers import Numbered

MASKED = "_pp_y"
LARGEST_KEY = 2.0**64 * (1 - 2.0**-53)


class NarrowFrame(Numbered, Frame):
    """Writes the statement of one call, as a narrow table beside the source."""

    sample_size = 200_000  # rows of a group that Python may look at one by one

    def __init__(self, mask: LinearMask, roles: Roles, given: dict[str, Any], *, keep_noise: bool = True) -> None:
        super().__init__(mask, roles, given, keep_noise=keep_noise)
        self.rows = "_pp_narrow"
        self.masked = [f"{MASKED}{j}" for j in range(self.q)]

    def statement(self) -> str:
        return self.masking().finish(self._joined_back())

    def masking(self) -> sql.Statement:
        """All steps up to the masked values."""
        statement = self.solving()
        statement.step("_pp_masked", self._masked(), materialized=True)
        return statement

    def solving(self) -> sql.Statement:
        """All steps up to the form's coefficients."""
        statement = sql.Statement()
        # A row's number must be the same whenever the statement reads it.
        statement.step("_pp_source", self._source(), materialized=not self.roles.source.has_rowid)
        statement.step("_pp_first", self._first_look(), materialized=True)
        self._prepare(statement)
        statement.step("_pp_noisy", self._noisy(), materialized=True)
        self._solve(statement)
        return statement

    def _prepare(self, statement: sql.Statement) -> None:
        """Steps that make the narrow table ``self.rows``."""
        raise NotImplementedError

    def _own_columns(self) -> list[str]:
        """The user's columns that the narrow table keeps."""
        roles = self.roles
        return list(dict.fromkeys([*roles.strata, *roles.nonconf, *(column.name for column in roles.conf)]))

    def _masked(self) -> str:
        """The form's values; NULL where the confidential value is."""
        columns: list[sql.Expr] = [
            sql.column(ranks.ROW),
            sql.column("_pp_key"),
            *map(sql.column, self.roles.strata),
        ]
        for j, (column, output) in enumerate(zip(self.roles.conf, self._outputs(), strict=False)):
            value = sql.column(column.name)
            present = exp.Case().when(value.is_(exp.null()).not_(), output)
            columns += [sql.named(present, self.masked[j]), sql.named(value.copy(), f"_pp_x{j}")]
        return sql.select([*columns, *self._beside()], f"({self._measured()})")

    def _beside(self) -> list[sql.Expr]:
        """What else the last steps read of each row."""
        return []

    def _centres(self) -> list[sql.Expr]:
        """Beside the centres, the largest key that a row of the sample has."""
        rows = sql.call("greatest", sql.number(self.sample_size), aggregates.rows())
        part = exp.Div(this=sql.number(float(self.sample_size)), expression=rows)
        most = exp.Mul(this=part, expression=sql.number(LARGEST_KEY))
        return [*super()._centres(), sql.named(sql.cast(most, "UBIGINT"), "_pp_most")]


def sample(values: Sequence[sql.Expr]) -> sql.Expr:
    """Rows one after the other, in an order that tells nothing and is always the same."""
    row = sql.render(sql.array((sql.double(value.copy()) for value in values), "DOUBLE"))
    return sql.raw(f'flatten(list({row} ORDER BY "_pp_key"))')


def in_sample() -> sql.Expr:
    """Whether a row is one of about ``sample_size``, the same ones at every reading."""
    return exp.LTE(this=sql.column("_pp_key"), expression=sql.column("_pp_most", "_pp_first"))
