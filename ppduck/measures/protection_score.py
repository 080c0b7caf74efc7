"""protection_score(): information lost and disclosure risked, weighed in one number, as rivals are ranked by.

score = 0.5·IL + 0.5·DR with DR = 0.25·DLD + 0.25·PLD + 0.5·ID, and without probabilistic linkage 0.5·IL + 0.25·DLD +
0.25·ID (Domingo-Ferrer & Torra 2001; Pont-Tuset et al. 2007). All are points from 0 to 100, as in
the literature, where the other functions tell shares; lower is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.direction import LOWER_IS_BETTER
from ppduck.call.parameters import Call, ColumnNames, parameter, parameters
from ppduck.call.registry import Result, register
from ppduck.catalogue.source import Column
from ppduck.errors import quoted
from ppduck.measures import information_loss, interval_disclosure, record_linkage
from ppduck.pairs.columns import Compared, ComparedCall
from ppduck.pairs.measure import Measure, measure
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql

NAME = "protection_score"
RESULTS = (
    Result("measure", "VARCHAR", "which part of the score"),
    Result("value", "DOUBLE", "in points from 0 to 100"),
    Result("direction", "VARCHAR", "that lower is better"),
    Result("definition", "VARCHAR", "the formula in words"),
    Result("known", "VARCHAR", "the columns that the intruder knows"),
)


_COUNT = arguments.whole(1)


@arguments.reader(
    f"{_COUNT.takes}, or {arguments.columns.takes}", _COUNT.within, columns=ColumnNames.LISTED
)
def _known(value: Any) -> int | list[str]:
    return int(_COUNT(value)) if isinstance(value, int) else list(arguments.columns(value))


@parameters
class ProtectionScoreCall(ComparedCall):
    """What an intruder knows, and how he links."""

    known: int | list[str] | None = parameter(
        _known,
        "how many of the columns an intruder knows, the first ones, or which; by default half of them",
        None,
    )
    probabilistic: bool = parameter(
        arguments.flag, "whether to link by Fellegi-Sunter too, for PLD, DR and score", False
    )


_DEFINITIONS = {
    "IL": "mean relative change of values, covariances, variances and mean change of correlations, in per cent",
    "DLD": "records whose own original is the nearest by standardised distance in the known columns, in per cent",
    "PLD": "records whose own original is the likeliest by Fellegi-Sunter in the known columns, in per cent",
    "ID": "originals within 1 to 10 % of ranks of their masked value, on average, in the known columns, in per cent",
    "DR": "0.25·DLD + 0.25·PLD + 0.5·ID",
    "score": "0.5·IL + 0.5·DR",
    "score_simplified": "0.5·IL + 0.25·DLD + 0.25·ID",
}
_WITH_PLD = ("PLD", "DR", "score")


def choose(columns: Compared, call: ProtectionScoreCall) -> None:
    columns.use_columns(call.conf, categories=False)
    columns.faults.raise_if_any()
    _known_columns(columns, call.known)


def answer(pairs: Pairs, call: ProtectionScoreCall) -> sql.Expr:
    every, known = pairs.columns.numbers, _known_columns(pairs.columns, call.known)

    tables: dict[str, Any] = {"original": call.original, "release": call.release, "key": call.key}

    def value(
        of: Measure,
        asked: Call,
        columns: Sequence[Column],
        figure: str,
        where: sql.Expr | None = None,
    ) -> sql.Expr:
        own = pairs.columns.part(of.name, numbers=columns, categories=[], features=[])
        rows = sql.derived(of.answer(Pairs(own), asked), "_pp_rows")
        return sql.scalar(sql.query([sql.number(100) * sql.column(figure)], rows, where=where))

    def linked(method: str) -> sql.Expr:
        asked = record_linkage.RecordLinkageCall(**tables, method=method)
        return value(record_linkage.FUNCTION, asked, known, "linked_share")

    whole = sql.column("component").eq(sql.text(information_loss.NAME))
    ranks = sql.column("kind").eq(sql.text("rank"))
    in_all = sql.column("column_name").eq(sql.text(interval_disclosure.TOGETHER))
    loss = information_loss.InformationLossCall(**tables)
    intervals = interval_disclosure.IntervalDisclosureCall(**tables)
    parts = {
        "_pp_il": value(information_loss.FUNCTION, loss, every, "value", whole),
        "_pp_dld": linked(record_linkage.DISTANCE),
        "_pp_pld": linked(record_linkage.PROBABILISTIC)
        if call.probabilistic
        else sql.cast(sql.null(), "DOUBLE"),
        "_pp_id": value(interval_disclosure.FUNCTION, intervals, known, "share", ranks & in_all),
    }
    statement = sql.Statement()
    statement.step("_pp_parts", sql.query(sql.columns(parts)), materialized=True)
    unasked = "" if call.probabilistic else "; with probabilistic := true"
    rows = []
    for name, formula in _formulas().items():
        columns = {
            "measure": sql.text(name),
            "value": formula,
            "direction": sql.text(LOWER_IS_BETTER),
            "definition": sql.text(_DEFINITIONS[name] + (unasked if name in _WITH_PLD else "")),
            "known": sql.text(", ".join(column.name for column in known)),
        }
        rows.append(sql.query(sql.columns(columns), sql.table("_pp_parts")))
    return statement.query(sql.union_all(rows))


def _formulas() -> dict[str, sql.Expr]:
    il, dld, pld, id_ = (sql.column(f"_pp_{name}") for name in ("il", "dld", "pld", "id"))
    half, quarter = sql.number(0.5), sql.number(0.25)
    risk = quarter * dld + quarter * pld + half * id_
    simplified = half * il + quarter * dld + quarter * id_
    return {
        "IL": il, "DLD": dld, "PLD": pld, "ID": id_, "DR": risk, "score": half * il + half * risk,
        "score_simplified": simplified,
    }  # fmt: skip


def _known_columns(columns: Compared, known: int | list[str] | None) -> list[Column]:
    """The numbers that an intruder knows: by default the first half of them."""
    every = columns.numbers
    if isinstance(known, list):
        found = columns.in_both("known", known)
        if not known:
            columns.faults.add(
                "known is empty; name at least one column that an intruder may know."
            )
        for column in found:
            if column not in every:
                columns.faults.add(
                    f"known names column {quoted(column.name)}, which is not among the columns that are scored."
                )
        return found
    count = (len(every) + 1) // 2 if known is None else known
    if count > len(every):
        columns.faults.add(f"known is {count}, and there are {len(every)} numeric columns to know.")
    return every[:count]


FUNCTION = register(
    measure(
        NAME,
        ProtectionScoreCall,
        "Information loss and disclosure risk weighed in one score, as masks are ranked by, in points of 100.",
        "Domingo-Ferrer & Torra 2001; Pont-Tuset et al. 2007",
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM protection_score('customers', 'released', conf=['x1','x2'], key='id')",
        udfs=(
            *information_loss.FUNCTION.udfs,
            *record_linkage.FUNCTION.udfs,
            *interval_disclosure.FUNCTION.udfs,
        ),
    )
)
