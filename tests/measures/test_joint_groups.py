"""What people share in both groups, weighed by people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.measures._joint_groups import GroupsSpec, GroupsTold, solve

pytestmark = pytest.mark.core
SPEC = GroupsSpec("release_intersection", "one", ["age", "zip"], ["disease"], [True])
# 2 joint groups of one, 3 of two, 4 of three: 20 people, 8 of them among fewer than three
TOLD = GroupsTold(
    checked=20, people=20, sizes=np.array([1.0, 2.0, 3.0]), groups=np.array([2.0, 3.0, 4.0]), few=np.array([1.0, 0.0]),
    smallest=np.array([2.0, 5.0]), changed=np.zeros(1), one=np.array([3.0, 1.0, 8.0, 5.0]),
)  # fmt: skip


def test_people_are_counted() -> None:
    joint, alike, common = solve(SPEC, TOLD)
    assert (joint["attack"], joint["column_name"], joint["success"], joint["baseline"]) == (
        "intersection",
        "age, zip",
        0.4,
        0.05,
    )
    assert "the smallest has 1 row, half of the people are in one of at most 3" in joint["says"]
    assert joint["says"].endswith("no group below 2 and 5")
    assert (alike["attack"], alike["success"], alike["baseline"]) == ("homogeneity", 0.4, 0.15)
    assert (common["attack"], common["success"], common["baseline"]) == ("composition", 0.25, 0.15)


def test_values_that_differ_tell_none_for_sure() -> None:
    _, row = solve(SPEC, replace(TOLD, changed=np.array([4.0])))
    assert (row["attack"], row["success"], row["gain"]) == ("homogeneity", None, 0)


def test_values_of_groups_alone_are_not_those_of_rows() -> None:
    assert [row["attack"] for row in solve(replace(SPEC, by_row=[False]), TOLD)] == ["intersection", "composition"]
