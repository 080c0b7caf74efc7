"""A policy beside a table: what does not fit is refused, all of it at once; masks never see what is not theirs."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.core

REST = "'s1': 'drop', 's2': 'drop', 'member': 'drop', 'region': 'drop', 'name': 'drop'"


def refusal(con: duckdb.DuckDBPyConnection, policy: str, tbl: str = "customers") -> str:
    with pytest.raises(duckdb.Error, match=r"release_table on \"") as raised:
        con.execute(f"FROM release_table('{tbl}', policy={policy})")
    return str(raised.value)


def test_every_column_of_the_table_must_be_named(customers: duckdb.DuckDBPyConnection) -> None:
    said = refusal(customers, "{'key': 'id', 'columns': {'id': 'drop', 'x1': {'mask': 'egadp'}, 'regoin': 'drop'}}")
    assert 'columns.regoin: the table has no column "regoin". Did you mean "region"?' in said
    assert 'of the table columns "s1", "s2", "member", "region", "name", "x2" are not named' in said


def test_a_column_that_appears_tomorrow_stops_the_release(customers: duckdb.DuckDBPyConnection) -> None:
    policy = f"{{'key': 'id', 'columns': {{'id': 'drop', {REST}, 'x1': 'drop', 'x2': {{'mask': 'egadp'}}}}}}"
    assert customers.execute(f"SELECT count(*) FROM release_table('customers', policy={policy})").fetchall() == [
        (1000,)
    ]
    customers.execute("ALTER TABLE customers ADD COLUMN ssn VARCHAR")
    assert 'of the table column "ssn" is not named' in refusal(customers, policy)


def test_faults_of_several_masks_arrive_together(customers: duckdb.DuckDBPyConnection) -> None:
    policy = (
        "{'key': 'id', 'columns': {'id': {'pseudonym': 'tokn'}, 's1': {'date': 'year'}, 's2': {'recode': {'wdth': 5}}, "
        "'member': 'drop', 'region': {'randomize': 0.8}, 'name': {'mask': 'egadp'}, 'x1': 'drop', 'x2': 'drop'}}"
    )
    said = refusal(customers, policy)
    for part in ("tokn", "date_mask on", "wdth", 'conf names column "name" of type VARCHAR'):
        assert part in said


@pytest.mark.parametrize("name", ["key", "qi", "batch"])
def test_columns_that_are_named_elsewhere_must_be_there(customers: duckdb.DuckDBPyConnection, name: str) -> None:
    said = refusal(customers, f"{{'{name}': 'idd', 'columns': {{'id': 'drop', {REST}, 'x1': 'drop', 'x2': 'drop'}}}}")
    assert f'{name} names column "idd", which the table does not have. Did you mean "id"?' in said


def test_a_mask_by_default_does_not_look_at_what_is_dropped(customers: duckdb.DuckDBPyConnection) -> None:
    policy = (
        "{'key': 'id', 'columns': {'id': 'drop', 's1': 'keep', 's2': 'drop', 'member': 'keep', 'region': 'drop', "
        "'name': 'drop', 'x1': {'mask': 'egadp'}, 'x2': 'drop'}}"
    )
    alone = "egadp_mask('customers', conf=['x1'], nonconf=['s1', 'member'], key='id')"
    one, other = (
        [x for (x,) in customers.execute(f"SELECT x1 FROM {rows}").fetchall()]
        for rows in (f"release_table('customers', policy={policy})", alone)
    )
    assert one == pytest.approx(other, rel=1e-11)


def test_staged_rows_have_the_key_and_its_pseudonym(customers: duckdb.DuckDBPyConnection) -> None:
    policy = f"{{'key': 'id', 'columns': {{'id': {{'pseudonym': 'token'}}, {REST}, 'x1': 'drop', 'x2': {{'mask': 'egadp'}}}}}}"
    relation = customers.sql(f"FROM release_table('customers', policy={policy}, staged=true)")
    assert relation.columns == ["id", "released_id", "x2"]
    released = customers.execute(f"SELECT id FROM release_table('customers', policy={policy})").fetchall()
    assert [row[1:2] for row in relation.fetchall()] == released


def test_temporary_tables_cannot_be_judged_by_name(customers: duckdb.DuckDBPyConnection) -> None:
    customers.execute("CREATE TEMP TABLE passing AS SELECT 1 AS id")
    said = refusal(customers, "{'columns': {'id': 'drop'}}", "passing")
    assert "a policy cannot tell whether it names every column" in said


BATCHED = (
    "{{'key': 'id', 'batch': 'region', 'smallest_batch': {}, 'columns': {{'id': 'drop', 's1': 'drop', 's2': 'drop', "
    "'member': {}, 'region': 'keep', 'name': 'drop', 'x1': {{'mask': 'egadp'}}, 'x2': 'drop'}}, "
    "'masks': {{'egadp': {{'nonconf': ['s1']}}}}}}"
)


def test_each_batch_is_masked_by_itself(customers: duckdb.DuckDBPyConnection) -> None:
    policy = BATCHED.format(250, "'drop'")
    rows = "SELECT region, avg(x1), var_samp(x1) FROM {} GROUP BY region ORDER BY region"
    masked = customers.execute(rows.format(f"release_table('customers', policy={policy})")).fetchall()
    original = customers.execute(rows.format("customers")).fetchall()
    assert [row[0] for row in masked] == [row[0] for row in original]
    for one, other in zip(masked, original, strict=True):
        assert one[1:] == pytest.approx(other[1:], rel=1e-9)
    later = f"release_table('customers', policy={policy}, after='north')"
    assert [row[0] for row in customers.execute(rows.format(later)).fetchall()] == ["south", "west"]


def test_where_no_batch_is_large_enough_there_are_columns_and_no_rows(customers: duckdb.DuckDBPyConnection) -> None:
    relation = customers.sql(
        f"FROM release_table('customers', policy={BATCHED.format(5000, chr(39) + 'drop' + chr(39))})"
    )
    assert relation.columns == ["region", "x1"]
    assert relation.fetchall() == []


def test_randomized_batches_need_the_whole_domain(customers: duckdb.DuckDBPyConnection) -> None:
    assert 'column "member" is randomized batch by batch' in refusal(
        customers, BATCHED.format(250, "{'randomize': 0.8}")
    )
    known = "{'randomize': {'p': 0.8, 'levels': [true, false]}}"
    customers.execute(f"FROM release_table('customers', policy={BATCHED.format(250, known)})")


def test_after_is_of_batches(customers: duckdb.DuckDBPyConnection) -> None:
    policy = f"{{'columns': {{'id': 'drop', {REST}, 'x1': 'drop', 'x2': 'keep'}}}}"
    with pytest.raises(duckdb.Error, match=r"after is of batches, and the policy has none"):
        customers.execute(f"FROM release_table('customers', policy={policy}, after='x')")
