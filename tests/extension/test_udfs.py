"""A Python function that DuckDB calls gets what it is declared to get, whatever DuckDB hands over."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from ppduck.call.spec import Spec
from ppduck.call.udf import Udf, Unsigned, told_udf
from ppduck.errors import PpduckError
from ppduck.extension.udfs import arrow_type, callable_by_duckdb
from ppduck.frozen import frozen
from ppduck.kernels.noise import KeyedNoise
from ppduck.notes import Speaker
from ppduck.query import tree as sql
from ppduck.values import Array

pytestmark = pytest.mark.core
NOISE = KeyedNoise(b"sixteen bytes or more")


@frozen
class Sums:
    rows: int
    sums: Array
    counts: list[float | None]
    label: str | None
    key: Unsigned


@frozen
class OwnSpec(Spec):
    columns: list[str]


def told(spec: OwnSpec, sums: Sums) -> list[float]:
    if sums.rows < 2:
        raise spec.refuse("too few rows.")
    assert isinstance(sums.sums, np.ndarray)
    assert sums.counts == [1.0, None]
    return [float(sums.rows), *sums.sums, float(len(spec.columns)), float(sums.key)]


TOLD = told_udf("told", told, OwnSpec, Sums, "DOUBLE[]")


def registered(con: duckdb.DuckDBPyConnection, udf: Udf) -> None:
    function = callable_by_duckdb(udf, Speaker(), lambda: NOISE)
    con.create_function(udf.name, function, list(udf.takes), udf.gives, null_handling="special", type="arrow")


def asked(rows: int) -> str:
    parts = {
        "rows": sql.number(rows),
        "sums": sql.array([sql.number(0.5), sql.null()], "DOUBLE"),
        "counts": sql.array([sql.number(1), sql.null()], "DOUBLE"),
        "label": sql.null(),
        "key": sql.number(2**63),
    }
    return sql.render(TOLD.in_sql(OwnSpec("f", "t", ["a", "b"]), parts))


def test_a_function_is_told_a_dataclass() -> None:
    with duckdb.connect() as con:
        registered(con, TOLD)
        [(found,)] = con.execute(f"SELECT {asked(3)}").fetchall()
    assert found[:2] == [3.0, 0.5]
    assert np.isnan(found[2])  # NULL in an array
    assert found[3:] == [2.0, 2.0**63]


def test_what_it_refuses_arrives() -> None:
    with duckdb.connect() as con:
        registered(con, TOLD)
        with pytest.raises(duckdb.InvalidInputException, match='PpduckError: f on "t": too few rows'):
            con.execute(f"SELECT {asked(1)}").fetchall()


def test_what_is_told_must_be_all_that_is_wanted() -> None:
    with pytest.raises(TypeError, match=r"told is told \['rows'\], and wants \['counts', 'key'"):
        TOLD.in_sql(OwnSpec("f", "t", []), {"rows": sql.number(1)})


def test_noise_comes_first() -> None:
    def drawn(noise: KeyedNoise, numbers: pa.Array) -> pa.Array:
        assert noise is NOISE
        return numbers

    with duckdb.connect() as con:
        registered(con, Udf("drawn", drawn, ("BIGINT",), "BIGINT", noise="keyed"))
        assert con.execute("SELECT drawn(7)").fetchall() == [(7,)]


@pytest.mark.parametrize(
    ("written", "arrow"),
    [
        ("DOUBLE[]", pa.list_(pa.float64())),
        ("UBIGINT", pa.uint64()),
        (
            'STRUCT("rule" VARCHAR, passed BOOLEAN)[]',
            pa.list_(pa.struct([("rule", pa.string()), ("passed", pa.bool_())])),
        ),
    ],
)
def test_types(written: str, arrow: pa.DataType) -> None:
    assert arrow_type(written) == arrow


def test_a_specification_is_read_as_it_was_written() -> None:
    spec = OwnSpec("f", "t", ["a", "b"])
    assert OwnSpec.read(spec.text()) == spec
    with pytest.raises(PpduckError, match=r'^f on "t": no$'):
        raise spec.refuse("no")
