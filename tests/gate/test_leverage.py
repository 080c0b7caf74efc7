"""A row that stands apart only in several columns together: told by releases that predict it as the original does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.gate import _leverage
from ppduck.gate._leverage import LeverSpec, LeverTold
from ppduck.runtime.dominance import REFUSED
from tests.gate.releases import Rows, of_rule
from tests.laws import insert

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
N = 500
OFF = "'tells': NULL, 'linkage': NULL, 'cc_gain': NULL, 'r2_gain': NULL, 'interval': NULL"


def spec(p: int, q: int, limit: float = REFUSED) -> LeverSpec:
    features, columns = [f"s{i}" for i in range(p)], [f"x{j}" for j in range(q)]
    return LeverSpec("f", "t", "r", ["id"], columns, [], features, [None], sources=features, levels=[], limit=limit)


def told(s: np.ndarray, x: np.ndarray, y: np.ndarray, farthest: int | None = None) -> LeverTold:
    """What the statement sums up, by numpy."""
    rows = np.column_stack([s, x, y])
    about = rows - rows[0]
    row, column = np.tril_indices(rows.shape[1])
    return LeverTold(
        pairs=len(rows),
        counts=np.array([len(rows)]),
        sums=about.sum(axis=0),
        products=(about.T @ about)[row, column],
        centres=rows[0],
        lows=rows.min(axis=0),
        highs=rows.max(axis=0),
        farthest=None if farthest is None else np.append(rows[farthest, : s.shape[1] + x.shape[1]], -1.0),
    )


def judged(s: np.ndarray, x: np.ndarray, y: np.ndarray, limit: float = REFUSED) -> dict[str, Any]:
    """The rule's answer, of the row that the levers find, as SQL finds it."""
    own = spec(s.shape[1], x.shape[1], limit)
    weights = _leverage.levers(own, told(s, x, y))
    if weights is None:
        return _leverage.judge(own, told(s, x, y))
    values = np.column_stack([s, x, -np.ones(len(s))])
    along = values @ np.array(weights).reshape(s.shape[1] + x.shape[1], -1).T
    return _leverage.judge(own, told(s, x, y, int((along**2).sum(axis=1).argmax())))


