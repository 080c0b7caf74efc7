"""A measure chooses its columns, then answers over their pairs; faults of the choice arrive before anything is read."""

from __future__ import annotations

import pytest

from ppduck.call.registry import Kind, Result, functions
from ppduck.errors import PpduckError
from ppduck.pairs.columns import Compared, ConfCall
from ppduck.pairs.measure import Measure, measure
from ppduck.pairs.one_to_one import CHECK, MATCH
from ppduck.pairs.rows import Pairs
from ppduck.query import tree as sql
from tests.pairs.catalogue import NoReader, TwoTables

pytestmark = pytest.mark.core


def choose(columns: Compared, call: ConfCall) -> None:
    columns.use_numbers("conf", call.conf)


def answer(pairs: Pairs, call: ConfCall) -> sql.Expr:
    return sql.query([sql.named(sql.number(len(pairs.columns.numbers)), "n")], sql.table(CHECK))


OWN = measure("own", ConfCall, "", "", choose=choose, answer=answer, results=(Result("n", "BIGINT", ""),), example="")


def call(conf: str) -> ConfCall:
    return ConfCall(original="t", release="r", conf=[conf], key=["id"])


def test_a_plan_chooses_and_answers() -> None:
    planned = OWN.plan(TwoTables(NoReader()), call("x"))
    assert isinstance(planned, sql.Expr)
    assert sql.render(planned) == 'SELECT 1 AS "n" FROM "_pp_check"'
    assert OWN.udfs == (MATCH,)
    assert OWN.kind is Kind.MEASURE


def test_faults_of_the_choice_are_refused() -> None:
    with pytest.raises(PpduckError, match=r'^own on "t": conf names column "c", which is of type VARCHAR'):
        OWN.plan(TwoTables(NoReader()), call("c"))


def test_an_answer_that_would_leave_the_keys_unchecked_is_refused() -> None:
    def careless(pairs: Pairs, call: ConfCall) -> sql.Expr:
        return sql.query([sql.named(sql.number(1), "n")])

    own = measure("own", ConfCall, "", "", choose=choose, answer=careless, results=OWN.results, example="")
    with pytest.raises(TypeError, match="own does not read _pp_check: DuckDB would not check that keys match"):
        own.plan(TwoTables(NoReader()), call("x"))


def test_every_measure_says_what_it_gives() -> None:
    for function in functions():
        if isinstance(function, Measure):
            assert function.results, function.name
            assert function.example.startswith(f"FROM {function.name}("), function.name
            assert MATCH in function.udfs, function.name
