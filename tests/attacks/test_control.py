"""A control that has people of the release in it is refused, whatever their keys; other people are let pass."""

from __future__ import annotations

import duckdb
import pytest

from tests.attacks.conftest import ROWS, Attack

pytestmark = pytest.mark.core
FEW = "['segment']"
AGE = ", known=['age']"
REFUSED = r'release_attack on "t": control has people of "t" in it'
VALUES = r"{} of its {} rows have known and conf values that exactly one row of \"t\" has"
KEYS = r"{} of its {} rows have the key and all known and conf values of a row of \"t\""


@pytest.mark.parametrize(
    "attacked", ["singling_out", "linkability", "inference", "membership", "order", "differencing"]
)
def test_the_original_is_no_control_of_any_attack(
    people: duckdb.DuckDBPyConnection, attack: Attack, attacked: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=REFUSED):
        attack("t", attacked, ", control='t'")


@pytest.mark.parametrize(
    ("control", "same", "rows"),
    [
        ("FROM t WHERE id % 2 = 0", ROWS // 2, ROWS // 2),
        ("SELECT * EXCLUDE (id) FROM t", ROWS, ROWS),
        ("SELECT * REPLACE (id + 7 AS id) FROM t", ROWS, ROWS),
        (f"FROM t WHERE id < 300 UNION ALL FROM others WHERE id < {2 * ROWS - 300}", 300, ROWS),
    ],
)
def test_parts_of_the_original_are_found_by_their_values(
    people: duckdb.DuckDBPyConnection, attack: Attack, control: str, same: int, rows: int
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=f"{REFUSED}.*{VALUES.format(same, rows)}"):
        attack("t", "order", f", control='({control})'")


def test_of_few_values_the_same_people_are_found_by_key(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    for id_ in ("id", "CAST(id AS VARCHAR)", "id::DOUBLE"):
        with pytest.raises(duckdb.InvalidInputException, match=f"{REFUSED}.*{KEYS.format(ROWS, ROWS)}"):
            attack("t", "order", f", control='(SELECT {id_} AS id, age, segment FROM t)'{AGE}", FEW)


@pytest.mark.parametrize("known", ["", ", known=['segment']"])
@pytest.mark.parametrize(
    "control",
    [
        "others",
        f"(SELECT * REPLACE (id - {ROWS} AS id) FROM others)",
        "(SELECT * EXCLUDE (id) FROM others)",
        "(FROM others LIMIT 7)",
        "(FROM others WHERE false)",
        f"(SELECT others.* FROM others, range(5) WHERE others.id < {ROWS + 200})",
    ],
)
def test_other_people_are_let_pass_whatever_their_keys(
    people: duckdb.DuckDBPyConnection, attack: Attack, control: str, known: str
) -> None:
    assert attack("t", "differencing", f", control='{control}'{known}")
    assert attack("t", "differencing", f", control='{control}'{AGE}", FEW)


@pytest.mark.parametrize("order", ["segment, age", "hash(id)"])
def test_few_values_in_the_order_of_new_keys_are_let_pass(
    people: duckdb.DuckDBPyConnection, attack: Attack, order: str
) -> None:
    for table in ("t", "others"):
        people.execute(
            f"CREATE OR REPLACE TABLE {table} AS SELECT row_number() OVER (ORDER BY {order}) AS id, "
            f"age // 20 AS age, segment FROM {table}"
        )
    assert attack("t", "order", f", control='others'{AGE}", FEW)
    if order == "hash(id)":  # of sorted people neighbours have the same, too
        with pytest.raises(duckdb.InvalidInputException, match=KEYS.format(ROWS, ROWS)):
            attack("t", "order", f", control='t'{AGE}", FEW)


def test_keys_that_do_not_match_are_refused_first(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="do not match one to one"):
        attack("others", "singling_out", ", control='t'")


def test_a_refusal_quotes_no_value(people: duckdb.DuckDBPyConnection, attack: Attack) -> None:
    people.execute("UPDATE t SET segment = 'sesame', income = 123456.5 + id")
    with pytest.raises(duckdb.InvalidInputException, match=REFUSED) as refused:
        attack("t", "inference", ", control='t'")
    assert "sesame" not in str(refused.value)
    assert "123456" not in str(refused.value)
