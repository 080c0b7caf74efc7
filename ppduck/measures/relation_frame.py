"""What the functions that look before a release share: a frame that trains the model of nm_egadp_mask, and asks it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ppduck.call.numeric_mask import COMMON
from ppduck.call.roles import assign
from ppduck.catalogue.tables import Catalog
from ppduck.masks import nm_egadp
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.stages.relation import RelationFrame

# The parameters of a mask that also decide what can be said of it beforehand.
_KEY = "the columns that identify a row, as the mask is told them: they are no nonconf by default"
PARAMETERS = tuple(
    replace(parameter, doc=_KEY) if parameter.name == "key" else parameter
    for parameter in COMMON
    if parameter.name in ("tbl", "conf", "nonconf", "strata", "key", "on_null")
)
GROUP = "stratum"


def frame_of(name: str, catalog: Catalog, given: dict[str, Any], sample_size: int | None = None) -> Learning:
    """The frame of one call; messages come under the name of the function that asks."""
    roles = assign(name, catalog, given)
    frame = Learning(replace(nm_egadp.MASK, name=name, needs_noise=lambda given: False), roles, given)
    if sample_size is not None:
        frame.sample_size = sample_size
    return frame


class Learning(RelationFrame):
    """Writes statements that end in a list of rows from Python, one list a group."""

    def _distinct_keys(self) -> sql.Expr:
        """Nothing is released, so that rows may share a key."""
        return aggregates.rows()

    def sampling(self) -> sql.Statement:
        """Steps up to the sample of each group."""
        statement = sql.Statement()
        statement.step("_pp_source", self._source(), materialized=not self.roles.source.has_rowid)
        statement.step("_pp_first", self._first_look(), materialized=True)
        self._sample(statement)
        return statement

    def training(self) -> sql.Statement:
        """Steps up to the model of each group."""
        statement = self.sampling()
        self._learn(statement)
        return statement

    def measuring(self) -> sql.Statement:
        """Steps up to the moments of [S, û, X] over all rows."""
        statement = self.training()
        self._evaluate(statement)
        statement.step("_pp_moments", self._moments(), materialized=True)
        return statement

    def answer(
        self,
        statement: sql.Statement,
        udf: str,
        tables: Sequence[str],
        given: Sequence[sql.Expr],
        columns: Iterable[str],
    ) -> str:
        """The rows that a UDF gives for each group of these tables, the group's name before them where there is one.

        The UDF is told the call's specification, the group's name, and what is ``given``.
        """
        first, *others = tables
        source = f'"{first}"'
        for other in others:
            source = sql.joined(source, f'"{other}"', [(sql.column(a, first), sql.column(a, other)) for a in self.by])
        arguments = [f"_pp_a{i}" for i in range(len(given))]
        inner = [sql.column(alias, first) for alias in self.by]
        inner += [sql.named(value, name) for value, name in zip(given, arguments, strict=True)]
        label = self._label(self.by)
        asked = sql.call(udf, sql.text(self.specification()), label, *map(sql.column, arguments))
        rows = [sql.named(label.copy(), GROUP), sql.named(sql.call("unnest", asked), "_pp_row")]
        fields = [sql.named(sql.raw(f'"_pp_row".{sql.render(sql.name(name))}'), name) for name in columns]
        shown = [sql.column(GROUP), *fields] if self.by else fields
        return statement.finish(sql.select(shown, f"({sql.select(rows, f'({sql.select(inner, source)})')})"))


def row_types(columns: dict[str, str]) -> str:
    """The type of a list of rows."""
    fields = ", ".join(f"{sql.render(sql.name(name))} {type_}" for name, type_ in columns.items())
    return f"STRUCT({fields})[]"
