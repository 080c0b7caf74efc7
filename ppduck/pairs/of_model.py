"""What models of conf given nonconf are told of the pairs: moments, a sample, or both; once in a statement for all."""

from __future__ import annotations

from ppduck.pairs import moments as sums
from ppduck.pairs.rows import PIECE, SAMPLE, Pairs, whole_of
from ppduck.query import tree as sql

# How far rows reach in each column, for those who ask whether one stands apart.
LOWS, HIGHS = "_pp_lows", "_pp_highs"


def statement_of(
    pairs: Pairs, model: str, more: dict[str, sql.Expr] | None = None
) -> sql.Statement:
    rows = [sql.column(name) for name in pairs.value_names]
    if model == "kernel":
        statement = pairs.statement()
        sums.sample(pairs, statement, rows)
    else:
        statement = sums.moments(pairs, more, sampled=model == "curve")
        if model == "curve":
            sums.draw(statement, rows)
    return statement


def told_of(model: str) -> dict[str, sql.Expr]:
    nothing = sql.cast(sql.null(), "DOUBLE[]")
    sampled, summed = model != "linear", model != "kernel"
    of_all = {**sums.told_sums(), "centres": sums.one_after_the_other(sums.CENTRES)}
    sizes = sums.of_each(sql.call("len", sql.column(SAMPLE)))
    return {
        "pieces": sums.of_each(sql.column(PIECE)),
        **sums.told_counts(),
        **(of_all if summed else {name: nothing.copy() for name in of_all}),
        "sample": sums.one_after_the_other(SAMPLE) if sampled else nothing,
        "sizes": sizes if sampled else nothing.copy(),
    }


def told_reach() -> dict[str, sql.Expr]:
    return {"lows": sums.one_after_the_other(LOWS), "highs": sums.one_after_the_other(HIGHS)}


def shared_step(pairs: Pairs, model: str) -> str:
    """The step of the statement around these pairs with what is told, for all functions of the same columns.

    Where there are moments, it has ``told_reach`` too.
    """
    assert pairs.within is not None
    step = f"_pp_{model}_of_{len(pairs.columns.features)}_{len(pairs.columns.numbers)}"
    if not pairs.within.has(step):
        summed = model != "kernel"
        statement = statement_of(pairs, model, _reach(pairs) if summed else None)
        told = told_of(model) | (told_reach() if summed else {})
        pairs.within.step(step, statement.query(whole_of(statement, told, {})), materialized=True)
    return step


def _reach(pairs: Pairs) -> dict[str, sql.Expr]:
    values = [sql.column(name) for name in pairs.value_names]
    return {
        name: sql.array((sql.call(end, value.copy()) for value in values), "DOUBLE")
        for name, end in ((LOWS, "min"), (HIGHS, "max"))
    }
