"""rr_rules: rules of randomized baskets, their ranges, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from ppduck.errors import PpduckWarning
from tests.association.conftest import ITEMS
from tests.estimators.test_rr_reconstruct import rows

pytestmark = pytest.mark.core


def by_name(found: list[tuple[Any, ...]]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Of each rule, support with its range, confidence with its range, and the verdict."""
    return {("".join(row[0]), "".join(row[1])): (*row[2:5], row[7], *row[5:7], row[8]) for row in found}


def test_the_statement_of_the_issue(baskets: duckdb.DuckDBPyConnection) -> None:
    query = "FROM rr_rules('{}', ['a','b','c','d']{}, min_support=0.25, min_confidence=0.65)"
    found = by_name(rows(baskets, query.format("baskets_rr", ", p=0.9")))
    assert [column[0] for column in baskets.description or ()] == [
        *(
            "antecedent",
            "consequent",
            "support",
            "support_lower",
            "support_upper",
            "confidence_lower",
            "confidence_upper",
            "confidence",
            "verdict",
        )
    ]
    assert found == by_name(rows(baskets, query.format("view_rr", "")))
    [(ab, abc, a)] = rows(baskets, "SELECT avg(a * b), avg(a * b * c), avg(a) FROM baskets")
    for (x, y), true_support, true_confidence in ((("a", "b"), ab, ab / a), (("ab", "c"), abc, abc / ab)):
        support, s_low, s_high, confidence, c_low, c_high, verdict = found[x, y]
        assert s_low < true_support < s_high
        assert c_low < true_confidence < c_high
        assert abs(support - true_support) < 0.03
        assert abs(confidence - true_confidence) < 0.05
        assert verdict == "frequent"
    assert all(verdict == "no" for (_, y), (*_, verdict) in found.items() if y == "d")


def test_p_1_gives_the_true_rules(baskets: duckdb.DuckDBPyConnection) -> None:
    found = by_name(rows(baskets, f"FROM rr_rules('baskets', {ITEMS}, p=1, min_support=0.01, min_confidence=0)"))
    assert len(found) == sum(2 ** len(s) - 2 for s in ("ab", "ac", "ad", "bc", "bd", "cd")) + 4 * 6 + 14
    [(acd, cd)] = rows(baskets, "SELECT avg(a * c * d), avg(c * d) FROM baskets")
    assert (found["cd", "a"][0], found["cd", "a"][3]) == pytest.approx((acd, acd / cd))


def test_booleans_a_matrix_and_levels_the_other_way_round(baskets: duckdb.DuckDBPyConnection) -> None:
    baskets.execute("CREATE TABLE flags AS SELECT id, a = 1 AS a, b = 1 AS b, c, d FROM baskets")
    baskets.execute(
        "CREATE VIEW flags_rr AS FROM rr_mask('flags', matrix={'a': [[0.95, 0.2], [0.05, 0.8]], 'b': [[0.8, 0.05], [0.2, 0.95]]}, "
        "levels={'b': [true, false]}, key='id')"
    )
    [(ab, a)] = rows(baskets, "SELECT avg(a * b), avg(a) FROM baskets")
    found = by_name(
        rows(baskets, "FROM rr_rules('flags_rr', ['a', 'b'], min_support=0.1, min_confidence=0.1, range='normal')")
    )
    _, s_low, s_high, confidence, *_ = found["a", "b"]
    assert s_low - 0.01 < ab < s_high + 0.01
    assert confidence == pytest.approx(ab / a, abs=0.04)


