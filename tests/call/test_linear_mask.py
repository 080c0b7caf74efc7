"""A linear form as the list that SQL reads, and what a solve is told."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.call.linear_mask import LinearMask, Request, Span, TermPlaces, flatten
from ppduck.call.parameters import Call
from ppduck.kernels.linear import LinearForm
from ppduck.query import tree as sql

FORM = LinearForm(
    np.array([1.0, 2.0]),
    np.array([[3.0, 4.0]]),
    np.array([[5.0, 6.0], [7.0, 8.0]]),
    np.array([[9.0, 10.0], [11.0, 12.0]]),
)


def mask_that_reads(x: Span, v: Span) -> LinearMask:
    plan = sql.null()
    return LinearMask(
        "m", Call, lambda catalog, call: plan, "", "", solve=lambda blocks, request: FORM, reads_x=x, reads_v=v
    )


@pytest.mark.parametrize(
    ("reads_x", "reads_v", "expected"),
    [
        ("all", "all", [1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12]),
        ("own", "none", [1, 3, 5, 2, 4, 8]),
        ("none", "own", [1, 3, 9, 2, 4, 12]),
    ],
)
def test_a_form_column_by_column(reads_x: Span, reads_v: Span, expected: list[float]) -> None:
    mask = mask_that_reads(reads_x, reads_v)
    assert flatten(mask, FORM) == expected
    assert mask.size(p=1, q=2) == len(expected) // 2


def test_outputs_go_round_the_columns_and_keep_to_their_own() -> None:
    mask = mask_that_reads("own", "none")
    assert [mask.terms(j, ["s"], ["x0", "x1"], ["v0", "v1"]) for j in range(3)] == [
        ["s", "x0"],
        ["s", "x1"],
        ["s", "x0"],
    ]


def test_a_request_speaks_for_its_call() -> None:
    request = Request("m", "t", "g = 1", ["x1", "x2"], ["s"], None, TermPlaces(1))
    assert request.per_column({"x2": 0.2, "x1": 0.1}).tolist() == [0.1, 0.2]
    assert request.per_column(0.3).tolist() == [0.3, 0.3]
    assert request.where == " in the group g = 1"
    assert str(request.refuse("too few rows.")) == 'm on "t": too few rows.'
    assert TermPlaces(2, (2, 3)).explaining == 4
