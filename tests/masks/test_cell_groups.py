"""Cells are grouped as the rule says, or refused with what is wrong with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.errors import PpduckError
from ppduck.masks import _cell_groups
from ppduck.masks._cell_groups import GeneralizeSpec, Told, solve

pytestmark = pytest.mark.core
SPEC = GeneralizeSpec("generalize_mask", "t", ["age"], ["BIGINT"], [], 2, None, "frequency")
DIVERSE = replace(SPEC, sensitive=["disease"], l=2)


def told(counts: list[int], sensitive: list[int] | None = None, **parts: Any) -> Told:
    """Cells of one number, at 1, 2, 3, …, each with its count."""
    codes = np.arange(1.0, len(counts) + 1)
    table = np.column_stack([codes, codes, sensitive or np.ones(len(counts)), counts])
    own: dict[str, Any] = {"types": ["BIGINT"], "missing": [0], "cells": table.reshape(-1)} | parts
    return Told(**own)


@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(1, 4), min_size=2, max_size=20), k=st.integers(2, 5))
def test_every_group_has_k_rows(counts: list[int], k: int) -> None:
    if sum(counts) < k:
        return
    groups = solve(replace(SPEC, k=k), told(counts))
    sizes: Counter[int] = Counter()
    for group, count in zip(groups.tolist(), counts, strict=True):
        sizes[group] += count
    assert min(sizes.values()) >= k
    assert min(sizes) == 1  # from 1
    assert sorted(groups) == list(groups)  # a group is a range


def test_groups_differ_in_the_sensitive_value() -> None:
    assert solve(SPEC, told([2, 2], [1, 2])).tolist() == [1, 2]
    assert solve(DIVERSE, told([2, 2], [1, 2], missing=[0, 0])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("spec", "cells", "fault"),
    [
        (SPEC, told([2], cells=None), r'^generalize_mask on "t": there are no rows'),
        (SPEC, told([2, 2], missing=[3]), 'qi column "age" has NULL in 3 of 4 rows'),
        (DIVERSE, told([2, 2], missing=[0, 1]), 'sensitive column "disease" has NULL in 1 of 4 rows'),
        (SPEC, told([2, 2], types=["VARCHAR"]), "is of another type than the call was planned for"),
        (replace(SPEC, types=[""]), told([2, 2], types=["BLOB"]), 'column "age" of type BLOB'),
        (SPEC, told([2, 2], cells=np.array([1, 1, 1, 2, 2, np.nan, 1, 2])), 'qi column "age" holds NaN or infinity'),
        (replace(SPEC, k=5), told([2, 2]), "k = 5 needs at least 5 rows, and there are 4"),
        (DIVERSE, told([2, 2], [1, 1], missing=[0, 0]), 'column "disease" does not have that .* no l of 2 or more'),
        (replace(DIVERSE, l=3), told([2, 2], [1, 2], missing=[0, 0]), "the largest l possible is 2"),
    ],
)
def test_what_is_refused(spec: GeneralizeSpec, cells: Told, fault: str) -> None:
    with pytest.raises(PpduckError, match=fault):
        solve(spec, cells)


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cell_groups, "MOST_LEVELS", 2)
    names = replace(SPEC, types=["VARCHAR"])
    with pytest.raises(PpduckError, match="has 3 levels, and 2 at most make a category"):
        solve(names, told([2, 2, 2], types=["VARCHAR"]))
    monkeypatch.setattr(_cell_groups, "MOST_CELLS", 2)
    with pytest.raises(PpduckError, match="there are more than 2 combinations of values"):
        solve(SPEC, told([2, 2, 2]))