def test_the_pattern_of_table_3_2_on_coil(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    """At p = 0.65 ranges hold the true values; those of three and four items are wider than those of two."""
    con.execute(
        "CREATE TABLE coil AS SELECT row_number() OVER () AS id, * EXCLUDE (n) FROM "
        f"(SELECT * EXCLUDE (k) FROM (SELECT *, unnest(range(n)) AS k FROM '{reference_data / 'coil_binary_counts.parquet'}'))"
    )
    items = list("ABCDEFGHIJ")
    con.execute(f"CREATE VIEW coil_rr AS FROM rr_mask('coil', conf={items}, p=0.65, key='id', seed=1)")
    truth = by_name(
        rows(con, "FROM rr_rules('coil', ['E', 'F', 'G', 'H', 'I'], p=1, min_support=0.2, min_confidence=0.5)")
    )
    found = by_name(
        rows(
            con,
            "FROM rr_rules('coil_rr', ['E', 'F', 'G', 'H', 'I'], min_support=0.2, min_confidence=0.5, prune='upper')",
        )
    )
    published = {
        ("G", "E"): 35.9,
        ("G", "H"): 35.9,
        ("EH", "G"): 35.8,
        ("EG", "I"): 22.1,
        ("FH", "I"): 23.9,
        ("EGH", "F"): 22.1,
        ("FGI", "E"): 22.1,
    }
    widths: dict[int, list[float]] = {2: [], 3: [], 4: []}
    for rule, support in published.items():
        assert 100 * truth[rule][0] == pytest.approx(support, abs=0.1)
        estimate, s_low, s_high, _, c_low, c_high, _ = found[rule]
        assert abs(truth[rule][0] - estimate) < 2 * (s_high - estimate), "within 4 standard errors"
        assert c_low <= truth[rule][3] <= c_high
        widths[len("".join(rule))].append(s_high - estimate)  # the lower end may be 0
        assert c_high - c_low > s_high - s_low, "Chebyshev's range of a ratio is wider"
    assert max(widths[2]) < min(widths[3]) < max(widths[3]) < min(widths[4])


BAD = {
    "'baskets', ['a', 'b'], min_support=0.2, min_confidence=0.5": r'"baskets" is no view over rr_mask',
    "'baskets', ['a'], p=0.9, min_support=0.2, min_confidence=0.5": r"rules need at least two items",
    "'baskets', ['a', 'b'], p=0.9, min_support=0.2": r"parameter 'min_confidence' is missing",
    "'baskets', ['a', 'b'], p=0.9, min_support=20, min_confidence=0.5": r"min_support must be from 0 to 1, got 20",
    "'baskets', ['a', 'b'], p=0.5, min_support=0.2, min_confidence=0.5": r'column "a" cannot be reconstructed: p = 1/2 makes',
    "'baskets', ['a', 'b'], p=0.9, min_support=0.2, min_confidence=0.5, max_items=1": r"max_items must be from 2 to 1,000, got 1",
    "'baskets', ['a', 'id'], p=0.9, min_support=0.2, min_confidence=0.5": r"19998 of 20000 rows hold NULL or another number than 0 and 1",
    "'texts', ['a', 't'], p=0.9, min_support=0.2, min_confidence=0.5": r'item column "t" is of type VARCHAR; items must be columns of 0 and 1',
    "'(FROM baskets WHERE id < 0)', ['a', 'b'], p=0.9, min_support=0.2, min_confidence=0.5": r"there are no rows, so there are no rules",
    "'many', ["
    + ", ".join(f"'c{k}'" for k in range(20))
    + "], p=0.6, min_support=0.01, min_confidence=0, prune='upper'": r"more than 200,000 rules could be frequent, with up to \d+ items; raise min_support, or say max_items := \d",
}


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input(baskets: duckdb.DuckDBPyConnection, arguments: str) -> None:
    baskets.execute("CREATE TABLE texts AS SELECT a, 'yes' AS t FROM baskets")
    columns = ", ".join(f"(hash(i * 100 + {k}) % 2)::INTEGER AS c{k}" for k in range(20))
    baskets.execute(f"CREATE TABLE many AS SELECT {columns} FROM range(100) r(i)")
    with pytest.raises(duckdb.InvalidInputException, match=BAD[arguments]):
        rows(baskets, f"FROM rr_rules({arguments})")


def test_values_of_temporary_tables_are_not_printed(baskets: duckdb.DuckDBPyConnection) -> None:
    baskets.execute("CREATE TEMP TABLE mine AS SELECT 'HIV positive' AS a, 1 AS b FROM range(9)")
    with pytest.raises(
        duckdb.InvalidInputException, match=r"9 of 9 rows hold NULL or another number than 0 and 1"
    ) as caught:
        rows(baskets, "FROM rr_rules('mine', ['a', 'b'], p=0.9, min_support=0.2, min_confidence=0.5)")
    assert "HIV" not in str(caught.value)


def test_nearly_singular_designs_warn(baskets: duckdb.DuckDBPyConnection) -> None:
    with pytest.warns(PpduckWarning, match=r'matrix of column "a" is nearly singular \(condition number 5000\)'):
        rows(
            baskets,
            "FROM rr_rules('baskets', ['a', 'b'], p={'a': 0.5001, 'b': 0.9}, min_support=0.2, min_confidence=0.5)",
        )


def test_many_different_baskets_take_no_time(con: duckdb.DuckDBPyConnection) -> None:
    """Some 15,000 patterns: sums over them must not wait for threads of a library."""
    columns = ", ".join(f"(hash(i * 20 + {k}) % 2)::INTEGER AS c{k}" for k in range(14))
    con.execute(f"CREATE TABLE many AS SELECT {columns} FROM range(50000) r(i)")
    names = [f"c{k}" for k in range(14)]
    assert len(rows(con, f"FROM rr_rules('many', {names}, p=1, min_support=0.2, min_confidence=0)")) == 14 * 13


def test_more_items_than_a_word_has_bits(con: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"(i % {k + 2} = 0)::INTEGER AS c{k}" for k in range(70))
    con.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(10000) r(i)")
    names = [f"c{k}" for k in range(70)]
    found = by_name(
        rows(con, f"FROM rr_rules('wide', {names}, p=1, min_support=0.015, min_confidence=0.9, max_items=2)")
    )
    # A multiple of 66 is one of 33, of 22 and of 2: items on both sides of the word's end.
    assert found["c64", "c31"][0] == pytest.approx(152 / 10000)
    assert found["c64", "c31"][3] == pytest.approx(1)
