"""Masks that see all values of a group at once: lists go into Python, and come back row by row.

What such a mask does with one row depends on all others, so that neither SQL nor batches can do it. Values go in as
doubles, eight bytes each on either side.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ppduck.call.numeric_mask import NumericMask, parameters_of
from ppduck.call.parameters import Parameter
from ppduck.call.registry import function_named
from ppduck.call.roles import assign
from ppduck.call.udf import Udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError
from ppduck.kernels.noise import KeyedNoise
from ppduck.query import normals, ranks
from ppduck.query import tree as sql
from ppduck.runtime import noise, solve
from ppduck.runtime.nearness import LIMITS, Judge
from ppduck.stages.look import QUERY
from ppduck.stages.row_numbers import Numbered
from ppduck.values import Array, folded

# Specification, name of the group, secret of the release, number of the query, values column by column.
TAKES = ["VARCHAR", "VARCHAR", "VARCHAR", "UBIGINT", "DOUBLE[]"]
GIVES = "DOUBLE[]"
WITHOUT = ("nonconf", "on_null")  # common parameters of no use to masks that look at conf only


def whole_mask(
    name: str,
    *,
    frame: type[WholeFrame],
    summary: str,
    reference: str,
    keeps: tuple[str, ...],
    loses: tuple[str, ...],
    parameters: tuple[Parameter, ...] = (),
    without: tuple[str, ...] = WITHOUT,
    permutes: bool = False,
    keeps_range: bool = False,
    remedy: str,
    udfs: tuple[Udf, ...] = (),
) -> NumericMask:
    """A mask ready to be registered, which looks at conf only."""

    def plan(catalog: Catalog, given: dict[str, Any]) -> str:
        refuse_another_hash(name, catalog)
        roles = assign(name, catalog, given, uses_nonconf=False, may_be_unseen=True)
        return frame(mask, roles, given).statement()

    mask = NumericMask(
        name,
        parameters_of(parameters, without),
        plan,
        summary,
        reference,
        reads_s=False,
        keeps=keeps,
        loses=(*loses, LIMITS),
        permutes=lambda given: permutes,
        keeps_range=keeps_range or permutes,
        asked=lambda given: True,
        remedy=remedy,
        udfs=(*solve.UDFS, *noise.WORDS, *udfs),
    )
    return mask


class WholeFrame(Numbered):
    """Writes the statement of one call: values in an order that tells nothing, masked by ``udf``, back by row."""

    udf: str

    def statement(self) -> str:
        statement = self.looking()
        statement.step("_pp_whole", self._whole(), materialized=True)
        statement.step("_pp_masked", self._masked(), materialized=True)
        return statement.finish(self._joined_back())

    def looking(self) -> sql.Statement:
        statement = sql.Statement()
        # A row's number must be the same whenever the statement reads it.
        statement.step("_pp_source", self._source(), materialized=not self.roles.source.has_rowid)
        statement.step("_pp_first", self._first_look(), materialized=True)
        return statement

    @property
    def columns(self) -> list[int]:
        """Conf in the order of names: in which order a call names columns must not show."""
        return sorted(range(self.q), key=lambda j: folded(self.roles.conf[j].name))

    def _whole(self) -> str:
        """For each group the numbers of its rows, and their masked values column by column."""
        order = f'ORDER BY "_pp_key", "{ranks.ROW}"'
        lists = [f'list("{ranks.ROW}" {order}) AS "_pp_rows"']
        lists += [f'list({sql.render(sql.double(self.values[j].copy()))} {order}) AS "_pp_l{j}"' for j in self.columns]
        group: list[sql.Expr] = [sql.column(name) for name in self.roles.strata]
        named = [sql.named(each.copy(), f"_pp_g{i}") for i, each in enumerate(group)]
        values = sql.select([*named, *map(sql.raw, lists)], '"_pp_source"', group=group)
        flat = ", ".join(f'"_pp_l{j}"' for j in self.columns)
        label, secret = sql.column("_pp_label"), sql.column("_pp_secret")
        told = [sql.text(self.specification()), label, secret, sql.call(QUERY)]
        asked = sql.call(self.udf, *told, sql.raw(f"flatten([{flat}])"))
        source = sql.joined(f'({values}) AS "_pp_values"', f'({self.told()}) AS "_pp_told"', self._same_group())
        return sql.select([sql.column("_pp_rows"), sql.named(asked, "_pp_y")], source)

    def told(self) -> str:
        """Of each group its name, and the secret that its chance comes from."""
        groups = [sql.column(alias) for alias in self.by]
        named = [sql.named(self._label(self.by), "_pp_label"), sql.named(self._secret(), "_pp_secret")]
        return sql.select([*groups, *named], '"_pp_first"')

    def _same_group(self) -> list[tuple[sql.Expr, sql.Expr]]:
        return [(sql.column(f"_pp_g{i}", "_pp_values"), sql.column(a, "_pp_told")) for i, a in enumerate(self.by)]

    def _secret(self) -> sql.Expr:
        """128 bits that only the owner's secret gives, others for every release."""
        words = normals.word_function(1, seeded="seed" in self.given)
        return sql.cast(sql.call(words, sql.cast(sql.number(0), "UBIGINT"), sql.column("_pp_tweak")), "VARCHAR")

    def _masked(self) -> str:
        columns = [f'unnest("_pp_rows") AS "{ranks.ROW}"']
        for place, j in enumerate(self.columns):
            part = f'list_slice("_pp_y", 1 + {place} * len("_pp_rows"), {place + 1} * len("_pp_rows"))'
            columns.append(f'unnest({part}) AS "_pp_y{j}"')
        # What comes from Python has NaN for NULL; NaN of the user's was refused.
        rows = f'SELECT {", ".join(columns)} FROM "_pp_whole"'
        shown = [f'CASE WHEN NOT isnan("_pp_y{j}") THEN "_pp_y{j}" END AS "_pp_y{j}"' for j in range(self.q)]
        return f'SELECT "{ranks.ROW}", {", ".join(shown)} FROM ({rows})'

    def _results(self) -> list[tuple[str, sql.Expr]]:
        return [('"_pp_masked"', sql.column(f"_pp_y{j}")) for j in range(self.q)]


class Told:
    """What a UDF of such a mask is told: names for messages, parameters, values and chance."""

    def __init__(self, specification: str, group: str | None, secret: str, query: int, flat: Array | None) -> None:
        self.spec: dict[str, Any] = json.loads(specification)
        self.group, self.query = group, query
        self.names: list[str] = sorted(self.spec["conf"], key=folded)
        self.where = f" in the group {group}" if group else ""
        self.parameters: dict[str, Any] = self.spec["parameters"]
        self.values = np.empty((0, len(self.names))) if flat is None else flat.reshape(len(self.names), -1).T
        self.secret = secret

    @property
    def noise(self) -> KeyedNoise:
        return noise_of(self.secret)

    @property
    def judge(self) -> Judge:
        mask = function_named(self.spec["function"])
        assert isinstance(mask, NumericMask)
        return Judge(mask.name, self.spec["table"], self.group, self.query, mask.remedy)

    def refuse(self, fault: str) -> PpduckError:
        return Faults(self.spec["function"], self.spec["table"]).refuse(fault)


def noise_of(secret: str) -> KeyedNoise:
    """The chance of one group of one release."""
    return KeyedNoise(b"ppduck release\0" + secret.encode())


def flattened(values: Array) -> Array:
    """Rows as the statement reads them: column by column."""
    return np.ascontiguousarray(values.T).reshape(-1)
