"""Rows are matched by key, one to one, or refused; who shares them reads them and does not match again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ppduck.errors import PpduckError
from ppduck.pairs.rows import CHECK, PAIRS, SHARED, Counts, Pairs, PairSpec, matched
from ppduck.query import tree as sql
from tests.pairs.catalogue import compared

pytestmark = pytest.mark.core
SPEC = PairSpec("f", "t", "r", ["id"], ["x"], [], [], [None])
FINE = Counts(3, 3, 3, True, 0, 0, 0, 0)


def pairs(within: sql.Statement | None = None) -> Pairs:
    columns = compared()
    columns.use_columns(None, categories=True)
    return Pairs(columns, within)


def test_one_to_one_is_the_number_of_pairs() -> None:
    assert matched(SPEC, FINE) == 3


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"release": 2, "pairs": 2, "original_alone": 1}, '1 of the 3 rows of "t" have no partner in "r"'),
        ({"release": 4, "release_alone": 1}, '1 of the 4 rows of "r" have no partner in "t"'),
        ({"pairs": 5, "original_twice": 1}, '1 keys occur more than once in "t"'),
        ({"pairs": 5, "release_twice": 2}, '2 keys occur more than once in "r"'),
        ({"same": False}, "keys that count as equal are spelt in different ways"),
    ],
)
def test_what_does_not_match_is_counted(found: dict[str, int], words: str) -> None:
    with pytest.raises(PpduckError, match=f'^f on "t": rows are matched by key \\("id"\\).*{words}'):
        matched(SPEC, replace(FINE, **found))


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