def twins(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that are nearly one but for row 7, which is an end of neither; and x, which hangs on both."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(N, 1)) + np.array([[0.0, 5.0]])
    s[7] = [1.0, 4.0]
    return s, 3 * s[:, :1] + rng.normal(size=(N, 1))


def by_line(s: np.ndarray, x: np.ndarray) -> np.ndarray:
    z = np.column_stack([np.ones(len(s)), s])
    return np.asarray(z @ np.linalg.lstsq(z, x, rcond=None)[0])


def kept(s: np.ndarray, x: np.ndarray, seed: int = 2) -> np.ndarray:
    """What is drawn so that regression on s and what it leaves are kept, as egadp_mask does, free of x."""
    noise = np.random.default_rng(seed).normal(size=x.shape)
    noise -= by_line(np.column_stack([s, x]), noise)
    left = x - by_line(s, x)
    root = np.linalg.cholesky(left.T @ left) @ np.linalg.inv(np.linalg.cholesky(noise.T @ noise))
    return np.asarray(by_line(s, x) + noise @ root.T)


def test_a_row_apart_in_two_open_columns_fails_where_the_regression_is_kept() -> None:
    s, x = twins()
    z = np.column_stack([np.ones(N), s])
    h = np.einsum("ij,ji->i", z, np.linalg.pinv(z))
    found = judged(s, x, kept(s, x))
    high = 3 * (3 + 1) / N
    assert h.argmax() == 7
    assert REFUSED < found["value"] == pytest.approx((h[7] - high) / (1 - high), abs=0.01)
    assert '"s0", "s1"' in found["why"]


def test_a_row_that_is_left_as_it_was_fails_though_all_else_is_drawn_anew() -> None:
    s, x = twins()
    y = 3 * s[:, :1] + np.random.default_rng(3).normal(size=(N, 1))
    y[7] = x[7] + 0.01
    assert judged(s, x, y)["value"] > REFUSED
    y[7] = x[7] + 2
    assert judged(s, x, y)["value"] == 0


def test_a_row_apart_by_open_and_confidential_columns_fails_where_what_is_left_is_kept() -> None:
    rng = np.random.default_rng(4)
    s, e = rng.normal(size=(N, 1)), 0.01 * rng.normal(size=(N, 1))
    x = s + e
    x[7] = -s[7] - 1
    found = judged(s, x, kept(s, x))
    assert found["value"] > REFUSED
    assert '"s0", "x0"' in found["why"]
    dealt = x[rng.permutation(N)]
    assert judged(s, x, dealt)["value"] <= REFUSED


@pytest.mark.parametrize("seed", range(20))
def test_no_row_of_usual_columns_stands_apart(seed: int) -> None:
    s, x = np.random.default_rng(seed).normal(size=(2, N, 3))
    assert judged(s, x, kept(s, x))["value"] < REFUSED / 2


def test_a_column_in_which_a_row_is_alone_is_left_to_itself() -> None:
    s, x = twins()
    s[7] = [1e6, 5]
    assert judged(s, x, kept(s, x))["value"] < REFUSED


def test_with_few_rows_only_the_open_columns_count_and_more_is_allowed() -> None:
    rng = np.random.default_rng(5)
    s, x = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    y = kept(s, x)
    own = spec(3, 2)
    joint = _leverage.Joint.of(own, told(s, x, y))
    assert joint is not None
    assert joint.terms == [0, 1, 2]
    assert joint.reached_at(REFUSED) == pytest.approx(0.95)


@pytest.mark.parametrize("size", [1e200, np.nan])
def test_what_cannot_be_summed_up_is_not_passed(size: float) -> None:
    s, x = twins()
    x[3] = size
    with np.errstate(over="ignore", invalid="ignore"):
        assert judged(s, x, x)["value"] is None


def test_rows_apart_in_tables(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    """The same in SQL, whether or not other rules have summed up the columns; NULL is in no moments."""
    s, x = twins()
    for name, values in (("t", x), ("r", kept(s, x)), ("drawn", np.random.default_rng(6).permutation(x))):
        insert(con, name, ["s0", "s1", "x"], np.column_stack([s, values]))
    call = "FROM release_check('t', '{}', conf=['x'], key='id', limits={{{}}})"
    for off in (OFF, "'tells': NULL"):
        found = of_rule(ask(call.format("r", off)), "leverage")
        assert [name for name, row in found.items() if not row["passed"]] == [None]
        assert found[None]["value"] > REFUSED
    assert of_rule(ask(call.format("r", f"{OFF}, 'leverage': 1")), "leverage")[None]["passed"]
    assert of_rule(ask(call.format("r", f"{OFF}, 'leverage': NULL")), "leverage")[None]["passed"] is None
    assert of_rule(ask(call.format("drawn", OFF)), "leverage")[None]["passed"]
    con.execute("UPDATE t SET x = NULL WHERE id = (SELECT id FROM t WHERE s1 - s0 < 4)")
    assert of_rule(ask(call.format("r", f"{OFF}, 'left_out': 1")), "leverage")[None]["passed"]


def test_categories_of_conf_are_no_terms(con: duckdb.DuckDBPyConnection, ask: Ask) -> None:
    s, _ = twins()
    insert(con, "t", ["s0", "s1"], s)
    con.execute("ALTER TABLE t ADD COLUMN c VARCHAR; UPDATE t SET c = ['a', 'b', 'c'][1 + id::BIGINT % 3]")
    con.execute("CREATE TABLE r AS SELECT id, s0, s1, c FROM rr_mask('t', p={'c': 0.4}, key='id', seed=1)")
    rows = ask("FROM release_check('t', 'r', conf=['c'], key='id', p={'c': 0.4}, limits={'tells': NULL})")
    assert None not in of_rule(rows, "leverage")
