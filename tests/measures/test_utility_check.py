"""utility_check(): the printed R², what numpy computes of the same rows, and what is to be seen of a spoilt release."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ppduck.errors import PpduckWarning
from tests.laws import insert, matrix, r_squared
from tests.masks.store import make

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
STORE = "conf=['x1','x2'], nonconf=['s1','s2'], key='id'"
LEVELS = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]


def checked(ask: Ask, original: str, masked: str, more: str = STORE) -> dict[str, dict[str, Any]]:
    return {row["item"]: row for row in ask(f"FROM utility_check('{original}', '{masked}', {more})")}


def of_kind(found: dict[str, dict[str, Any]], *kinds: str) -> list[dict[str, Any]]:
    return [row for row in found.values() if row["kind"] in kinds]


@pytest.fixture
def normal(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Two open and two confidential columns that hang together."""
    rng = np.random.default_rng(3)
    s = rng.normal(size=(500, 2))
    x = s @ np.array([[0.7, 0.2], [0.1, 0.5]]) + rng.normal(size=(500, 2))
    insert(con, "t", ["s1", "s2", "x1", "x2"], np.column_stack([s, x]) * [1, 5, 1000, 0.01] + [0, 100, 1e6, -3])
    return con


def test_the_store_is_explained_as_printed(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """R² of ME.L, printed: X1|S 92.85 before and 92.81 after, X1|X2 85.73 and 85.65 (method 1).

    R² of one sample of 1,000 has a standard error of about 2·R·(1 - R²)/√n. X1|S,X2, printed as 93.95 and 92.20, is of the
    rows that were learnt; ours are of rows left out, to which X2 adds nothing: the residuals are independent.
    """
    make(con, "ME.L")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        con.execute(f"CREATE TABLE masked AS FROM nm_egadp_mask('store', {STORE})")
    con.execute(f"CREATE TABLE egadp AS FROM egadp_mask('store', {STORE})")
    found = checked(ask, "store", "masked", STORE + ", model='kernel'")
    for item, before, after in (("x1 | S", 0.9285, 0.9281), ("x1 | other X", 0.8573, 0.8565)):
        error = 2 * np.sqrt(before) * (1 - before) / np.sqrt(1000)
        assert found[item]["original"] == pytest.approx(before, abs=3 * np.sqrt(2) * error)
        assert found[item]["release"] == pytest.approx(after, abs=3 * np.sqrt(2) * error)
        assert abs(found[item]["difference"]) < 3 * error
        assert found[item]["slope_region"] < 0.03
    assert found["x1 | S, other X"]["original"] == pytest.approx(found["x1 | S"]["original"], abs=0.01)
    assert all(row["passed"] for row in found.values())

    spoilt = checked(ask, "store", "egadp", "conf='x1', nonconf=['s1','s2'], key='id', model='kernel'")
    assert all(row["passed"] for row in of_kind(spoilt, "moment", "regression"))
    assert spoilt["x1 | S"]["release"] < 0.1 < 0.9 < spoilt["x1 | S"]["original"]
    assert not spoilt["x1 | S"]["passed"]


def test_six_classes_in_one_table(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    rows = of_kind(found := checked(ask, "t", "t"), "relationship")
    given = ("S", "other X", "S, other X")
    assert [row["item"] for row in rows] == [f"{x} | {by}" for x in ("x1", "x2") for by in given]
    assert [row["kind"] for row in found.values()] == sorted(
        (row["kind"] for row in found.values()), key=["moment", "regression", "quantile", "relationship"].index
    )
    for name in ("mean of x1", "sd of x2", "correlation of x1, x2", "correlation of x2, s1"):
        assert found[name]["kind"] == "moment"
    assert {"x1 on nonconf: s1", "x1 on nonconf: R²", "x2 at 5 %", "x1 at 99 %"} < set(found)


def test_what_there_is_not_is_left_out(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    alone = checked(ask, "t", "t", "conf='x1', nonconf=[]::VARCHAR[], key='id'")
    assert {row["kind"] for row in alone.values()} == {"moment", "quantile"}
    without_s = checked(ask, "t", "t", "conf=['x1','x2'], nonconf=[]::VARCHAR[], key='id'")
    assert [row["item"] for row in of_kind(without_s, "relationship")] == ["x1 | other X", "x2 | other X"]
    single = checked(ask, "t", "t", "conf='x1', nonconf=['s1','s2'], key='id'")
    assert [row["item"] for row in of_kind(single, "relationship")] == ["x1 | S"]
    assert set(checked(ask, "t", "t", "conf=['x1','x2'], key='id'")) == set(checked(ask, "t", "t"))


@pytest.mark.parametrize("model", ["linear", "kernel"])
def test_a_copy_keeps_everything(normal: duckdb.DuckDBPyConnection, ask: Ask, model: str) -> None:
    normal.execute("CREATE TABLE wide AS SELECT *, 7.1 AS c, 0.3 AS x3 FROM t")
    normal.execute("CREATE TABLE copy AS FROM wide ORDER BY hash(id)")
    more = f"conf=['x1','x3'], nonconf=['s1','s2','c'], key='id', tolerance=0, model='{model}'"
    found = checked(ask, "wide", "copy", more)
    assert {row["difference"] for row in found.values()} == {0}
    assert {row["slope_region"] for row in of_kind(found, "relationship")} == {0}
    assert all(row["passed"] for row in found.values())


def test_egadp_keeps_what_it_promises(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute(f"CREATE TABLE r AS FROM egadp_mask('t', {STORE})")
    found = checked(ask, "t", "r")
    for row in of_kind(found, "moment", "regression", "relationship"):
        assert abs(row["difference"]) < 1e-9
    assert all(row["slope_region"] < 1e-9 for row in of_kind(found, "relationship"))
    assert all(row["passed"] for row in found.values())


def test_noise_is_seen_where_it_does_harm(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2'], level=1.0, key='id', seed=1)")
    found = checked(ask, "t", "r")
    assert found["mean of x1"]["passed"]
    assert not found["sd of x1"]["passed"]
    assert found["sd of x1"]["difference"] == pytest.approx(np.sqrt(2) - 1, abs=0.1)
    assert not found["x1 on nonconf: R²"]["passed"]
    assert not found["x1 at 99 %"]["passed"]
    assert not found["x1 | other X"]["passed"]


def test_no_relation_is_none_to_lose(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Slopes of noise on noise are anything; a relation that is made up is no likeness though."""
    rng = np.random.default_rng(8)
    s, x = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1))
    insert(normal, "a", ["s", "x"], np.column_stack([s, x]))
    insert(normal, "b", ["s", "x"], np.column_stack([s, rng.normal(size=2000)]))
    insert(normal, "c", ["s", "x"], np.column_stack([s, x + s]))
    row = checked(ask, "a", "b", "conf='x', key='id'")["x | S"]
    assert row["slope_region"] > 0.25
    assert row["passed"]
    assert "no relation" in row["meaning"]
    assert not checked(ask, "a", "c", "conf='x', key='id'")["x | S"]["passed"]


def test_chance_is_allowed_for(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Two samples of one law differ by more than two standard errors once in 22 times; without allowance ever so often."""
    rng, held, n = np.random.default_rng(5), [], 400
    mixing = np.array([[1, 0.5, 0.3], [0, 1, 0.4], [0, 0, 1]])
    for _ in range(8):
        for name in "ab":
            insert(con, name, ["s", "x1", "x2"], rng.normal(size=(n, 3)) @ mixing)
        found = checked(ask, "a", "b", "conf=['x1','x2'], key='id', tolerance=0")
        held += [row["passed"] for row in of_kind(found, "moment", "regression", "quantile")]
    assert 0.9 < np.mean(held) < 0.99


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 3), q=st.integers(1, 3))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_what_numpy_computes(con: duckdb.DuckDBPyConnection, ask: Ask, seed: int, p: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    s, x = [f"s{i}" for i in range(p)], [f"x{j}" for j in range(q)]
    shift, mixing = rng.normal(size=p + q) * 1e3, rng.normal(size=(p + q, p + q)) + np.eye(p + q)
    a, b = (rng.normal(size=(70, p + q)) @ mixing + shift for _ in range(2))
    for name, data in (("a", a), ("b", b)):
        insert(con, name, s + x, data)
    conf = ", ".join(f"'{name}'" for name in x)
    found = checked(ask, "a", "b", f"conf=[{conf}], key='id'")

    def assert_pair(item: str, before: float, after: float, unit: float = 1.0) -> None:
        row = found[item]
        assert (row["original"], row["release"]) == pytest.approx((before, after), rel=1e-6, abs=1e-7)
        assert row["difference"] == pytest.approx((after - before) / unit, rel=1e-5, abs=1e-6)

    for j, name in enumerate(x):
        of_a, of_b = a[:, p + j], b[:, p + j]
        sd = of_a.std(ddof=1)
        assert_pair(f"mean of {name}", of_a.mean(), of_b.mean(), sd)
        assert_pair(f"sd of {name}", sd, of_b.std(ddof=1), sd)
        for level in LEVELS:
            assert_pair(f"{name} at {100 * level:g} %", np.quantile(of_a, level), np.quantile(of_b, level), sd)
        lines = [np.linalg.lstsq(d[:, :p] - d[:, :p].mean(axis=0), d[:, p + j] - d[:, p + j].mean(), rcond=None)[0] for d in (a, b)]  # fmt: skip
        for i, label in enumerate(s):
            assert_pair(f"{name} on nonconf: {label}", lines[0][i], lines[1][i], sd / a[:, i].std(ddof=1))
            assert_pair(f"correlation of {name}, {label}", *(np.corrcoef(d[:, i], d[:, p + j])[0, 1] for d in (a, b)))
        others = [k for k in range(p, p + q) if k != p + j]
        assert_pair(f"{name} on nonconf: R²", *(r_squared(d[:, p + j], d[:, :p]) for d in (a, b)))
        if others:
            assert_pair(f"{name} | other X", *(r_squared(d[:, p + j], d[:, others]) for d in (a, b)))
            by = [*range(p), *others]
            assert_pair(f"{name} | S, other X", *(r_squared(d[:, p + j], d[:, by]) for d in (a, b)))


def test_rows_with_null_are_left_out_and_order_says_nothing(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE r AS SELECT * FROM noise_mask('t', conf=['x1','x2'], level=0.1, key='id', seed=1) ORDER BY hash(id)")  # fmt: skip
    expected = checked(ask, "(FROM t WHERE id >= 40)", "(FROM r WHERE id >= 40)")
    normal.execute("UPDATE t SET x1 = NULL WHERE id < 20; UPDATE r SET s2 = NULL WHERE id BETWEEN 20 AND 39")
    found = checked(ask, "t", "r")
    assert {row["rows"] for row in found.values()} == {460}
    for item, row in expected.items():
        numbers = [name for name in ("original", "release", "difference", "slope_region") if row[name] is not None]
        assert [found[item][name] for name in numbers] == pytest.approx([row[name] for name in numbers], rel=1e-6)


def test_categories_are_told_level_by_level(customers: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Levels that were swapped at random in the release no longer go with x1."""
    customers.execute("UPDATE customers SET x1 = x1 + 100 WHERE region = 'north'")
    customers.execute("CREATE TABLE r AS SELECT * REPLACE (['east', 'north', 'south', 'west'][1 + (hash(id) % 4)::INT] AS region) FROM customers")  # fmt: skip
    for model in ("linear", "kernel"):
        found = checked(ask, "customers", "r", f"conf=['x1'], nonconf=['member','region'], key='id', model='{model}'")
        assert found["x1 on nonconf: region = north"]["original"] == pytest.approx(100, abs=2)
        assert not found["x1 on nonconf: region = north"]["passed"]
        assert not found["x1 | S"]["passed"]
        assert found["mean of x1"]["difference"] == 0


def test_a_large_table_one_thread_or_two(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute("CREATE TABLE a AS SELECT i AS id, sin(i * 1.7) AS s, s + 5 + sin(i * 2.9) AS x FROM range(22000) r(i)")
    con.execute("CREATE TABLE b AS SELECT * REPLACE (x + 0.1 * cos(id * 3.3) AS x) FROM a")
    found = []
    for threads in (1, 2):
        con.execute(f"SET threads = {threads}")
        found.append(checked(ask, "a", "b", "conf='x', key='id', model='kernel'"))
    assert found[0]["mean of x"]["rows"] == 22_000
    assert 19_000 < found[0]["x | S"]["rows"] < 20_600
    for item, row in found[0].items():
        assert found[1][item]["difference"] == pytest.approx(row["difference"], abs=1e-9)
    assert matrix(con, "SELECT count(*) FROM utility_check('a', 'b', conf='x', key='id')")[0, 0] == len(found[0])


def test_quoted_names_and_views(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute('CREATE TABLE "odd table" AS SELECT id AS "the ""id""", s1 AS "select", x1 AS "x 1" FROM t')
    normal.execute("""CREATE VIEW masked_view AS FROM egadp_mask('"odd table"', conf=['x 1'], nonconf=['select'], key='the "id"')""")  # fmt: skip
    found = checked(ask, '"odd table"', "masked_view", """conf='X 1', key='the "id"'""")
    assert found["x 1 on nonconf: select"]["difference"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', 'r', conf=['x1','x9'], key='id'", r'conf names column "x9", which does not exist. Did you mean "x'),
        ("'t', 'r', conf=['x1'], nonconf=['x1'], key='id'", r'column "x1" is in both conf and nonconf'),
        ("'t', '(SELECT id, x1 FROM r)', conf='x1', nonconf='s1', key='id'", r'nonconf names column "s1", which .* does not have'),
        ("'t', '(SELECT * REPLACE (x1::VARCHAR AS x1) FROM r)', conf='x1', key='id'", r'column "x1", which is of type VARCHAR'),
        ("'t', 'r', conf=[], key='id'", r"conf is empty"),
        ("'t', 'r', conf='x1', key='id', tolerance=2", r"tolerance must be from 0 to 1"),
        ("'t', '(FROM r WHERE id > 8)', conf='x1', key='id'", r"9 of the 500 rows of \"t\" have no partner"),
        ("'(FROM t LIMIT 5)', '(FROM t LIMIT 5)', conf=['x1','x2'], nonconf=['s1','s2'], key='id'", r"5 pairs without NULL are too few for a linear model with 3 inputs; 6 are needed"),
        ("'(FROM t LIMIT 20)', '(FROM t LIMIT 20)', conf='x1', key='id', model='kernel'", r"20 pairs without NULL are too few for a kernel model; 30"),
        ("'(FROM t WHERE false)', '(FROM t WHERE false)', conf='x1', key='id'", r"there is no pair of rows without NULL"),
        ("'t', 'nan', conf='x1', key='id'", r'NaN, infinity or a number too large to square is in "masked x1"'),
    ],
)  # fmt: skip
def test_bad_input_is_told(normal: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    normal.execute("CREATE TABLE r AS FROM t")
    normal.execute(
        "CREATE TABLE nan AS SELECT * REPLACE (CASE WHEN id = 3 THEN 'inf'::DOUBLE ELSE x1 END AS x1) FROM t"
    )
    with pytest.raises(duckdb.InvalidInputException, match=message):
        normal.execute(f"FROM utility_check({call})").fetchall()
