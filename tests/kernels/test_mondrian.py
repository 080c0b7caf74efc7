"""Strict Mondrian against a recursion over rows, and the law that its groups owe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.mondrian import Cells, Groups, Rule, generalized

pytestmark = pytest.mark.core

Row = tuple[int, ...]


def cells_of(rows: Sequence[Row], values: Sequence[int], seed: int = 0) -> tuple[Cells, np.ndarray]:
    """Cells in any order, their places the squares of codes, and which cell each row is in."""
    table = np.column_stack([np.array(rows), np.array(values)])
    found, of, counts = np.unique(table, axis=0, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(found))
    found, counts, of = found[order], counts[order], np.argsort(order)[of.ravel()]
    codes = found[:, :-1]
    return Cells(codes, codes.astype(float) ** 2, counts, found[:, -1]), of


def keeps(rule: Rule, values: Sequence[int]) -> bool:
    n, counts = len(values), Counter(values).values()
    if n < rule.k:
        return False
    if rule.l is None:
        return True
    if rule.diversity == "frequency":
        return max(counts) * rule.l <= n
    if rule.diversity == "distinct":
        return len(counts) >= rule.l
    return -sum(c / n * math.log(c / n) for c in counts) >= math.log(rule.l) - 1e-9


def naive(
    rows: Sequence[Row], values: Sequence[int], rule: Rule, place: Callable[[int], float] = lambda code: code**2
) -> list[list[int]]:
    """The groups by their rows: what the kernel does, as the paper says it."""
    d = range(len(rows[0]))
    span = [max(place(row[j]) for row in rows) - min(place(row[j]) for row in rows) for j in d]

    def ask(group: list[int]) -> list[list[int]]:
        def width(j: int) -> float:
            places = [place(rows[i][j]) for i in group]
            return (max(places) - min(places)) / (span[j] or 1)

        for j in sorted(d, key=lambda j: -width(j)):
            median = sorted(rows[i][j] for i in group)[(len(group) - 1) // 2]
            cuts = []
            for last in (median, median - 1):
                lower = [i for i in group if rows[i][j] <= last]
                cuts.append((lower, [i for i in group if rows[i][j] > last]))
            for lower, upper in sorted(cuts, key=lambda cut: abs(len(cut[0]) - len(cut[1]))):
                if all(keeps(rule, [values[i] for i in half]) for half in (lower, upper)):
                    return ask(lower) + ask(upper)
        return [group]

    return ask(list(range(len(rows))))


rules = st.builds(
    Rule, st.integers(2, 6), st.sampled_from([None, 2, 3]), st.sampled_from(["frequency", "distinct", "entropy"])
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], list[int]]:
    n, d = draw(st.integers(4, 50)), draw(st.integers(1, 3))
    columns = [draw(st.lists(st.integers(0, draw(st.integers(1, 9))), min_size=n, max_size=n)) for _ in range(d)]
    codes = [[sorted(set(column)).index(value) for value in column] for column in columns]
    return list(zip(*codes, strict=True)), draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))


@given(tables(), rules, st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_groups_are_those_of_the_recursion(table: tuple[list[Row], list[int]], rule: Rule, seed: int) -> None:
    rows, values = table
    if not keeps(rule, values):
        return
    cells, of = cells_of(rows, values, seed)
    found = generalized(cells, rule)
    group = found.of[of]
    groups = [np.flatnonzero(group == number).tolist() for number in range(len(found.low))]
    assert sorted(groups) == sorted(sorted(each) for each in naive(rows, values, rule))
    check_laws(found, np.array(rows), np.array(values), group, rule)


def check_laws(found: Groups, rows: np.ndarray, values: np.ndarray, group: np.ndarray, rule: Rule) -> None:
    assert set(group.tolist()) == set(range(len(found.low))), "every row has a group, and every group a row"
    for number, (low, high) in enumerate(zip(found.low, found.high, strict=True)):
        mine = rows[group == number]
        assert keeps(rule, values[group == number].tolist())
        assert (mine.min(axis=0) == low).all()
        assert (mine.max(axis=0) == high).all()
        others = rows[group != number]
        assert not ((others >= low) & (others <= high)).all(axis=1).any(), "boxes do not overlap"
    assert found.low.tolist() == sorted(found.low.tolist()), "the order of cells does not show"


def test_many_rows_keep_the_law() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, m, 5000) for m in (60, 7, 2)])
    values = rng.choice(40, 5000, p=rng.dirichlet(np.ones(40)))
    for diversity in ("frequency", "distinct", "entropy"):
        rule = Rule(5, 4, diversity)
        cells, of = cells_of([tuple(row) for row in rows.tolist()], values.tolist())
        found = generalized(cells, rule)
        assert len(found.low) > 100
        check_laws(found, rows, values, found.of[of], rule)


def test_sensitive_values_of_many_kinds_are_counted_without_a_table_of_all() -> None:
    """Few cells a group and very many values: the counts are found by sorting."""
    rng = np.random.default_rng(4)
    rows = [(int(code),) for code in np.repeat(np.arange(40), 25)]
    values = rng.permutation(1000).tolist()
    cells, of = cells_of(rows, values)
    found = generalized(cells, Rule(2, 25, "distinct"))
    assert len(found.low) > 10
    check_laws(found, np.array(rows), np.array(values), found.of[of], Rule(2, 25, "distinct"))


def test_without_sensitive_values_only_k_counts() -> None:
    codes = np.arange(8)[:, None]
    found = generalized(Cells(codes, codes.astype(float), np.full(8, 3)), Rule(3))
    assert found.of.tolist() == list(range(8))
    found = generalized(Cells(codes, codes.astype(float), np.full(8, 3)), Rule(4))
    assert found.low.tolist() == [[0], [2], [4], [6]]


def test_the_widest_column_is_cut_first_in_its_own_units() -> None:
    """Two columns of equally many codes; the last value of the second lies far off, so that its range is narrow."""
    codes = np.array([[i, j] for i in range(4) for j in range(4)])
    places = codes.astype(float)
    places[:, 1] = np.array([0.0, 1.0, 2.0, 2.0])[codes[:, 1]]
    found = generalized(Cells(codes, places, np.ones(16, dtype=np.int64)), Rule(8))
    assert found.high.tolist() == [[1, 3], [3, 3]]
    found = generalized(Cells(codes[:, ::-1], places[:, ::-1], np.ones(16, dtype=np.int64)), Rule(8))
    assert found.high.tolist() == [[1, 3], [3, 3]], "a tie goes to the column that is named first"


@pytest.mark.parametrize(
    ("diversity", "counts", "largest"),
    [
        ("frequency", [5, 5, 5], 3),
        ("frequency", [6, 5, 4], 2),
        ("distinct", [98, 1, 0, 1], 3),
        ("entropy", [7, 7, 7, 7], 4),
        ("entropy", [50, 1, 1], 1),
        ("entropy", [0, 0], 0),
    ],
)
def test_largest_l(diversity: str, counts: list[int], largest: int) -> None:
    assert Rule(2, 2, diversity).largest_l(np.array(counts)) == largest
