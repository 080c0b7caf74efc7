"""Rows are matched by key; who shares them reads them and does not match again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ppduck.pairs.one_to_one import CHECK
from ppduck.pairs.rows import PAIRS, SHARED, Pairs, PairSpec
from ppduck.query import tree as sql
from tests.pairs.catalogue import compared

pytestmark = pytest.mark.core
SPEC = PairSpec("f", "t", "r", ["id"], ["x"], [], [], [None])


def pairs(within: sql.Statement | None = None) -> Pairs:
    columns = compared()
    columns.use_columns(None, categories=True)
    return Pairs(columns, within)


def test_what_is_compared_has_names_by_its_place() -> None:
    assert pairs().value_names == ["_pp_x0", "_pp_y0"]
    assert pairs().category_names == ["_pp_a0", "_pp_b0"]
    assert pairs().spec(PairSpec) == replace(SPEC, categories=["c"])


def test_a_pair_with_null_is_in_no_piece() -> None:
    text = sql.render(pairs().joined(None))
    assert 'CASE WHEN NOT "_pp_x0" IS NULL AND NOT "_pp_y0" IS NULL' in text
    assert text.endswith('USING ("_pp_k0")')


def test_shared_pairs_are_read_and_not_matched_again() -> None:
    outer = sql.Statement()
    pairs().share(outer)
    assert all(map(outer.has, (SHARED, CHECK)))
    inner = pairs(outer)
    statement = inner.statement()
    inner.check(statement)
    assert statement.has(PAIRS)
    assert not any(map(statement.has, ("_pp_original", CHECK)))
    text = sql.render(statement.query(sql.query([sql.column("_pp_x0")], sql.table(PAIRS))))
    assert f'FROM "{SHARED}"' in text
    assert "JOIN" not in text


def test_rows_come_apart_as_their_names_say() -> None:
    spec = replace(SPEC, features=["s"], columns=["x", "z"])
    rows = spec.rows(np.arange(10.0))
    s, x, y = spec.parts(rows)
    assert [each[0].tolist() for each in (s, x, y)] == [[0.0], [1.0, 2.0], [3.0, 4.0]]
