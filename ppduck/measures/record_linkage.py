"""record_linkage(): how many masked records can be given back to the persons they came from.

An intruder who knows some columns of everybody links each masked record to the nearest original one (Domingo-Ferrer &
Torra 2001), by standardised Euclidean distance, by Mahalanobis distance (Torra, Abowd & Domingo-Ferrer 2006) or by the
probabilities of Fellegi & Sunter (1969). Categories count by agreement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_SAFER
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.roles import MANY_LEVELS
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.kernels import linkage
from ppduck.measures import _fellegi_sunter
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import COMPARED, KEY, ORIGINAL, RELEASE, Pairs
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "record_linkage"
SOLVE, SOLVE_RECORDS = "ppduck_record_linkage", "ppduck_linked_records"
COLUMNS = {
    "method": "VARCHAR",
    "without": "VARCHAR",
    "linked": "DOUBLE",
    "linked_share": "DOUBLE",
    "chance_share": "DOUBLE",
    "rows": "BIGINT",
    "among": "BIGINT",
    "direction": "VARCHAR",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)
_TAKES = ["VARCHAR", "BIGINT", "DOUBLE[]"]
MEANING = "masked records whose own original is the nearest of all, ties shared; chance_share is guessing"
MOST_WORK = 5e13  # what pairs times dimensions may come to: about 40 minutes on two cores
DISTANCE, MAHALANOBIS, PROBABILISTIC = METHODS = ("distance", "mahalanobis", "probabilistic")


METHOD = Parameter("method", arguments.choice(*METHODS), "'distance', 'mahalanobis' or 'probabilistic'", "'distance'")
STANDARDISE = Parameter(
    "standardise",
    arguments.choice("original", "own"),
    "by distance: both tables in units of the 'original', or each about its 'own' mean in units of its own sd",
    "'original'",
)
DETAIL = Parameter(
    "detail",
    arguments.choice("columns", "records"),
    "'columns' tells what each column contributes, by leaving it out; 'records' gives the keys, and which are linked",
    "NULL",
)
SAMPLE = Parameter(
    "sample",
    arguments.whole(1),
    "how many masked records to seek the originals of, each among all; by default all",
    "NULL",
)


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    pairs = Pairs(NAME, catalog, given)
    pairs.use_columns(categories=True)
    if "conf" not in given and given.get("method", DISTANCE) != PROBABILISTIC:
        for column in pairs.categories:
            if column.is_category and catalog.levels(pairs.original, column, MANY_LEVELS) is None:
                # To pass over in silence what tells best who somebody is would be the worst answer.
                pairs.faults.add(
                    f"column {quoted(column.name)} is in both tables and has more than {MANY_LEVELS} values, too many "
                    "to count by agreement; it may tell by itself who somebody is. Drop it from the release, or name "
                    "the columns to link by: conf := […]."
                )
    pairs.faults.raise_if_any()
    statement = pairs.statement()
    values = [sql.column(name) for name in pairs.value_names]
    # A category's value as a number of its own: 53 bits of a hash.
    values += [sql.raw(f"(hash({name}) >> 11)::DOUBLE") for name in pairs.category_names]
    values.append(sql.raw('("_pp_key" >> 11)::DOUBLE'))
    lists = {f"_pp_l{i}": sql.call("list", value) for i, value in enumerate(values)}
    told = ", ".join(f'any_value("{name}")' for name in lists)
    records = given.get("detail") == "records"
    if records:
        lists |= {f"_pp_l_{name}": sql.call("list", sql.column(name)) for name in pairs.key_names}
    pairs.told(statement, lists)
    if "standardise" in given and given.get("method", DISTANCE) != DISTANCE:
        raise pairs.faults.refuse(
            f"standardise is for method := '{DISTANCE}'; the other methods have scales of their own."
        )
    defaults = {"method": DISTANCE, "detail": None, "sample": None, "standardise": "original"}
    more = {name: given.get(name, default) for name, default in defaults.items()}
    flat = f"flatten([{told}])"
    if not records:
        return pairs.rows(statement, SOLVE, [flat], COLUMNS if "detail" in given else _short(COLUMNS), **more)
    return _records(pairs, statement, flat, more)


def _short(columns: dict[str, str]) -> list[str]:
    return [name for name in columns if name != "without"]


def _records(pairs: Pairs, statement: sql.Statement, flat: str, more: dict[str, Any]) -> str:
    """The key of every record, and the part of it that was linked."""
    pairs.check(statement)
    keys = [f'unnest(any_value("_pp_l_{name}")) AS {sql.render(sql.name(column.name))}'
            for name, column in zip(pairs.key_names, pairs.key, strict=True)]  # fmt: skip
    told = sql.render(sql.text(pairs.specification(**more)))
    credits = f'unnest({SOLVE_RECORDS}({told}, any_value("_pp_matched"), {flat})) AS "linked"'
    source = '"_pp_told" CROSS JOIN "_pp_check" WHERE "_pp_piece" IS NOT NULL'
    rows = f"SELECT {', '.join([*keys, credits])} FROM {source}"
    return statement.finish(f'SELECT * FROM ({rows}) WHERE "linked" IS NOT NULL')


class Records:
    """Both sides of the pairs, as the UDF is told of them."""

    def __init__(self, specification: str, flat: Array | None) -> None:
        self.spec = json.loads(specification)
        q, c = len(self.spec["columns"]), len(self.spec["categories"])
        self.method = self.spec["method"]
        if flat is None or not len(flat):
            raise self.refuse("there is no pair of rows without NULL to link.")
        table = flat.reshape(2 * (q + c) + 1, -1)
        self.x, self.y = table[:q].T, table[q : 2 * q].T
        self.codes = [self._codes(name, table[2 * q + j], table[2 * q + c + j]) for j, name in
                      enumerate(self.spec["categories"])]  # fmt: skip
        self.n = table.shape[1]
        for name, column in zip(self.spec["columns"] * 2, table[: 2 * q], strict=True):
            if not np.isfinite(column).all():
                raise self.refuse(f"column {quoted(name)} holds NaN or infinity; replace it by NULL.")
        size = self.spec["sample"]
        self.sought: npt.NDArray[np.intp] = np.arange(self.n)
        if size is not None and size < self.n:
            # The least hashes of keys: the same records whatever the order of rows.
            self.sought = np.sort(np.argsort(table[-1], kind="stable")[:size])

    def refuse(self, fault: str) -> Exception:
        return Faults(self.spec["function"], self.spec["table"]).refuse(fault)

    def _codes(self, name: str, before: Array, after: Array) -> npt.NDArray[np.intp]:
        """One code a value, the same on both sides, as (n, 2)."""
        levels, codes = np.unique(np.concatenate([before, after]), return_inverse=True)
        if len(levels) > MANY_LEVELS and self.method != PROBABILISTIC:
            raise self.refuse(
                f"column {quoted(name)} has {len(levels)} different values, more than the {MANY_LEVELS} that count by "
                "agreement; group them, or leave the column out."
            )
        return codes.reshape(2, -1).T

    def credits(self, without: str | None = None) -> Array:
        """The part of each sought record that was linked rightly."""
        numbers = [j for j, name in enumerate(self.spec["columns"]) if name != without]
        named = zip(self.spec["categories"], self.codes, strict=True)
        codes = [code for name, code in named if name != without]
        before, after = (
            np.column_stack([code[:, side] for code in codes]) if codes else np.empty((self.n, 0), dtype=np.intp)
            for side in (0, 1)
        )
        x, y = self.x[:, numbers], self.y[:, numbers]
        if self.method == PROBABILISTIC:
            return self._by_probability(x, y, before, after)[self.sought]
        scaled = self._scaled(x, y)
        agreeing = linkage.agreement(before, after)
        original, masked = (np.column_stack(side) for side in zip(scaled, agreeing, strict=True))
        if linkage.work(self.n, len(self.sought), original.shape[1]) > MOST_WORK:
            raise self.refuse(
                f"{len(self.sought)} records in {original.shape[1]} dimensions, a category counting one a level, "
                f"may take hours to find among {self.n}; seek some of them with sample := 10000, or name fewer columns."
            )
        return linkage.linked(original, masked, rows=self.sought)

    def _scaled(self, x: Array, y: Array) -> tuple[Array, Array]:
        if self.method == MAHALANOBIS:
            return linkage.whitened(x, y)
        return linkage.standardised_apart(x, y) if self.spec["standardise"] == "own" else linkage.standardised(x, y)

    def _by_probability(self, x: Array, y: Array, before: npt.NDArray[np.intp], after: npt.NDArray[np.intp]) -> Array:
        if self.n > _fellegi_sunter.MAX_ROWS:
            raise self.refuse(
                f"the probabilistic method takes at most {_fellegi_sunter.MAX_ROWS:,} rows, and there are {self.n:,}; "
                "compare a part of both tables, such as '(FROM t WHERE hash(id) % 10 = 0)', which links a larger "
                "share than all rows would, as there are fewer to choose among."
            )
        try:
            return _fellegi_sunter.linked(x, y, before, after)
        except PpduckError as error:
            raise self.refuse(str(error)) from None


def solve(specification: str, _: int, flat: Array | None) -> list[dict[str, Any]]:
    records = Records(specification, flat)
    return list(_rows(records))


def _rows(records: Records) -> Iterator[dict[str, Any]]:
    names = [*records.spec["columns"], *records.spec["categories"]]
    left_out = [None, *(names if records.spec["detail"] == "columns" and len(names) > 1 else [])]
    for without in left_out:
        found = records.credits(without)
        yield {
            "method": records.method,
            "without": without,
            "linked": float(found.sum()),
            "linked_share": float(found.mean()),
            "chance_share": 1 / records.n,
            "rows": len(found),
            "among": records.n,
            "direction": LOWER_IS_SAFER,
            "meaning": MEANING,
        }


def solve_records(specification: str, _: int, flat: Array | None) -> list[float | None]:
    records = Records(specification, flat)
    result = np.full(records.n, np.nan)
    result[records.sought] = records.credits()
    return [None if np.isnan(value) else float(value) for value in result]


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, KEY, COMPARED, METHOD, STANDARDISE, DETAIL, SAMPLE),
        plan,
        "How many masked records link back to their originals, by distance, Mahalanobis or Fellegi-Sunter.",
        "Domingo-Ferrer & Torra 2001; Torra, Abowd & Domingo-Ferrer 2006; Fellegi & Sunter 1969",
        udfs=(Udf(SOLVE, solve, _TAKES, GIVES), Udf(SOLVE_RECORDS, solve_records, _TAKES, "DOUBLE[]"), row_pairs.UDF),
    )
)
