"""record_linkage(): how many masked records can be given back to the persons they came from.

An intruder who knows some columns of everybody links each masked record to the nearest original one (Domingo-Ferrer &
Torra 2001), by standardised Euclidean distance, by Mahalanobis distance (Torra, Abowd & Domingo-Ferrer 2006) or by the
probabilities of Fellegi & Sunter (1969). Categories count by agreement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_SAFER
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Result, register
from ppduck.call.roles import MANY_LEVELS
from ppduck.call.udf import rows_type, told_udf
from ppduck.errors import PpduckError, quoted
from ppduck.frozen import frozen
from ppduck.kernels import linkage
from ppduck.measures import fellegi_sunter
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import measure
from ppduck.pairs.moments import any_of
from ppduck.pairs.one_to_one import CHECK, MATCHED
from ppduck.pairs.rows import HASH, PIECE, PIECES, Pairs, PairSpec, Told
from ppduck.query import tree as sql
from ppduck.values import Array

NAME = "record_linkage"
RESULTS = (
    Result("method", "VARCHAR", "distance, mahalanobis or probabilistic"),
    Result(
        "without",
        "VARCHAR",
        "the column that is left out, NULL where none is",
        "with detail := 'columns'",
    ),
    Result(
        "linked", "DOUBLE", "how many masked records have their own original nearest, ties shared"
    ),
    Result("linked_share", "DOUBLE", "the same as a share of the records that were sought"),
    Result("chance_share", "DOUBLE", "what guessing would link"),
    Result("rows", "BIGINT", "the records that were sought"),
    Result("among", "BIGINT", "the originals that they were sought among"),
    Result("direction", "VARCHAR", "that lower is safer"),
    Result("meaning", "VARCHAR", "the figures in words"),
)
MEANING = (
    "masked records whose own original is the nearest of all, ties shared; chance_share is guessing"
)
MOST_WORK = 5e13  # what pairs times dimensions may come to: about 40 minutes on two cores
DISTANCE, MAHALANOBIS, PROBABILISTIC = METHODS = ("distance", "mahalanobis", "probabilistic")
BY_ORIGINAL, BY_OWN = "original", "own"


@parameters
class RecordLinkageCall(ComparedCall):
    """How records are linked, and what is told of it."""

    method: str = parameter(
        arguments.choice(*METHODS), "'distance', 'mahalanobis' or 'probabilistic'", DISTANCE
    )
    standardise: str | None = parameter(
        arguments.choice(BY_ORIGINAL, BY_OWN),
        "by distance: both tables in units of the 'original', as by default, or each about its 'own' mean in units of "
        "its own sd",
        None,
    )
    detail: str | None = parameter(
        arguments.choice("columns", "records"),
        "'columns' tells what each column contributes, by leaving it out; 'records' gives the keys, and which are "
        "linked",
        None,
    )
    sample: int | None = parameter(
        arguments.whole(1),
        "how many masked records to seek the originals of, each among all; by default all",
        None,
    )


@frozen
class LinkageSpec(PairSpec):
    """How records are linked, and what is told of it."""

    method: str
    standardise: str
    detail: str | None
    sample: int | None


@frozen
class LinkageTold(Told):
    """The pairs without NULL, column by column: numbers before and after, codes of categories before and after, and a
    number by which a sample is drawn.
    """

    values: Array | None


def choose(columns: Compared, call: RecordLinkageCall) -> None:
    columns.use_columns(call.conf, categories=True)
    if call.conf is None and call.method != PROBABILISTIC:
        for column in columns.categories:
            if (
                column.is_category
                and columns.catalog.levels(columns.original, column, MANY_LEVELS) is None
            ):
                # To pass over in silence what tells best who somebody is would be the worst answer.
                columns.faults.add(
                    f"column {quoted(column.name)} is in both tables and has more than {MANY_LEVELS} values, too many "
                    "to count by agreement; it may tell by itself who somebody is. Drop it from the release, or name "
                    "the columns to link by: conf := […]."
                )
    if call.standardise is not None and call.method != DISTANCE:
        columns.faults.add(
            f"standardise is for method := '{DISTANCE}'; the other methods have scales of their own."
        )


def answer(pairs: Pairs, call: RecordLinkageCall) -> sql.Expr:
    statement = pairs.statement()
    values = [sql.column(name) for name in pairs.value_names]
    # A category's value as a number of its own: 53 bits of a hash.
    values += [sql.short(sql.call("hash", sql.column(name))) for name in pairs.category_names]
    values.append(sql.short(sql.column(HASH)))
    lists = {f"_pp_list{i}": sql.call("list", value) for i, value in enumerate(values)}
    told = sql.flat(map(any_of, lists))
    if call.detail == "records":
        lists |= {
            f"_pp_list_{name}": sql.call("list", sql.column(name)) for name in pairs.key_names
        }
    pairs.aggregate(statement, lists)
    spec = pairs.spec(
        LinkageSpec,
        method=call.method,
        standardise=call.standardise or BY_ORIGINAL,
        detail=call.detail,
        sample=call.sample,
    )
    if call.detail == "records":
        return _records(pairs, statement, spec, told)
    shown = [result for result in RESULTS if result.name != "without" or call.detail]
    return pairs.answer(statement, SOLVE, spec, {"values": told}, shown)


def _records(pairs: Pairs, statement: sql.Statement, spec: LinkageSpec, told: sql.Expr) -> sql.Expr:
    """The key of every record, and the part of it that was linked."""
    pairs.check(statement)
    columns = {
        column.name: sql.call("unnest", any_of(f"_pp_list_{name}"))
        for name, column in zip(pairs.key_names, pairs.columns.key, strict=True)
    }
    asked = SOLVE_RECORDS.in_sql(spec, {"pairs": any_of(MATCHED), "values": told})
    columns["linked"] = sql.call("unnest", asked)
    rows = sql.table(PIECES).cross(sql.table(CHECK))
    every = sql.query(sql.columns(columns), rows, where=sql.present([sql.column(PIECE)]))
    linked = sql.present([sql.column("linked")])
    return statement.query(sql.query([exp.Star()], sql.derived(every, "_pp_records"), where=linked))


class Records:
    """Both sides of the pairs, as the UDF is told of them."""

    def __init__(self, spec: LinkageSpec, told: LinkageTold) -> None:
        self.spec = spec
        q, c = len(spec.columns), len(spec.categories)
        if told.values is None or not len(told.values):
            raise spec.refuse("there is no pair of rows without NULL to link.")
        table = told.values.reshape(2 * (q + c) + 1, -1)
        self.x, self.y = table[:q].T, table[q : 2 * q].T
        before, after = table[2 * q : 2 * q + c], table[2 * q + c : 2 * (q + c)]
        self.codes = [
            self._codes(*each) for each in zip(spec.categories, before, after, strict=True)
        ]
        self.n = table.shape[1]
        for name, column in zip(spec.columns * 2, table[: 2 * q], strict=True):
            if not np.isfinite(column).all():
                raise spec.refuse(
                    f"column {quoted(name)} holds NaN or infinity; replace it by NULL."
                )
        self.sought: npt.NDArray[np.intp] = np.arange(self.n)
        if spec.sample is not None and spec.sample < self.n:
            # The least hashes of keys: the same records whatever the order of rows.
            self.sought = np.sort(np.argsort(table[-1], kind="stable")[: spec.sample])

    def _codes(self, name: str, before: Array, after: Array) -> npt.NDArray[np.intp]:
        """One code a value, the same on both sides, as (n, 2)."""
        levels, codes = np.unique(np.concatenate([before, after]), return_inverse=True)
        if len(levels) > MANY_LEVELS and self.spec.method != PROBABILISTIC:
            raise self.spec.refuse(
                f"column {quoted(name)} has {len(levels)} different values, more than the {MANY_LEVELS} that count by "
                "agreement; group them, or leave the column out."
            )
        return codes.reshape(2, -1).T

    def credits(self, without: str | None = None) -> Array:
        """The part of each sought record that was linked rightly."""
        numbers = [j for j, name in enumerate(self.spec.columns) if name != without]
        named = zip(self.spec.categories, self.codes, strict=True)
        codes = [code for name, code in named if name != without]
        before, after = (
            np.column_stack([code[:, side] for code in codes])
            if codes
            else np.empty((self.n, 0), dtype=np.intp)
            for side in (0, 1)
        )
        x, y = self.x[:, numbers], self.y[:, numbers]
        if self.spec.method == PROBABILISTIC:
            return self._by_probability(x, y, before, after)[self.sought]
        scaled = self._scaled(x, y)
        agreeing = linkage.agreement(before, after)
        original, masked = (np.column_stack(side) for side in zip(scaled, agreeing, strict=True))
        if linkage.work(self.n, len(self.sought), original.shape[1]) > MOST_WORK:
            raise self.spec.refuse(
                f"{len(self.sought)} records in {original.shape[1]} dimensions, a category counting one a level, "
                f"may take hours to find among {self.n}; seek some of them with sample := 10000, or name fewer columns."
            )
        return linkage.linked(original, masked, rows=self.sought)

    def _scaled(self, x: Array, y: Array) -> tuple[Array, Array]:
        if self.spec.method == MAHALANOBIS:
            return linkage.whitened(x, y)
        return (
            linkage.standardised_apart(x, y)
            if self.spec.standardise == BY_OWN
            else linkage.standardised(x, y)
        )

    def _by_probability(
        self, x: Array, y: Array, before: npt.NDArray[np.intp], after: npt.NDArray[np.intp]
    ) -> Array:
        if self.n > fellegi_sunter.MAX_ROWS:
            raise self.spec.refuse(
                f"the probabilistic method takes at most {fellegi_sunter.MAX_ROWS:,} rows, and there are {self.n:,}; "
                "compare a part of both tables, such as '(FROM t WHERE hash(id) % 10 = 0)', which links a larger "
                "share than all rows would, as there are fewer to choose among."
            )
        try:
            return fellegi_sunter.linked(x, y, before, after)
        except PpduckError as error:
            raise self.spec.refuse(str(error)) from None


def solve(spec: LinkageSpec, told: LinkageTold) -> list[dict[str, Any]]:
    return list(_rows(Records(spec, told)))


def _rows(records: Records) -> Iterator[dict[str, Any]]:
    names = [*records.spec.columns, *records.spec.categories]
    left_out = [None, *(names if records.spec.detail == "columns" and len(names) > 1 else [])]
    for without in left_out:
        found = records.credits(without)
        yield {
            "method": records.spec.method,
            "without": without,
            "linked": float(found.sum()),
            "linked_share": float(found.mean()),
            "chance_share": 1 / records.n,
            "rows": len(found),
            "among": records.n,
            "direction": LOWER_IS_SAFER,
            "meaning": MEANING,
        }


def solve_records(spec: LinkageSpec, told: LinkageTold) -> list[float | None]:
    records = Records(spec, told)
    result = np.full(records.n, np.nan)
    result[records.sought] = records.credits()
    return [None if np.isnan(value) else float(value) for value in result]


SOLVE = told_udf("ppduck_record_linkage", solve, LinkageSpec, LinkageTold, rows_type(RESULTS))
SOLVE_RECORDS = told_udf(
    "ppduck_linked_records", solve_records, LinkageSpec, LinkageTold, "DOUBLE[]"
)
FUNCTION = register(
    measure(
        NAME,
        RecordLinkageCall,
        "How many masked records link back to their originals, by distance, Mahalanobis or Fellegi-Sunter.",
        "Domingo-Ferrer & Torra 2001; Torra, Abowd & Domingo-Ferrer 2006; Fellegi & Sunter 1969",
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM record_linkage('customers', 'released', conf=['x1','x2'], key='id')",
        udfs=(SOLVE, SOLVE_RECORDS),
    )
)
