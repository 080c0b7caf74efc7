"""Categories of conf: a design passes where it is declared, and what tells more than it never does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from ppduck.gate._agreement import AgreementSpec, AgreementTold, judge
from tests.gate.releases import Rows, of_rule, people

pytestmark = pytest.mark.core
Ask = Callable[[str], Rows]
N = 2000
NAMES = np.array(["flu", "gout", "asthma", "cancer"])


def levels(seed: int, size: int = 4, shares: list[float] | None = None) -> np.ndarray:
    return np.random.default_rng(seed).choice(size, N, p=shares)


def randomized(own: np.ndarray, p: float, size: int, seed: int) -> np.ndarray:
    """Kept with p, else one of the other levels."""
    rng = np.random.default_rng(seed + 10_000)
    return np.where(rng.random(len(own)) < p, own, (own + rng.integers(1, size, len(own))) % size)


def judged(before: np.ndarray, after: np.ndarray, **more: Any) -> dict[str, Any]:
    a, b = before.astype(str), after.astype(str)
    cells, counts = np.unique(np.column_stack([a, b, (np.arange(len(a)) % 2).astype(str)]), axis=0, return_counts=True)
    told = AgreementTold(
        len(a), cells[:, 0].tolist(), cells[:, 1].tolist(), cells[:, 2].astype(float), counts.astype(float)
    )
    design = {"levels": None, "p": None, "matrix": None, "limit": None} | more
    found = judge(AgreementSpec("f", "t", "r", ["id"], column="c", **design), told)
    return found | {"passed": found["value"] <= found["at_most"]}


@pytest.mark.parametrize("size", [2, 4, 30])
@pytest.mark.parametrize("p", [0.3, 0.6, 0.9])
def test_a_design_passes_where_it_is_declared_and_only_there(p: float, size: int) -> None:
    """In all of 30 draws; what is kept more often than chance makes right fails without it."""
    for seed in range(30):
        own = levels(seed, size)
        masked = randomized(own, p, size, seed)
        assert judged(own, masked, p=p)["passed"], seed
        # By chance 1/size are guessed right; by the design p are, or of two levels what is not kept.
        if max(p, 1 - p if size == 2 else 0) > 1 / size + 0.15:
            assert not judged(own, masked)["passed"], seed


def test_what_is_drawn_anew_passes_without_a_design() -> None:
    for seed in range(100):
        shares = [0.5, 0.3, 0.15, 0.05]
        assert judged(levels(seed, 4, shares), levels(seed + 500, 4, shares))["passed"], seed


@pytest.mark.parametrize("design", [{}, {"p": 0.4}, {"p": 0.99}, {"p": 1.0}])
@pytest.mark.parametrize("shift", [0, 1, 3], ids=["as it is", "in a circle", "in another circle"])
def test_what_tells_every_level_fails_whatever_is_declared(shift: int, design: dict[str, float]) -> None:
    for seed in range(10):
        for shares in (None, [0.7, 0.1, 0.1, 0.1]):
            own = levels(seed, 4, shares)
            assert not judged(own, (own + shift) % 4, **design)["passed"]
            assert not judged(own, NAMES[own], **design)["passed"]  # under other names


def test_a_category_that_is_kept_more_often_than_declared_fails() -> None:
    for seed in range(10):
        own = levels(seed)
        assert not judged(own, randomized(own, 0.5, 4, seed), p=0.4)["passed"]


def test_a_matrix_says_what_the_best_guess_is() -> None:
    """Level 1 is always published as 0: who sees 0 guesses the more frequent one."""
    matrix = [[0.5, 1.0, 0.0], [0.0, 0.0, 0.5], [0.5, 0.0, 0.5]]
    drawn = np.array(matrix).cumsum(axis=0)
    for seed in range(20):
        own = levels(seed, 3, [0.5, 0.3, 0.2])
        u = np.random.default_rng(seed + 99).random(N)
        masked = (u[:, None] > drawn[:, own].T).sum(axis=1)
        found = judged(own, masked, matrix=matrix, levels=["0", "1", "2"])
        assert found["passed"]
        assert found["value"] == pytest.approx(0.3 + 0.1 + 0.25, abs=0.05)
        assert not judged(own, own, matrix=matrix, levels=["0", "1", "2"])["passed"]


def test_many_levels_of_which_most_rows_keep_theirs_fail() -> None:
    for seed in range(3):
        own = levels(seed, 500)
        assert judged(own, randomized(own, 0.3, 500, seed), p=0.3)["passed"]
        assert judged(own, levels(seed + 50, 500))["passed"]
        assert not judged(own, own)["passed"]
        assert not judged(own, (7 * own + 3) % 500, p=0.3)["passed"]


def test_null_is_a_level() -> None:
    before, after = ["a", None, "b", None] * 250, [None, "a", "b", "a"] * 250
    told = AgreementTold(1000, before, after, np.arange(1000.0) // 4 % 2, np.ones(1000))
    spec = AgreementSpec("f", "t", "r", ["id"], column="c", levels=None, p=None, matrix=None, limit=None)
    found = judge(spec, told)
    assert found["value"] == 1
    assert found["value"] > found["at_most"]


def test_a_limit_of_the_call_is_the_limit() -> None:
    own = levels(1)
    assert judged(own, own, limit=0.25)["at_most"] == 0.25


def test_without_rows_there_is_no_figure() -> None:
    spec = AgreementSpec("f", "t", "r", ["id"], column="c", levels=None, p=None, matrix=None, limit=None)
    assert judge(spec, AgreementTold(0, None, None, None, None))["value"] is None


@pytest.fixture
def agreed(con: duckdb.DuckDBPyConnection, ask: Ask) -> Callable[..., dict[str, Any]]:
    """The row of agreement for the disease; other rules that can be left out are."""
    people(con, 2000)

    def asked(release: str, more: str = "") -> dict[str, Any]:
        off = "limits={'tells': NULL, 'order': NULL, 'linkage': NULL}"
        call = f"FROM release_check('t', '{release}', conf=['disease'], key='id', {off}{more})"
        found: dict[str, Any] = of_rule(ask(call), "agreement")["disease"]
        return found

    return asked


MATRIX = "{'disease': [[0.4, 0.2, 0.2, 0.2], [0.2, 0.4, 0.2, 0.2], [0.2, 0.2, 0.4, 0.2], [0.2, 0.2, 0.2, 0.4]]}"
LEVELS = "{'disease': ['asthma', 'cancer', 'flu', 'gout']}"


def test_the_design_is_read_from_p_from_a_matrix_and_from_a_view(
    con: duckdb.DuckDBPyConnection, agreed: Callable[..., dict[str, Any]]
) -> None:
    mask = "SELECT id, age, region, disease FROM rr_mask('t', p={'disease': 0.6}, key='id', seed=1)"
    con.execute(f"CREATE VIEW v AS {mask}; CREATE TABLE r AS {mask}")
    by_p, by_view, alone = agreed("r", ", p={'disease': 0.6}"), agreed("v"), agreed("r")
    assert by_p["passed"]
    assert by_view["passed"]
    assert by_view["at_most"] == pytest.approx(by_p["at_most"])
    assert "the declared design" in by_view["why"]
    assert not alone["passed"]
    assert "chance makes right" in alone["why"]
    assert alone["value"] == by_p["value"]
    assert agreed("r", ", p=0.6")["at_most"] == by_p["at_most"]
    less = agreed("r", f", matrix={MATRIX}, levels={LEVELS}")
    assert less["at_most"] < by_p["at_most"]
    assert not less["passed"]


def test_a_copy_fails_though_a_design_is_declared_or_a_view_says_one_in_vain(
    con: duckdb.DuckDBPyConnection, agreed: Callable[..., dict[str, Any]]
) -> None:
    con.execute("""
        CREATE VIEW same AS SELECT id, age, region, disease FROM t;
        CREATE VIEW kept AS SELECT id, age, region, disease FROM rr_mask('t', p={'disease': 1}, key='id', seed=1);
        CREATE TABLE recoded AS SELECT id, age, region,
            MAP {'flu': 'A', 'gout': 'B', 'asthma': 'C', 'cancer': 'D'}[disease] AS disease FROM t
        """)
    for release in ("same", "kept", "recoded"):
        for more in ("", ", p={'disease': 0.4}", ", p=1"):
            assert not agreed(release, more)["passed"], (release, more)
