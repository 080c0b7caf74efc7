"""Spark releases what DuckDB releases, on uneven partitions, one of them empty."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pytest

from ppduck.call.registry import Kind, functions
from ppduck.errors import PpduckError
from ppduck.spark._compared import NAME
from ppduck.spark._counted import COUNTED
from ppduck.spark._masking import INSTEAD
from tests.spark.contract import EXACT, FIGURES, LINEAR, MEMBERS, PARTS, POLICY, Contract, unlike


@pytest.mark.parametrize("call", LINEAR)
def test_linear_masks_give_the_same_release(contract: Contract, call: str) -> None:
    contract.keeps_linear(LINEAR[call])


@pytest.mark.parametrize("call", EXACT)
def test_levels_and_values_are_dealt_alike(contract: Contract, call: str) -> None:
    contract.keeps_exactly(EXACT[call])


@pytest.mark.parametrize("call", FIGURES)
def test_figures_are_the_same(contract: Contract, call: str) -> None:
    contract.tells_the_same(FIGURES[call])


@pytest.mark.parametrize("call", [LINEAR["noise"], EXACT["rr"]])
def test_another_secret_gives_another_release(contract: Contract, call: str) -> None:
    contract.differs_by_secret(call)


@pytest.mark.parametrize("mask", ["egadp_mask", "shuffle_mask"])
def test_columns_may_have_any_name(contract: Contract, mask: str) -> None:
    """Dots and backticks too, which PySpark takes for paths and quotes."""
    contract.con.execute(
        'CREATE OR REPLACE TABLE odd AS SELECT id, x2 AS "x.y", age AS "a`b", region AS "r ""." FROM customers'
    )
    named = 'id, x2 AS `x.y`, age AS `a``b`, region AS `r ".`'
    contract.spark.sql(f"SELECT {named} FROM customers").createOrReplaceTempView("odd")
    call = f"{mask}('odd', conf=['x.y'], nonconf=['a`b'], key='id')"
    expected, found = contract.both(call)
    assert unlike(expected, found) == set()
    original = contract.con.sql("FROM odd ORDER BY id").to_arrow_table()
    assert unlike(original, found) == {"x.y"}


def test_the_table_lies_in_uneven_partitions(contract: Contract) -> None:
    """Else the tests above would merge nothing."""
    sizes = contract.spark.table("customers").rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sorted(sizes) == sorted(end - start for start, end in itertools.pairwise(PARTS))
    assert {0, 1} < set(sizes)


def test_every_function_that_runs_on_spark_is_in_the_contract() -> None:
    """And every other mask is refused by its name."""
    calls = {call.partition("(")[0] for call in (*LINEAR.values(), *EXACT.values(), *FIGURES.values())}
    masks = {function.name for function in functions() if function.kind is Kind.MASK}
    assert calls & masks == masks - set(INSTEAD)
    assert calls - masks == {*COUNTED, NAME}


def test_moments_are_kept_far_from_zero(contract: Contract) -> None:
    """To 1e-9 at an offset of a million, as the mask promises."""
    released, _ = contract.both(LINEAR["egadp"])[::-1]
    original = contract.con.sql("FROM customers ORDER BY id").to_arrow_table()
    columns = [
        np.column_stack([table.column(name).to_numpy() for name in ("x1", "x2", "age")])
        for table in (original, released)
    ]
    before, masked = (each[~np.isnan(columns[0][:, 0])] for each in columns)
    sd = before.std(axis=0)
    assert np.abs(masked - before)[:, :2].mean(axis=0).min() > 10
    assert (np.abs(masked.mean(axis=0) - before.mean(axis=0)) / sd).max() < 1e-9
    assert (np.abs(np.cov(masked.T) - np.cov(before.T)) / np.outer(sd, sd)).max() < 1e-9


def test_a_select_is_a_table(contract: Contract) -> None:
    contract.con.execute("CREATE OR REPLACE VIEW members AS FROM customers WHERE member")
    call = "noise_mask({}, conf=['x2'], level=0.2, key='id')"
    expected = contract.con.sql(f"FROM {call.format(repr('members'))} ORDER BY id").to_arrow_table()
    found = contract.on_spark(call.format(f"'{MEMBERS}'")).toArrow().sort_by("id")
    assert found.column("id").to_pylist() == expected.column("id").to_pylist()
    one, other = (table.column("x2").to_numpy() for table in (expected, found))
    assert np.abs(one - other).max() < 1e-9 * one.std()


def test_a_policy_that_asks_for_more_than_spark_has_is_refused_by_name(contract: Contract) -> None:
    policy = POLICY.replace("'late': 'drop'", "'late': {'recode': {'rare_below': 5}}").replace("'noise'}", "'shuffle'}")
    policy = policy.replace(", 'noise': {'level': 0.2}", "")
    with pytest.raises(PpduckError, match=r"shuffle_mask of \"x2\" cannot run on Spark: it ranks all rows") as refused:
        contract.on_spark(f"release_table('customers', policy={policy})")
    assert 'recode_mask of "late" cannot run on Spark: it looks at all rows' in str(refused.value)


def test_duckdb_knows_what_it_is_compared_with(contract: Contract) -> None:
    with pytest.raises(duckdb.Error, match="key"):
        contract.con.sql("FROM rr_mask('customers', p={'region': 0.8}, key='age')").fetchall()
