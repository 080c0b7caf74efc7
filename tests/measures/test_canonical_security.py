"""canonical_security(): the printed canonical correlations, the laws, and how rows are matched."""

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
from tests.laws import insert, matrix
from tests.masks.examples import three_banks
from tests.masks.store import make

pytestmark = pytest.mark.core
Ask = Callable[[str], list[dict[str, Any]]]
CALL = "FROM canonical_security('{}', '{}', conf=['x1','x2'], nonconf=['s1','s2'], key='id'{})"


def values(ask: Ask, query: str) -> dict[str, float]:
    return {row["measure"]: row["value"] for row in ask(query)}


def verdicts(ask: Ask, query: str) -> dict[str, bool]:
    return {row["measure"]: row["passed"] for row in ask(query) if row["passed"] is not None}


@pytest.fixture
def normal(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Two open and two confidential columns that hang together."""
    rng = np.random.default_rng(3)
    s = rng.normal(size=(500, 2))
    x = s @ np.array([[0.7, 0.2], [0.1, 0.5]]) + rng.normal(size=(500, 2))
    insert(con, "t", ["s1", "s2", "x1", "x2"], np.column_stack([s, x]) * [1, 5, 1000, 0.01] + [0, 100, 1e6, -3])
    return con


def test_the_three_banks_come_out_as_printed(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    data, banks = three_banks()
    insert(con, "bank", ["s1", "s2", "s3", "x1", "x2", "x3", "bank"], np.column_stack([data, banks]))
    conf = "conf=['x1','x2','x3'], nonconf=['s1','s2','s3'], key"
    con.execute(f"CREATE TABLE release AS FROM egadp_mask('bank', {conf}='id', strata=['bank'])")
    found = values(ask, f"FROM canonical_security('bank', 'release', {conf}='id')")
    assert round(found["cc_x_s"], 4) == round(found["cc_x_sy"], 4) == 0.8940
    assert round(found["cc_x_y"], 4) == 0.7993


PRINTED = {"ME.L": (0.983, 0.966), "MV1": (0.880, 0.774), "MV2": (0.673, 0.453)}


@pytest.mark.parametrize("name", PRINTED)
def test_the_store_by_its_learnt_means_comes_out_as_printed(
    con: duckdb.DuckDBPyConnection, ask: Ask, name: str
) -> None:
    """CC² is a squared correlation: of one sample of 1,000 it has a standard error of about 2·CC·(1 - CC²)/√n."""
    by_u, by_y = PRINTED[name]
    found = []
    for seed in range(3):
        make(con, name, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PpduckWarning)
            con.execute(
                "CREATE OR REPLACE TABLE masked AS FROM nm_egadp_mask('store', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
            )
        call = CALL.format("store", "masked", ", model='kernel'")
        found.append(values(ask, call))
        assert found[-1]["cc_x_sy"] == pytest.approx(found[-1]["cc_x_s"], abs=2e-3)
        assert all(verdicts(ask, call).values())
    for measure, printed in (("cc_x_s", by_u), ("cc_x_sy", by_u), ("cc_x_y", by_y)):
        # The printed figure is of one sample, ours the mean of three.
        error = (1 - printed**2) / np.sqrt(1000) * np.sqrt(1 + 1 / 3)
        assert abs(np.mean([each[measure] for each in found]) - printed) < 3 * error + 0.0005


def test_pieces_see_the_tent_that_a_line_does_not(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """Printed for the store: CC(X|S) 0.08 on the whole, 0.985 and 0.981 on either side of 40, 0.967 of Y."""
    make(con, "ME.L")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PpduckWarning)
        con.execute(
            "CREATE TABLE masked AS FROM nm_egadp_mask('store', conf=['x1','x2'], nonconf=['s1','s2'], key='id')"
        )
    whole = values(ask, CALL.format("store", "masked", ""))
    assert whole["cc_x_s"] < 0.15
    assert whole["cc_x_y"] == pytest.approx(0.967, abs=0.004)
    assert not any(verdicts(ask, CALL.format("store", "masked", "")).values())
    rows = ask(CALL.format("store", "masked", ", pieces='s1 < 40'"))
    assert [row["piece"] for row in rows] == ["s1 < 40"] * 6 + ["otherwise"] * 6
    assert sum(row["rows"] for row in rows if row["measure"] == "cc_x_s") == 1000
    for piece in ("s1 < 40", "otherwise"):
        of_piece = {row["measure"]: row for row in rows if row["piece"] == piece}
        assert of_piece["cc_x_s"]["value"] == pytest.approx(0.983, abs=0.004)
        assert of_piece["cc_gain"]["passed"]
        assert of_piece["cc_excess"]["passed"]


def test_egadp_keeps_both_conditions_to_the_last_digits(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['x1','x2'], nonconf=['s1','s2'], key='id')")
    found = values(ask, CALL.format("t", "r", ""))
    assert abs(found["cc_gain"]) < 1e-9
    assert found["cc_excess"] < 1e-9
    assert all(verdicts(ask, CALL.format("t", "r", ", tolerance=1e-9")).values())


def test_a_copy_and_a_stranger(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    assert values(ask, CALL.format("t", "t", ""))["cc_x_y"] == pytest.approx(1, abs=1e-9)
    assert verdicts(ask, CALL.format("t", "t", "")) == {"cc_gain": False, "cc_excess": False, "cc_partial": False}
    normal.execute("CREATE TABLE stranger AS SELECT id, x1, x2 FROM t")
    normal.execute("UPDATE stranger SET id = (id * 331 + 7) % 500")
    found = values(ask, CALL.format("t", "stranger", ""))
    assert found["cc_x_y"] < 0.2
    assert verdicts(ask, CALL.format("t", "stranger", "")) == {"cc_gain": True, "cc_excess": True, "cc_partial": True}


def test_chance_fails_a_harmless_release_once_in_a_thousand() -> None:
    """Independent Y: the gain stays within its tolerance but for a share of CHANCE."""
    from ppduck.kernels.prediction import CHANCE, canonical_correlation, canonical_gain_by_chance
    from ppduck.values import Moments

    rng = np.random.default_rng(1)
    failed = 0
    for _ in range(2000):
        s = rng.normal(size=(200, 2))
        x = s @ np.array([[0.7, 0.2], [0.1, 0.5]]) + rng.normal(size=(200, 2))
        moments = Moments.of(np.column_stack([s, x, rng.normal(size=(200, 2))]))
        before, after = (canonical_correlation(moments, [2, 3], by) for by in ([0, 1], [0, 1, 4, 5]))
        failed += after - before > canonical_gain_by_chance(200, before, 2, 2, 2)
    assert failed <= 2000 * CHANCE + 4 * np.sqrt(2000 * CHANCE)


@pytest.mark.parametrize(("conf", "rows"), [(1, 8), (2, 10), (3, 20), (5, 40), (10, 60)])
def test_a_copy_never_holds_however_few_rows_there_are(
    con: duckdb.DuckDBPyConnection, ask: Ask, conf: int, rows: int
) -> None:
    names = [f"x{j}" for j in range(conf)]
    insert(con, "t", ["s1", *names], np.random.default_rng(conf).normal(size=(rows, 1 + conf)))
    found = verdicts(ask, f"FROM canonical_security('t', 't', conf={names}, nonconf=['s1'], key='id')")
    assert found == {"cc_gain": False, "cc_excess": False, "cc_partial": False}


def test_what_the_release_adds_shows_where_nonconf_tells_all_of_another_column(
    con: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    """x1 is s1 for certain, so that CC(X|S) is 1 and cannot rise; x2 is released with its sign turned."""
    con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s1, 3 * s1 AS x1, cos(i * 7) AS x2 FROM range(300) r(i)")
    con.execute("CREATE TABLE r AS SELECT id, x1, -x2 AS x2 FROM t")
    call = "FROM canonical_security('t', 'r', conf=['x1','x2'], nonconf=['s1'], key='id')"
    assert values(ask, call)["cc_gain"] == pytest.approx(0, abs=1e-9)
    assert values(ask, call)["cc_partial"] == pytest.approx(1, abs=1e-9)
    assert verdicts(ask, call) == {"cc_gain": True, "cc_excess": True, "cc_partial": False}


FAR_AWAY = """
CREATE TABLE a AS SELECT i AS id, sin(i) AS s1, {x} AS x1 FROM range(3000) r(i);
CREATE TABLE b AS SELECT id, s1, {y} AS x1 FROM a
"""


@pytest.mark.parametrize("order", ["id", "hash(id)"])
@pytest.mark.parametrize(
    ("x", "y", "where"),
    [
        # The first rows are far away, and have no partner that could be measured.
        ("if(i < 1000, 1e10, 50 + cos(i * 7))", "if(id < 1000, NULL, x1 + 0.1 * sin(id * 3))", "id >= 1000"),
        # All are far from 0, and close together.
        ("1.7e9 + cos(i * 7)", "x1 + 0.1 * sin(id * 3)", "true"),
    ],
)
def test_columns_far_from_where_their_sums_begin(
    con: duckdb.DuckDBPyConnection, ask: Ask, x: str, y: str, where: str, order: str
) -> None:
    con.execute(FAR_AWAY.format(x=x, y=y) + f" ORDER BY {order}")
    found = values(ask, "FROM canonical_security('a', 'b', conf=['x1'], nonconf=['s1'], key='id')")
    rows = matrix(con, f"SELECT a.s1, a.x1, b.x1 FROM a JOIN b USING (id) WHERE {where} ORDER BY id")
    assert found["cc_x_sy"] == pytest.approx(_by_qr(rows[:, 1:2], rows[:, [0, 2]]), abs=1e-6)
    assert found["cc_x_y"] == pytest.approx(_by_qr(rows[:, 1:2], rows[:, 2:]), abs=1e-6)
    assert found["cc_x_y"] > 0.99


def test_rows_of_an_open_transaction_are_measured_about_their_own_mean(
    con: duckdb.DuckDBPyConnection, ask: Ask
) -> None:
    """The planner cannot see them, and takes another centre."""
    con.execute("CREATE TABLE a (id BIGINT, s1 DOUBLE, x1 DOUBLE); CREATE TABLE b (id BIGINT, s1 DOUBLE, x1 DOUBLE)")
    con.execute("BEGIN")
    con.execute("INSERT INTO a SELECT i, sin(i), 1.7e9 + 10 * cos(i * 7) FROM range(2000) r(i)")
    con.execute("INSERT INTO b SELECT id, s1, x1 + sin(id * 3) FROM a ORDER BY id")
    call = "FROM canonical_security('a', 'b', conf=['x1'], nonconf=['s1'], key='id')"
    inside = values(ask, call)
    con.execute("COMMIT")
    assert inside == pytest.approx(values(ask, call), abs=1e-6)
    assert inside["cc_gain"] > 0.9


def test_every_piece_has_a_centre_of_its_own(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    con.execute(
        """
        CREATE TABLE a AS SELECT i AS id, i % 2 AS c, sin(i) AS s1, if(c = 0, 1e8 + 1e7 * cos(i * 7), 1000 + cos(i * 7)) AS x1
        FROM range(4000) r(i);
        CREATE TABLE b AS SELECT id, x1 + if(c = 0, 1e6, 0.1) * sin(id * 3) AS x1 FROM a
        """
    )
    rows = ask("FROM canonical_security('a', 'b', conf=['x1'], nonconf=['s1'], key='id', pieces='c = 0')")
    found = [row["value"] for row in rows if row["measure"] == "cc_x_y"]
    assert len(found) == 2
    assert min(found) > 0.99


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(0, 3), q=st.integers(1, 3))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_what_numpy_computes(con: duckdb.DuckDBPyConnection, ask: Ask, seed: int, p: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(60, p + 2 * q)) @ rng.normal(size=(p + 2 * q, p + 2 * q)) + rng.normal(size=p + 2 * q) * 1e4
    names = [*(f"s{i}" for i in range(p)), *(f"x{j}" for j in range(q))]
    insert(con, "a", names, data[:, : p + q])
    insert(con, "b", names[p:], data[:, p + q :])
    conf = ", ".join(f"'x{j}'" for j in range(q))
    nonconf = ", ".join(f"'s{i}'" for i in range(p))
    found = values(ask, f"FROM canonical_security('a', 'b', conf=[{conf}], nonconf=[{nonconf}]::VARCHAR[], key='id')")
    s, x, y = data[:, :p], data[:, p : p + q], data[:, p + q :]
    for measure, by in (("cc_x_s", s), ("cc_x_sy", np.column_stack([s, y])), ("cc_x_y", y)):
        assert found[measure] == pytest.approx(_by_qr(x, by), abs=1e-6)


def _by_qr(a: np.ndarray, b: np.ndarray) -> float:
    if not b.shape[1]:
        return 0.0
    (qa, _), (qb, _) = (np.linalg.qr(side - side.mean(axis=0)) for side in (a, b))
    return float(np.linalg.svd(qa.T @ qb, compute_uv=False)[0])


def test_rows_are_matched_by_key_whatever_their_order(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2'], level=0.1, key='id', seed=1)")
    in_order = values(ask, CALL.format("t", "r", ""))
    normal.execute("CREATE TABLE shuffled AS FROM r ORDER BY hash(id)")
    normal.execute(
        "CREATE TABLE other_type AS SELECT id::VARCHAR AS id, x1::FLOAT AS x1, x2 FROM r ORDER BY hash(id + 1)"
    )
    for other in ("shuffled", "(SELECT * FROM r)"):
        assert values(ask, CALL.format("t", other, "")) == pytest.approx(in_order, abs=1e-12)
    assert values(ask, CALL.format("t", "other_type", "")) == pytest.approx(in_order, abs=1e-6)
    two_keys = "FROM canonical_security('t', 'shuffled', conf=['x1','x2'], nonconf=['s1'], key=['id','s2'])"
    assert len(ask(two_keys)) == 6


def test_rows_with_null_are_left_out(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE r AS FROM noise_mask('t', conf=['x1','x2'], level=0.1, key='id', seed=1)")
    expected = values(ask, CALL.format("(FROM t WHERE id >= 40)", "(FROM r WHERE id >= 40)", ""))
    normal.execute("UPDATE t SET x1 = NULL WHERE id < 20; UPDATE r SET x2 = NULL WHERE id BETWEEN 20 AND 39")
    rows = ask(CALL.format("t", "r", ""))
    assert {row["rows"] for row in rows} == {460}
    assert {row["measure"]: row["value"] for row in rows} == pytest.approx(expected, abs=1e-9)


def test_dependent_and_constant_columns_do_no_harm(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute("CREATE TABLE wide AS SELECT *, s1 + s2 AS s3, 7 AS s4 FROM t")
    normal.execute("CREATE TABLE r AS FROM noise_mask('wide', conf=['x1','x2'], level=0.1, key='id', seed=1)")
    plain = values(ask, CALL.format("wide", "r", ""))
    assert values(ask, "FROM canonical_security('wide', 'r', conf=['x1','x2'], key='id')") == pytest.approx(
        plain, abs=1e-8
    )


def test_categories_are_open_columns_too(customers: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    customers.execute("UPDATE customers SET x1 = x1 + 100 WHERE region = 'north'")
    conf = "conf=['x1','x2'], key='id'"
    customers.execute(
        "CREATE TABLE r AS FROM egadp_mask('customers', conf=['x1','x2'], nonconf=['s1','s2','member','region'], key='id')"
    )
    for model in ("linear", "kernel"):
        found = values(ask, f"FROM canonical_security('customers', 'r', {conf}, model='{model}')")
        assert found["cc_x_s"] > 0.99
        assert found["cc_gain"] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("'t', 'r', conf=['x1'], key='id'", r'9 of the 500 rows of "t" have no partner in "r"; 1 of the 492 rows of "r" have no partner in "t"'),
        ("'t', 'twice', conf=['x1'], key='id'", r'500 keys occur more than once in "twice"'),
        ("'t', 't', conf=['x1'], key='g'", r'1 keys occur more than once in "t"'),
        ("'t', 'nokey', conf=['x1'], key='id'", r'key names column "id", which "nokey" does not have.* Its columns: "ident", "x1"'),
        ("'t', 'r', conf=['x1', 'x3'], key='id'", r'conf names column "x3", which does not exist. Did you mean "x'),
        ("'t', 'lacks', conf=['x1', 'x2'], key='id'", r'conf names column "x2", which "lacks" does not have. Did you mean "x1"'),
        ("'t', 'text', conf=['x1'], key='id'", r'column "x1", which is of type VARCHAR in "text"; only numeric'),
        ("'t', 't', conf=['x1'], key='x1'", r'column "x1" is in both key and conf'),
        ("'t', 't', conf=[], key='id'", r"conf is empty"),
        ("'t', 't', conf=['x1'], key=[]", r"key is empty"),
        ("'t', 't', conf=['x1']", r"parameter 'key' is missing"),
        ("'t', 'missing', conf=['x1'], key='id'", r'cannot see "missing"'),
        ("'t', 't', conf=['x1'], key='id', pieces='s1 <'", r"pieces takes conditions such as 's1 < 40'"),
        ("'t', 't', conf=['x1'], key='id', pieces='s9 < 1'", r'pieces names column "s9", which does not exist. Did you mean "s1"'),
        ("'(FROM t LIMIT 4)', '(FROM t LIMIT 4)', conf=['x1'], key='id'", r"4 pairs without NULL are too few to measure by; 8 are needed"),
        ("'(FROM t LIMIT 20)', '(FROM t LIMIT 20)', conf=['x1'], key='id', model='kernel'", r"20 pairs without NULL are too few"),
        ("'t', 't', conf=['x1'], key='id', pieces='id < 3'", r"3 pairs without NULL where id < 3 are too few"),
        ("'t', 'nan', conf=['x1'], key='id'", r'NaN, infinity or a number too large to square is in "masked x1"'),
        ("'t', 'empty', conf=['x1'], key='id'", r'500 of the 500 rows of "t" have no partner in "empty"'),
        ("'wide', 'wide', conf=['z0', 'z1', 'z2', 'z3', 'z4', 'z5', 'z6', 'z7', 'z8', 'z9', 'z10', 'z11', 'z12', 'z13', 'z14'], nonconf=['s1'], key='id', model='kernel'",
         "30 pairs are too few to tell what 15 confidential columns give away from chance; name fewer of them"),
        ("'empty', 'empty', conf=['x1'], key='id'", r"0 pairs without NULL are too few"),
    ],
)  # fmt: skip
def test_bad_input_is_told(normal: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    normal.execute(
        """
        ALTER TABLE t ADD COLUMN g INTEGER;
        CREATE TABLE wide AS SELECT id, s1, sin(id * 2) AS z0, sin(id * 3) AS z1, sin(id * 4) AS z2, sin(id * 5) AS z3, sin(id * 6) AS z4, sin(id * 7) AS z5, sin(id * 8) AS z6, sin(id * 9) AS z7, sin(id * 10) AS z8, sin(id * 11) AS z9, sin(id * 12) AS z10, sin(id * 13) AS z11, sin(id * 14) AS z12, sin(id * 15) AS z13, sin(id * 16) AS z14 FROM t LIMIT 30;
        UPDATE t SET g = 1;
        CREATE TABLE r AS SELECT id, x1, x2 FROM t WHERE id > 8 UNION ALL SELECT 1000, 1, 2;
        CREATE TABLE twice AS FROM t UNION ALL FROM t;
        CREATE TABLE nokey AS SELECT id AS ident, x1 FROM t;
        CREATE TABLE lacks AS SELECT id, x1 FROM t;
        CREATE TABLE text AS SELECT id, x1::VARCHAR AS x1 FROM t;
        CREATE TABLE nan AS SELECT id, CASE WHEN id = 3 THEN 'nan'::DOUBLE ELSE x1 END AS x1 FROM t;
        CREATE TABLE empty AS FROM t WHERE false;
        """
    )
    if "'t', 't', conf=['x1'], key='id'" in call:
        call = call.replace("key=", "nonconf=['s1'], key=")
    with pytest.raises(duckdb.InvalidInputException, match=message):
        normal.execute(f"FROM canonical_security({call})").fetchall()


def test_a_key_of_few_values_does_not_run_for_ever(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE large AS SELECT i % 3 AS g, i AS x1 FROM range(300000) r(i)")
    with pytest.raises(duckdb.InvalidInputException, match=r'3 keys occur more than once in "large"'):
        con.execute("FROM canonical_security('large', 'large', conf=['x1'], key='g')").fetchall()


def test_one_thread_or_two_tell_the_same(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute(
        "CREATE TABLE big AS SELECT t.id * 1000 + i AS id, s1 + i AS s1, s2, x1 + i * s1 AS x1, x2 FROM t, range(400) r(i)"
    )
    normal.execute(
        "CREATE TABLE big_r AS FROM noise_mask('big', conf=['x1','x2'], level=0.1, key='id', seed=1) ORDER BY hash(id)"
    )
    for model in ("linear", "kernel"):
        found = []
        for threads in (1, 2):
            normal.execute(f"SET threads = {threads}")
            found.append(values(ask, CALL.format("big", "big_r", f", model='{model}'")))
        assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_quoted_names_and_views(normal: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    normal.execute('CREATE TABLE "odd table" AS SELECT id AS "the ""id""", s1 AS "select", x1 AS "x 1" FROM t')
    normal.execute(
        """CREATE VIEW masked_view AS FROM egadp_mask('"odd table"', conf=['x 1'], nonconf=['select'], key='the "id"')"""
    )
    found = values(
        ask,
        """FROM canonical_security('"odd table"', 'masked_view', conf=['X 1'], key='the "id"', pieces='"select" < 99')""",
    )
    assert abs(found["cc_gain"]) < 1e-9
    assert matrix(normal, "SELECT count(*) FROM masked_view")[0, 0] == 500
