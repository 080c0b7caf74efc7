"""Tables match one to one or are refused, with the rows and keys that do not; each table is counted once."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from ppduck.errors import PpduckError
from ppduck.pairs.one_to_one import KEY_LOOK, Counts, MatchSpec, look_at_keys, matched
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified

pytestmark = pytest.mark.core
SPEC = MatchSpec("f", "t", "r", ["id"])
FINE = Counts(3, 3, 3, True, 0, 0, 0, 0)


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


@pytest.mark.parametrize(
    ("rows", "repeated"), [("range(5000)", False), ("(SELECT i % 9 FROM range(5000) AS r(i))", True)]
)
def test_a_key_of_few_values_is_seen_before_it_is_joined(rows: str, repeated: bool) -> None:
    statement = sql.Statement()
    look_at_keys(statement, ["_pp_k0"])
    query = statement.query(
        sql.query([sql.column("_pp_rows_original"), sql.column("_pp_repeated")], sql.table(KEY_LOOK))
    )
    with duckdb.connect() as con:
        con.execute(f'CREATE VIEW "_pp_original" AS SELECT k AS "_pp_k0" FROM {rows} AS r(k)')
        assert con.execute(qualified(sql.render(query))).fetchall() == [(5000, repeated)]


@pytest.mark.parametrize(
    ("original", "release", "words"),
    [
        ("(1, 1), (2, 1), (3, 1)", "(1, 1), (2, 1), (4, 1)", '1 of the 3 rows of "t" have no partner in "r"; '
         '1 of the 3 rows of "r" have no partner in "t"'),
        ("(1, 1), (2, 1), (2, 1)", "(1, 1), (2, 1), (2, 1)", '1 keys occur more than once in "t"; '
         '1 keys occur more than once in "r"'),
        ("(1, 1), (2, 1), (2, 1)", "(1, 1), (2, 1)", '1 keys occur more than once in "t"'),
        ("(1, 1), (NULL, 1), (NULL, 1)", "(1, 1), (NULL, 1), (NULL, 1)", '2 of the 3 rows of "t" have no partner in '
         '"r"; 2 of the 3 rows of "r" have no partner in "t"'),
        ("(1, 1)", "(1, NULL)", '1 of the 1 rows of "t" have no partner in "r"; 1 of the 1 rows of "r"'),
    ],
)  # fmt: skip
def test_what_does_not_match_is_counted_in_sql(
    con: duckdb.DuckDBPyConnection, original: str, release: str, words: str
) -> None:
    for name, rows in (("t", original), ("r", release)):
        con.execute(f"CREATE TABLE {name} AS SELECT a, b, 1.5 AS x FROM (VALUES {rows}) AS v(a, b)")
    with pytest.raises(duckdb.Error, match=f"do not match one to one: {words}"):
        con.execute("FROM unchanged_values('t', 'r', conf=['x'], key=['a','b'])")
