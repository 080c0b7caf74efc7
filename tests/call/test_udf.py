"""Types of SQL follow from dataclasses, and a call in SQL tells exactly the fields."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ppduck.call.registry import Result
from ppduck.call.spec import Spec
from ppduck.call.udf import Unsigned, rows_type, told_types, told_udf
from ppduck.query import tree as sql
from ppduck.values import Array


@dataclass(frozen=True)
class Told:
    group: str | None
    rows: int
    token: Unsigned
    sums: Array
    values: list[float | None]


UDF = told_udf("a_function", lambda spec, told: None, Spec, Told, "DOUBLE")


def test_types_of_fields() -> None:
    assert told_types(Told) == {  # type: ignore[arg-type]
        "group": "VARCHAR", "rows": "BIGINT", "token": "UBIGINT", "sums": "DOUBLE[]", "values": "DOUBLE[]",
    }  # fmt: skip
    assert UDF.takes[1].startswith('STRUCT("group" VARCHAR, "rows" BIGINT')


def test_a_type_that_sql_does_not_have() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: complex

    with pytest.raises(TypeError, match="no type of DuckDB stands for"):
        told_udf("odd", lambda spec, told: None, Spec, Odd, "DOUBLE")


def test_a_call_tells_every_field() -> None:
    told = {name: sql.null() for name in ("group", "rows", "token", "sums", "values")}
    asked = sql.render(UDF.in_sql(Spec("f", "t"), told))
    assert asked.startswith("a_function('{")
    assert "CAST(NULL AS UBIGINT)" in asked
    with pytest.raises(TypeError, match="a_function is told"):
        UDF.in_sql(Spec("f", "t"), {"group": sql.null()})


def test_the_type_of_rows() -> None:
    results = (Result("column_name", "VARCHAR", "a column"), Result("value", "DOUBLE", "its value"))
    assert rows_type(results) == 'STRUCT("column_name" VARCHAR, "value" DOUBLE)[]'
