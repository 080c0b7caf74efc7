"""The search through batches is that of all records at once, and forgets what statements no longer need."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.attacks import _search
from ppduck.attacks._people import AttackSpec
from ppduck.attacks._search import NEAREST, Asked, Counted, Nearest, Search, prepare, search_of
from ppduck.errors import PpduckError
from ppduck.kernels.seeking import Batch, Space

pytestmark = pytest.mark.core
IS_NUMBER = np.array([True, False, True])
EVERY = np.ones(3, dtype=bool)


def sides(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.normal(size=n)])
    y = x.copy()
    y[:, 2] += 0.05 * rng.normal(size=n)
    return x, y


def distances(space: Space, people: np.ndarray, records: np.ndarray) -> np.ndarray:
    (a, b), (c, d) = space.coordinates(people), space.coordinates(records)
    return ((a[:, None] - c) ** 2).sum(axis=2) + (b[:, None] != d) @ space.weights


def spec(attacks: list[str]) -> AttackSpec:
    return AttackSpec(
        function="release_attack", table="t", release="r", key=["id"], known=["a", "b"], conf=["c"],
        numbers=[True, False, True], attacks=attacks, sample=200, numbers_shown=0, categories_shown=0,
        release_is_table=True,
    )  # fmt: skip


def asked(x: np.ndarray, y: np.ndarray) -> Asked:
    return Asked(x=x.reshape(-1), y=y.reshape(-1), shown=None, position=None, control=None, pairs=len(x), others=0)


def test_credits_are_those_of_the_definition() -> None:
    x, y = sides()
    x[100:150] = x[99]
    y[100:150] = y[99]  # who share
    space = Space.of(x, IS_NUMBER, EVERY)
    question = Counted(space, x[:300], y[:300], y[:200])
    batches = [question.add(Batch(space, y[i : i + 400]), np.zeros(400)) for i in range(0, 1500, 400)]
    every = np.concatenate(batches)
    summed = np.array([[k, *every[every[:, 0] == k, 1:3].sum(axis=0)] for k in np.unique(every[:, 0])])
    d2 = distances(space, x[:300], y)
    own = d2[np.arange(300), np.arange(300)]
    tied = (d2 <= own[:, None] * (1 + 1e-9)).sum(axis=1)
    expected = np.where(d2.min(axis=1) >= own * (1 - 1e-9), 1 / tied, 0)
    assert question.credits(summed) == pytest.approx(expected)
    assert 0 < expected.mean() < 1


@pytest.mark.parametrize("k", [1, NEAREST])
def test_the_nearest_are_those_of_all_records(k: int) -> None:
    x, y = sides()
    y[700:800] = y[0]  # ties go by the record
    space = Space.of(x, IS_NUMBER, EVERY)
    question = Nearest(space, x[:100], y[:500], k)
    records = np.random.default_rng(1).permutation(1500).astype(float)
    parts = [slice(i, i + 130) for i in range(0, 1500, 130)]
    every = np.concatenate([question.add(Batch(space, y[part]), records[part]) for part in parts])
    d2 = distances(space, x[:100], y)
    for i in range(100):
        mine = every[every[:, 0] == i]
        found = mine[np.lexsort((mine[:, 4], mine[:, 3]))][:k, 4]
        assert found.tolist() == records[np.lexsort((records, d2[i].round(12)))[:k]].tolist()
    assert len(every) < 100 * k * 12  # few are passed on that are not among them


def test_what_is_sought_has_a_number_of_its_own_for_each_statement() -> None:
    x, y = sides()
    people = asked(x, y)
    one, other = (prepare(spec(["linkability"]), people) for _ in range(2))
    assert one != other
    assert isinstance(search_of(one), Search)


def test_a_search_that_was_forgotten_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = sides(50)
    people = asked(x, y)
    first = prepare(spec([]), people)
    monkeypatch.setattr(_search, "_MOST_SEARCHES", 1)
    prepare(spec([]), people)
    with pytest.raises(PpduckError, match="more than 1 attacks are under way"):
        search_of(first)


def test_columns_that_were_kept_are_noticed() -> None:
    x, y = sides()
    made = Search(spec(["linkability"]), asked(x, y))
    assert made.kept.tolist() == [True, True, False]
