"""What every mask owes its user, whichever method it is."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.call.guarantees import LossKind, Promise
from ppduck.call.numeric_mask import NumericMask
from tests.laws import assert_same_moments, insert, matrix, random_table, residuals
from tests.registry_calls import masks_of_numbers, more, takes, usual_call

pytestmark = pytest.mark.core

OF_NUMBERS = {mask.name: mask for mask in masks_of_numbers()}
MASKS = list(OF_NUMBERS)


def that(promise: Promise) -> list[str]:
    """The masks that promise this."""
    return [name for name, mask in OF_NUMBERS.items() if mask.promises(promise, usual_call(mask))]


EXACT = that(Promise.MOMENTS)
PERMUTING = that(Promise.VALUES)
REFUSES_NULL = that(Promise.ALIKE_ROWS)  # a group's mean over fewer than k values would hide less
# Masks whose values may by chance be the originals, a few in a thousand rows.
ON_QUANTILES = {*PERMUTING, *that(Promise.RANGE), *that(Promise.DISTRIBUTION), *that(Promise.NEARBY)}


def call(mask: str, table: str = "customers", conf: str = "['x1', 'x2']", with_: str = "") -> str:
    return f"{mask}('{table}', conf={conf}{more(OF_NUMBERS[mask])}{with_})"


def test_there_are_masks_of_every_kind() -> None:
    assert MASKS
    assert EXACT
    assert PERMUTING
    assert set(EXACT).isdisjoint(PERMUTING)
    assert all(isinstance(mask, NumericMask) and mask.explain is not None for mask in OF_NUMBERS.values())


def assert_changed(mask: str, apart: np.ndarray) -> None:
    """Every value is another one; for masks that work on ranks, all but a few by chance."""
    same = np.abs(apart) <= 1e-9
    assert same.mean() < (0.02 if mask in ON_QUANTILES else 1e-9)


@pytest.mark.parametrize("mask", MASKS)
def test_columns_stay_in_place_and_only_conf_changes(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    before = customers.sql("FROM customers")
    after = customers.sql(f"FROM {call(mask)}")
    assert after.columns == before.columns
    assert after.types == before.types
    rest = "SELECT id, s1, s2, member, region, name FROM {} ORDER BY id"
    assert (
        customers.execute(rest.format(call(mask))).fetchall() == customers.execute(rest.format("customers")).fetchall()
    )
    conf = "SELECT x1, x2 FROM {} ORDER BY id"
    changed = matrix(customers, conf.format(call(mask))) - matrix(customers, conf.format("customers"))
    assert (np.abs(changed) > 1e-9).mean() > 0.99


@pytest.mark.parametrize("mask", MASKS)
def test_the_named_column_is_masked_where_names_differ_by_an_umlaut(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    """To DuckDB "Ä" and "ä" are two columns: masking the other one would release the confidential one."""
    con.execute('CREATE TABLE t AS SELECT i AS id, sin(i) AS "Ä", cos(i * 5) AS "ä" FROM range(200) r(i)')
    query = 'SELECT "{}" FROM {} ORDER BY id'
    for named, other in (("Ä", "ä"), ("ä", "Ä")):
        released = call(mask, "t", f"['{named}']", ", key='id'")
        changed = matrix(con, query.format(named, released)) - matrix(con, query.format(named, "t"))
        assert_changed(mask, changed)
        assert (matrix(con, query.format(other, released)) == matrix(con, query.format(other, "t"))).all()


@pytest.mark.parametrize("mask", MASKS)
def test_drop_leaves_columns_out(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    released = customers.sql(f"FROM {call(mask, with_=', drop=[name, id]')}")
    assert released.columns == ["s1", "s2", "member", "region", "x1", "x2"]


@pytest.mark.parametrize("mask", [mask for mask in MASKS if mask not in REFUSES_NULL])
def test_null_stays_null_and_the_rest_of_its_row_is_masked(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    customers.execute(
        "UPDATE customers SET x1 = NULL WHERE id % 10 = 0; UPDATE customers SET x2 = NULL WHERE id % 15 = 0"
    )
    query = "SELECT id, x1, x2 FROM {} ORDER BY id"
    before = customers.execute(query.format("customers")).fetchall()
    after = customers.execute(query.format(call(mask))).fetchall()
    for column in (1, 2):
        assert [old[column] is None for old in before] == [new[column] is None for new in after]
        there = [(old[column], new[column]) for old, new in zip(before, after, strict=True) if old[column] is not None]
        assert 800 < len(there) < 1000
        assert_changed(mask, np.array(there) @ [1, -1])
    if mask in EXACT:
        complete = "SELECT s1, s2, x1, x2 FROM {} WHERE x1 IS NOT NULL AND x2 IS NOT NULL ORDER BY id"
        assert_same_moments(
            matrix(customers, complete.format("customers")), matrix(customers, complete.format(call(mask)))
        )


@pytest.mark.parametrize("mask", MASKS)
def test_the_same_rows_from_one_thread_or_two_in_any_order_at_any_time(
    con: duckdb.DuckDBPyConnection, mask: str
) -> None:
    # Networks are shown one value after the other.
    values = random_table(np.random.default_rng(1), 3_000 if mask == "onn_mask" else 30_000, 2, 2)
    insert(con, "t", ["s1", "s2", "x1", "x2"], values)
    con.execute("CREATE TABLE shuffled AS FROM t ORDER BY hash(id)")
    results = []
    for threads, table in ((1, "t"), (2, "t"), (2, "t"), (2, "shuffled")):
        con.execute(f"SET threads = {threads}")
        results.append(matrix(con, f"SELECT x1, x2 FROM {call(mask, table, with_=', key=id')} ORDER BY id"))
    for other in results[1:]:
        np.testing.assert_allclose(results[0], other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mask", EXACT)
def test_by_keeps_every_group_and_the_union(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    customers.execute("CREATE TABLE t AS SELECT *, if(id % 7 < 2, NULL, id % 7 < 5) AS part FROM customers")
    query = "SELECT s1, s2, x1, x2 FROM {} WHERE {} ORDER BY id"
    released = call(mask, "t", with_=", key=id, nonconf=[s1, s2], strata=['region', part]")
    groups = ["true"] + [
        f"region = '{r}' AND part IS NOT DISTINCT FROM {p}" for r in ("east", "west") for p in ("true", "NULL")
    ]
    for group in groups:
        original = matrix(customers, query.format("t", group))
        assert len(original) > 20
        assert_same_moments(original, matrix(customers, query.format(released, group)))


@pytest.mark.parametrize("mask", MASKS)
def test_integers_and_decimals_come_back_rounded_where_asked(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    con.execute(
        """
        CREATE TABLE t AS SELECT i AS id, sin(i) AS s, (30 * sin(i * i * 0.3))::TINYINT AS tiny,
               (1000 + 50 * cos(i * i * 0.7))::UINTEGER AS big, (20 * cos(i * i * 1.7))::DECIMAL(8, 2) AS money,
               sin(i * i * 0.5)::FLOAT AS real
        FROM range(500) AS r(i)
        """
    )
    conf = "['tiny', 'big', 'money', 'real']"
    if not takes(OF_NUMBERS[mask], "round"):
        assert mask in PERMUTING  # they are the originals, and there is nothing to round
        assert con.sql(f"FROM {call(mask, 't', conf)}").types == con.sql("FROM t").types
        with pytest.raises(duckdb.InvalidInputException, match=f"{mask}: there is no parameter 'round'"):
            con.execute(f"FROM {call(mask, 't', conf, ', round=true')}")
        return
    plain = con.sql(f"FROM {call(mask, 't', conf)}")
    assert set(map(str, plain.types[2:])) == {"DOUBLE"}
    rounded = con.sql(f"FROM {call(mask, 't', conf, ', round=true')}")
    assert list(map(str, rounded.types[2:])) == ["TINYINT", "BIGINT", "DECIMAL(8,2)", "DOUBLE"]
    apart = con.execute(
        f"""
        SELECT max(abs(a.tiny - b.tiny)), max(abs(a.big - b.big)), max(abs(a.money - b.money))
        FROM {call(mask, "t", conf)} a JOIN {call(mask, "t", conf, ", round=true")} b USING (id)
        WHERE abs(a.tiny) < 127
        """
    ).fetchone()
    assert apart is not None
    assert 0 < apart[0] <= 0.5
    assert 0 < apart[1] <= 0.5
    assert 0 < apart[2] <= 0.005 + 1e-12


@pytest.mark.parametrize("mask", MASKS)
def test_odd_names_work_everywhere(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    names = ['odd "name', "select", "it's", "名前", "a b", "semi;colon"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"sin(i * {k + 2}) + random() AS {name}" for k, name in enumerate(quoted))
    con.execute(
        f'CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."it\'s a ""table" AS SELECT i AS "key", {columns} FROM range(300) AS r(i)'
    )

    def literal(*indices: int) -> str:
        return "[" + ", ".join("'" + names[i].replace("'", "''") + "'" for i in indices) + "]"

    table = '"my schema"."it\'\'s a ""table"'
    nonconf = f", nonconf={literal(2, 3)}" if takes(OF_NUMBERS[mask], "nonconf") else ""
    conf, others = literal(0, 1), f"{nonconf}, drop={literal(4)}, key='key'"
    released = con.sql(f"FROM {call(mask, table, conf, others)}")
    assert released.columns == ["key", *names[:4], names[5]]
    assert len(released.fetchall()) == 300
    if mask in EXACT:
        used = ", ".join(quoted[:4])
        original = matrix(con, f'SELECT {used} FROM "my schema"."it\'s a ""table"')
        assert_same_moments(original, matrix(con, f"SELECT {used} FROM {call(mask, table, conf, others)}"))


@pytest.mark.parametrize("mask", MASKS)
def test_on_null_drop_and_mean(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    customers.execute("UPDATE customers SET s1 = NULL WHERE id % 20 = 0")
    if not takes(OF_NUMBERS[mask], "on_null"):
        with pytest.raises(duckdb.InvalidInputException, match="there is no parameter 'on_null'"):
            customers.execute(f"FROM {call(mask, with_=', on_null=drop')}")
        return
    if OF_NUMBERS[mask].reads_s:
        with pytest.raises(
            duckdb.InvalidInputException, match=r'nonconf column "s1" has NULL in 50 of 1000 rows\. Leave'
        ):
            customers.execute(f"FROM {call(mask)}")
        dropped = customers.execute(f"SELECT count(*), count(s1) FROM {call(mask, with_=', on_null=drop')}").fetchone()
        assert dropped == (950, 950)
    kept = customers.execute(
        f"SELECT count(*), count(s1), count(x1) FROM {call(mask, with_=', on_null=mean')}"
    ).fetchone()
    assert kept == (1000, 950, 1000)


def test_a_missing_value_counts_as_average(con: duckdb.DuckDBPyConnection) -> None:
    """NULL in nonconf under on_null mean, and NULL in one conf column, as if the column's mean stood there."""
    values = random_table(np.random.default_rng(2), 400, 1, 2)
    insert(con, "t", ["s", "x", "y"], values)
    con.execute("CREATE TABLE gaps AS SELECT id, if(id < 40, NULL, s) AS s, x, y FROM t")
    con.execute("CREATE TABLE filled AS SELECT * REPLACE (coalesce(s, (SELECT avg(s) FROM gaps)) AS s) FROM gaps")
    assert_same_moments(
        matrix(con, "SELECT s, x, y FROM filled ORDER BY id"),
        matrix(
            con,
            """
            SELECT f.s, m.x, m.y FROM filled f
            JOIN egadp_mask('gaps', conf=['x', 'y'], nonconf=['s'], on_null='mean', key='id') m USING (id) ORDER BY id
            """,
        ),
    )
    con.execute("UPDATE t SET y = NULL WHERE id < 40")
    masked = matrix(con, "SELECT s, x FROM egadp_mask('t', conf=['x', 'y'], nonconf=['s'], key='id') ORDER BY id")
    left = residuals(masked[:, 1:], masked[:, :1])
    assert abs(left[:40].mean()) < 4 * left.std() / np.sqrt(40), "incomplete rows follow the same line"
    assert left[:40].std() == pytest.approx(left[40:].std(), rel=0.35)


@pytest.mark.parametrize("mask", MASKS)
def test_what_is_known_about_extremes_is_told(customers: duckdb.DuckDBPyConnection, mask: str) -> None:
    registered = OF_NUMBERS[mask]
    lost = [str(each) for each in registered.lost(usual_call(registered)) if each.kind is LossKind.EXTREMES]
    assert lost, f"{mask} has no Loss of LossKind.EXTREMES: what becomes of the secrecy of extremes?"
    told = call(mask).removeprefix(f"{mask}(")
    query = f"SELECT note FROM mask_explain('{mask}', {told} WHERE role = 'not guaranteed'"
    assert set(lost) <= {note for (note,) in customers.execute(query).fetchall()}
