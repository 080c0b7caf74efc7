"""Baskets: patterns of bits in SQL, read again in Python, and what no basket is."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppduck.association import baskets
from ppduck.association.baskets import BasketPatterns, Item, RulesSpec
from ppduck.catalogue.source import Column
from ppduck.errors import Faults, PpduckError, PpduckWarning
from ppduck.kernels.rules import Limits
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
KEPT = ((1.0, 0.0), (0.0, 1.0))
LIMITS = Limits(0.1, 0.1, 0.95, "chebyshev")


def spec_of(*items: Item, limits: Limits = LIMITS) -> RulesSpec:
    return RulesSpec("rr_rules", "shop", items, limits)


def test_the_statement_of_two_items() -> None:
    """A value that is no number must become NULL: a failing cast would print it."""
    assert sql.render(baskets.patterns("t", ["a", "b"])).lower() == (
        'select flatten(list_value(list("_pp_word0" order by "_pp_word0" asc nulls last))) as "_pp_patterns", '
        'list("_pp_count" order by "_pp_word0" asc nulls last) as "_pp_pattern_counts" from '
        '(select "_pp_word0", count(*) as "_pp_count" from (select case when '
        'coalesce(try_cast("a" as bigint) in (0, 1), false) and coalesce(try_cast("b" as bigint) in (0, 1), false) '
        'then (try_cast("a" as bigint) << 0) + (try_cast("b" as bigint) << 1) end as "_pp_word0" from t) '
        'as "_pp_packed" group by "_pp_word0") as "_pp_counted"'
    )


@pytest.mark.parametrize("items", [2, 52, 53, 120])
def test_what_sql_packs_python_reads(items: int) -> None:
    rng = np.random.default_rng(items)
    table = rng.integers(0, 2, (40, items))
    table = table[rng.integers(0, 40, 200)]  # some baskets several times
    names = [f"c{i}" for i in range(items)]
    rows = ", ".join(f"({', '.join(map(str, row))})" for row in table)
    source = f"(SELECT * FROM (VALUES {rows}) AS v({', '.join(names)}))"
    with duckdb.connect() as con:
        found = con.execute(sql.render(baskets.patterns(source, names))).fetchone()
    assert found is not None
    told = BasketPatterns(*(np.array(each, dtype=float) for each in found))
    read = baskets.read(spec_of(*(Item(name, 1.0, KEPT) for name in names)), "shop", told)
    expected, counts = np.unique(table, axis=0, return_counts=True)
    order = np.lexsort(read.present.T[::-1])
    assert np.array_equal(read.present[order], expected.astype(bool))
    assert np.array_equal(read.counts[order], counts)


def test_rows_that_are_no_baskets_are_counted_and_not_shown() -> None:
    told = BasketPatterns(np.array([0.0, 3.0, np.nan]), np.array([5.0, 4.0, 2.0]))
    with pytest.raises(PpduckError, match=r'^rr_rules on "original": 2 of 11 rows hold NULL or another number than'):
        baskets.read(spec_of(Item("a", 1.0, KEPT), Item("b", 1.0, KEPT)), "original", told)


def test_without_rows_there_are_no_rules() -> None:
    with pytest.raises(PpduckError, match="there are no rows, so there are no rules"):
        baskets.read(spec_of(Item("a", 1.0, KEPT)), "shop", BasketPatterns(None, None))


def test_too_many_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baskets, "MOST_PATTERNS", 1)
    told = BasketPatterns(np.array([0.0, 1.0]), np.ones(2))
    with pytest.raises(PpduckError, match="2 different baskets are more than 1; use fewer items"):
        baskets.read(spec_of(Item("a", 1.0, KEPT)), "shop", told)


def test_inverses_undo_the_matrices() -> None:
    item = Item("a", None, ((0.9, 0.3), (0.1, 0.7)))
    told = BasketPatterns(np.array([0.0, 1.0]), np.array([6.0, 4.0]))
    found = baskets.before_randomization(spec_of(item), baskets.read(spec_of(item), "shop", told))
    assert np.allclose(found.inverses[0] @ np.array(item.matrix), np.eye(2))


def test_a_singular_matrix_is_refused_and_a_nearly_singular_one_warns() -> None:
    told = BasketPatterns(np.array([0.0, 1.0]), np.ones(2))
    half, nearly = Item("a", 0.5, ((0.5, 0.5), (0.5, 0.5))), Item("a", 0.5001, ((0.5001, 0.4999), (0.4999, 0.5001)))
    with pytest.raises(PpduckError, match=r'column "a" cannot be reconstructed: p = 1/2 makes'):
        baskets.before_randomization(spec_of(half), baskets.read(spec_of(half), "shop", told))
    with pytest.warns(PpduckWarning, match=r"nearly singular \(condition number 5000\)"):
        baskets.before_randomization(spec_of(nearly), baskets.read(spec_of(nearly), "shop", told))


def test_too_many_rules_say_how_to_ask_for_fewer() -> None:
    items = tuple(Item(name, 1.0, KEPT) for name in "abcd")
    spec = spec_of(*items, limits=Limits(0, 0, 0.95, "chebyshev", most_rules=3))
    told = BasketPatterns(np.array([15.0]), np.array([9.0]))
    with pytest.raises(PpduckError, match=r"more than 3 rules could be frequent.*raise min_support, or say max_items"):
        baskets.rules_of(spec, baskets.read(spec, "shop", told), "estimate")


def test_items_are_zero_or_one() -> None:
    faults = Faults("rr_rules", "shop")
    columns = [Column("a", "BOOLEAN"), Column("b", "INTEGER"), Column("c", "VARCHAR"), Column("d", "")]
    baskets.refuse_other_types(faults, columns)
    with pytest.raises(PpduckError, match=r'^rr_rules on "shop": item column "c" is of type VARCHAR; items must be'):
        faults.raise_if_any()


def test_a_specification_is_read_as_it_was_written() -> None:
    spec = spec_of(Item("a", None, KEPT), limits=Limits(0.2, 0.5, 0.9, "normal", 3))
    assert RulesSpec.read(spec.text()) == spec
