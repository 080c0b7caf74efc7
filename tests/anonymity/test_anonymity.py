"""k-anonymity, l-diversity and t-closeness against counts by pandas and distances by numpy, in Python and in the shell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, wasserstein_distance

import ppduck
from ppduck.call.registry import function_named
from tests.test_plain_sql import close, connection, run_shell, shell

pytestmark = pytest.mark.core

K_ANONYMITY = {
    **dict.fromkeys(("k", "rows", "groups"), "BIGINT"),
    **{"mean_size": "DOUBLE", "unique_rows": "BIGINT", "highest_risk": "DOUBLE", "mean_risk": "DOUBLE"},
    **{"rows_below": "BIGINT", "passed": "BOOLEAN", "direction": "VARCHAR"},
}
L_DIVERSITY = {
    **{"distinct_l": "BIGINT", "entropy_l": "DOUBLE", "frequency_l": "DOUBLE", "recursive_c": "DOUBLE"},
    **dict.fromkeys(("rows", "groups", "homogeneous_rows"), "BIGINT"),
    **dict.fromkeys(("passed_distinct", "passed_entropy", "passed_frequency", "passed_recursive"), "BOOLEAN"),
}
T_CLOSENESS = {
    "t": "DOUBLE",
    "mean_t": "DOUBLE",
    "rows": "BIGINT",
    "groups": "BIGINT",
    "measure": "VARCHAR",
    "direction": "VARCHAR",
}

# Guo (2010), Table 2.2.
PATIENTS = (
    "(SELECT unnest([0, 0, 0, 0, 1, 1, 1, 1]) AS age,"
    " unnest(['pneumonia', 'flu', 'flu', 'flu', 'pneumonia', 'pneumonia', 'flu', 'flu']) AS disease)"
)


@pytest.fixture(scope="module", params=["MACRO", "TEMP MACRO"])
def plain(request: pytest.FixtureRequest) -> Iterator[duckdb.DuckDBPyConnection]:
    with connection(request.param) as con:
        yield con


def text(body: str) -> str:
    return "'" + body.replace("'", "''") + "'"


def alike(expected: dict[str, Any]) -> dict[str, Any]:
    """Numbers up to rounding, and all else as it is."""
    return {name: close(value) if isinstance(value, float) else value for name, value in expected.items()}


def line(con: duckdb.DuckDBPyConnection, call: str) -> dict[str, Any]:
    """The one row of a call."""
    found = con.execute(f"FROM {call}")
    names = [column[0] for column in found.description]
    [row] = found.fetchall()
    return dict(zip(names, row, strict=True))


def rows_of(frame: pd.DataFrame) -> str:
    """A SELECT in parentheses of a frame whose columns hold whole numbers and None."""

    def written(value: Any) -> str:
        return "NULL" if pd.isna(value) else str(int(value))

    rows = ", ".join(f"({', '.join(map(written, row))})" for row in frame.itertuples(index=False))
    return f"(SELECT * FROM (VALUES {rows}) AS v({', '.join(frame.columns)}))"


def groups_of(frame: pd.DataFrame, qi: list[str]) -> list[pd.DataFrame]:
    return [group for _, group in frame.groupby(qi, dropna=False)]


def counts_of(column: pd.Series) -> np.ndarray:
    """How often each value occurs, the most frequent first."""
    return np.sort(column.value_counts(dropna=False).to_numpy())[::-1]


def anonymity(frame: pd.DataFrame, qi: list[str], k: int | None = None) -> dict[str, Any]:
    sizes = np.array([len(group) for group in groups_of(frame, qi)])
    below = None if k is None else int(sizes[sizes < k].sum())
    return {
        "k": sizes.min(),
        "rows": len(frame),
        "groups": len(sizes),
        "mean_size": sizes.mean(),
        "unique_rows": int((sizes == 1).sum()),
        "highest_risk": 1 / sizes.min(),
        "mean_risk": float(np.mean(1 / np.repeat(sizes, sizes))),
        "rows_below": below,
        "passed": None if k is None else bool((sizes >= k).all()),
        "direction": "higher is safer",
    }


def diversity(
    frame: pd.DataFrame, qi: list[str], sensitive: str, wanted: int = 2, c: float | None = None
) -> dict[str, Any]:
    found = [counts_of(group[sensitive]) for group in groups_of(frame, qi)]
    recursive = max(r[0] / r[wanted - 1 :].sum() if len(r) >= wanted else math.inf for r in found)
    spread = min(entropy(r) for r in found)
    return {
        "distinct_l": min(map(len, found)),
        "entropy_l": math.exp(spread),
        "frequency_l": 1 / max(r[0] / r.sum() for r in found),
        "recursive_c": recursive,
        "rows": len(frame),
        "groups": len(found),
        "homogeneous_rows": sum(int(r.sum()) for r in found if len(r) == 1),
        "passed_distinct": all(len(r) >= wanted for r in found),
        "passed_entropy": spread >= math.log(wanted) - 1e-9,
        "passed_frequency": all(r[0] * wanted <= r.sum() * (1 + 1e-9) for r in found),
        "passed_recursive": None if c is None else all(r[0] < c * r[wanted - 1 :].sum() for r in found),
    }


def closeness(frame: pd.DataFrame, qi: list[str], sensitive: str, ordered: bool = False) -> dict[str, Any]:
    """Every group against every level; the last level is that of NULL."""
    at, levels = pd.factorize(frame[sensitive], sort=True, use_na_sentinel=True)
    at = np.where(at < 0, len(levels), at)
    m = len(levels) + int((at == len(levels)).any())
    whole = np.bincount(at, minlength=m) / len(frame)
    distances, sizes = [], []
    for _, places in pd.Series(at).groupby([frame[name] for name in qi], dropna=False):
        share = np.bincount(places, minlength=m) / len(places)
        distance = (
            np.abs(np.cumsum(share - whole)).sum() / max(m - 1, 1) if ordered else np.abs(share - whole).sum() / 2
        )
        distances.append(distance)
        sizes.append(len(places))
    return {
        "t": max(distances),
        "mean_t": np.average(distances, weights=sizes),
        "rows": len(frame),
        "groups": len(sizes),
        "measure": "ordered" if ordered else "variational",
        "direction": "lower is safer",
    }


def uneven(rows: int = 300, seed: int = 5) -> pd.DataFrame:
    """Groups of very unlike sizes, with NULLs in every column."""
    rng = np.random.default_rng(seed)
    found = pd.DataFrame(
        {"a": rng.geometric(0.4, rows), "b": rng.integers(0, 3, rows), "s": rng.binomial(12, 0.4, rows)}, dtype="Int64"
    )
    for name in found:
        found.loc[rng.random(rows) < 0.08, name] = pd.NA
    return found


# Against counts by hand and by pandas


def test_the_published_table_is_4_anonymous_and_2_diverse(plain: duckdb.DuckDBPyConnection) -> None:
    assert line(plain, f"k_anonymity({text(PATIENTS)}, ['age'], k := 4)") == {
        **{"k": 4, "rows": 8, "groups": 2, "mean_size": 4, "unique_rows": 0, "highest_risk": 0.25, "mean_risk": 0.25},
        **{"rows_below": 0, "passed": True, "direction": "higher is safer"},
    }
    assert line(plain, f"l_diversity({text(PATIENTS)}, ['age'], 'disease')") == {
        **{
            "distinct_l": 2,
            "entropy_l": close(4 / 3**0.75),
            "frequency_l": 4 / 3,
            "recursive_c": 3,
            "rows": 8,
            "groups": 2,
        },
        **{
            "homogeneous_rows": 0,
            "passed_distinct": True,
            "passed_entropy": False,
            "passed_frequency": False,
            "passed_recursive": None,
        },
    }
    assert line(plain, f"t_closeness({text(PATIENTS)}, ['age'], 'disease')") == {
        **{"t": 0.125, "mean_t": 0.125, "rows": 8, "groups": 2, "measure": "variational"},
        "direction": "lower is safer",
    }


def test_the_published_salaries(plain: duckdb.DuckDBPyConnection) -> None:
    """Li, Li & Venkatasubramanian (2007): of nine salaries, a group of the lowest three and a group that is spread."""
    for group, distance in (([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)):
        rows = f"(SELECT salary, salary IN {tuple(group)} AS chosen FROM range(3, 12) AS r(salary))"
        found = line(plain, f"t_closeness({text(rows)}, ['chosen'], 'salary', ordered := true)")
        # The other six are half as far off on the other side, because the table is the mean of both.
        assert (found["t"], found["mean_t"]) == close((distance, distance / 3 + distance / 2 * 2 / 3))


@pytest.mark.parametrize("qi", [["a"], ["a", "b"], ["b", "a"]], ids=len)
@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 4000])
def test_against_pandas(plain: duckdb.DuckDBPyConnection, qi: list[str], wanted: int) -> None:
    data = uneven()
    source = text(rows_of(data))
    assert line(plain, f"k_anonymity({source}, {qi})") == alike(anonymity(data, qi))
    assert line(plain, f"k_anonymity({source}, {qi}, {wanted})") == alike(anonymity(data, qi, wanted))
    assert line(plain, f"l_diversity({source}, {qi}, 's', l := {wanted}, c := 1.5)") == alike(
        diversity(data, qi, "s", wanted, 1.5)
    )
    for ordered in (False, True):
        found = line(plain, f"t_closeness({source}, {qi}, 's', ordered := {ordered})")
        assert found == alike(closeness(data, qi, "s", ordered))


SMALL = st.lists(
    st.tuples(*[st.none() | st.integers(0, 2)] * 2, st.none() | st.integers(0, 5)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(rows=SMALL, wanted=st.integers(1, 5), c=st.sampled_from([0.25, 0.5, 1, 1.5, 3]))
def test_any_small_table(
    plain: duckdb.DuckDBPyConnection, rows: list[tuple[int | None, ...]], wanted: int, c: float
) -> None:
    data = pd.DataFrame(rows, columns=["a", "b", "s"], dtype="Int64")
    source = text(rows_of(data))
    qi = ["a", "b"]
    assert line(plain, f"k_anonymity({source}, {qi}, k := {wanted})") == alike(anonymity(data, qi, wanted))
    found = line(plain, f"l_diversity({source}, {qi}, 's', l := {wanted}, c := {c})")
    assert found == alike(diversity(data, qi, "s", wanted, c))
    for ordered in (False, True):
        found = line(plain, f"t_closeness({source}, {qi}, 's', ordered := {ordered})")
        assert found == alike(closeness(data, qi, "s", ordered))


def test_the_ordered_distance_is_that_of_scipy_where_levels_are_evenly_spaced(plain: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"a": rng.integers(0, 40, 2000), "s": rng.permutation(np.arange(2000) % 500)})
    found = line(plain, f"t_closeness({text(rows_of(data))}, ['a'], 's', ordered := true)")
    assert found["t"] == close(max(wasserstein_distance(group["s"], data["s"]) for _, group in data.groupby("a")) / 499)


# What decides at the borders


@pytest.mark.parametrize("many", [1, 2, 3, 7, 10, 49, 1000])
@pytest.mark.parametrize("times", [1, 3, 7])
def test_equally_frequent_values_are_as_diverse_as_they_are_many(
    plain: duckdb.DuckDBPyConnection, many: int, times: int
) -> None:
    rows = text(f"(SELECT i % 3 AS a, i % {3 * many} // 3 AS s FROM range({3 * many * times}) AS r(i))")
    found = line(plain, f"l_diversity({rows}, ['a'], 's', l := {many})")
    assert found["distinct_l"] == found["entropy_l"] == many
    assert found["frequency_l"] == close(many)
    assert found["passed_distinct"] is found["passed_entropy"] is True
    assert line(plain, f"l_diversity({rows}, ['a'], 's', l := {many + 1})")["passed_entropy"] is False


def test_recursive_diversity_is_strict(plain: duckdb.DuckDBPyConnection) -> None:
    """Three of the most frequent value against ten of the two others: 0.3 as it is written, and as it is divided."""
    rows = text("(SELECT 1 AS a, unnest([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5]) AS s)")
    found = [line(plain, f"l_diversity({rows}, ['a'], 's', l := 2, c := {c})") for c in ("0.3", "0.3000001", "'0.2'")]
    assert [row["recursive_c"] for row in found] == [0.3] * 3
    assert [row["passed_recursive"] for row in found] == [False, True, False]


def test_too_few_values_for_any_c(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT unnest([1, 1, 1, 2]) AS a, unnest([1, 2, 2, NULL]) AS s)")
    found = line(plain, f"l_diversity({rows}, ['a'], 's', c := 1e300)")
    assert (found["recursive_c"], found["passed_recursive"]) == (math.inf, False)
    assert (found["distinct_l"], found["homogeneous_rows"], found["entropy_l"]) == (1, 1, 1)


def test_null_is_a_value_like_others(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT unnest([NULL, NULL, 1, 1]) AS a, NULL AS b, unnest([NULL, 5, NULL, 5]) AS s)")
    assert line(plain, f"k_anonymity({rows}, ['a', 'b'])")["k"] == 2
    assert line(plain, f"l_diversity({rows}, ['a', 'b'], 's')")["entropy_l"] == 2
    for ordered in (False, True):
        assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")["t"] == 0


def test_one_group_and_one_level_are_at_no_distance(plain: duckdb.DuckDBPyConnection) -> None:
    one_group = text("(SELECT 1 AS a, hash(i) % 7 AS s FROM range(1000) AS r(i))")
    one_level = text("(SELECT i % 7 AS a, 'flu' AS s FROM range(1000) AS r(i))")
    for rows in (one_group, one_level):
        for ordered in (False, True):
            found = line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")
            assert (found["t"], found["mean_t"]) == (0, 0)


def test_groups_like_the_table_are_at_no_distance(plain: duckdb.DuckDBPyConnection) -> None:
    rows = text("(SELECT i % 21 // 7 AS a, least(i % 7, 4) AS s FROM range(2100) AS r(i))")
    for ordered in (False, True):
        assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := {ordered})")["t"] == 0


def test_levels_stand_in_the_order_of_their_type(plain: duckdb.DuckDBPyConnection) -> None:
    """As text 10 comes before 9, and high before low."""
    levels = "unnest([1, 1, 2, 2, 3]) AS a, unnest([1, 2, 2, 3, 3]) AS i"
    expected = closeness(pd.DataFrame({"a": [1, 1, 2, 2, 3], "s": [1, 2, 2, 3, 3]}), ["a"], "s", True)
    for s in ("[8, 9, 10][i]", "(['low', 'mid', 'high'][i])::ENUM('low', 'mid', 'high')", "DATE '2024-01-01' + i"):
        rows = text(f"(SELECT a, {s} AS s FROM (SELECT {levels}))")
        assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := true)") == alike(expected)
    rows = text(f"(SELECT a, ['8', '9', '10'][i] AS s FROM (SELECT {levels}))")
    assert line(plain, f"t_closeness({rows}, ['a'], 's', ordered := true)")["t"] != close(expected["t"])


SETTINGS = ["ieee_floating_point_ops = false", "integer_division = true", "default_null_order = 'nulls_first'"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_change_nothing(plain: duckdb.DuckDBPyConnection, setting: str) -> None:
    data = uneven()
    source = text(rows_of(data))
    plain.execute(f"SET {setting}")
    try:
        for qi in (["b"], ["a", "b"]):
            assert line(plain, f"k_anonymity({source}, {qi}, 9)") == alike(anonymity(data, qi, 9))
        for wanted in (1, 2, 3):
            assert line(plain, f"l_diversity({source}, ['a', 'b'], 's', {wanted}, 2)") == alike(
                diversity(data, ["a", "b"], "s", wanted, 2)
            )
        for ordered in (False, True):
            found = line(plain, f"t_closeness({source}, ['a'], 's', {ordered})")
            assert found == alike(closeness(data, ["a"], "s", ordered))
    finally:
        plain.execute(f"RESET {setting.split(' ')[0]}")


# How they are called, and what comes out


CALLS = {
    "k_anonymity": ("{}, ['a', 'b']", K_ANONYMITY),
    "l_diversity": ("{}, ['a', 'b'], 's'", L_DIVERSITY),
    "t_closeness": ("{}, ['a', 'b'], 's'", T_CLOSENESS),
}


@pytest.mark.parametrize("name", CALLS)
def test_result_types(plain: duckdb.DuckDBPyConnection, name: str) -> None:
    arguments, types = CALLS[name]
    source = text(rows_of(uneven(20)))
    ends = {"k_anonymity": ", k := 3", "l_diversity": ", l := 3, c := 2", "t_closeness": ", ordered := true"}
    for end in ("", ends[name]):
        found = plain.execute(f"DESCRIBE FROM {name}({arguments.format(source)}{end})").fetchall()
        assert {row[0]: row[1] for row in found} == types
    chosen = ", ".join(types)  # rows and groups need no quotes
    assert plain.execute(f"SELECT {chosen} FROM {name}({arguments.format(source)})").fetchone() is not None


def test_every_way_to_name_the_rows(plain: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    data = uneven()
    plain.execute(f"CREATE OR REPLACE TABLE survey AS FROM {rows_of(data)}")
    plain.execute('CREATE OR REPLACE TABLE "odd; ""name""" AS FROM survey')
    sources = ["survey", "main.survey", '"odd; ""name"""', "survey -- a remark", "(FROM survey -- a remark\n) AS s"]
    for ending in ("csv", "parquet", "json"):
        plain.execute(f"COPY survey TO '{tmp_path}/it''s here.{ending}'")
        sources.append(f"{tmp_path}/it's here.{ending}")
    for source in sources:
        found = [line(plain, f"{name}({arguments.format(text(source))})") for name, (arguments, _) in CALLS.items()]
        qi = ["a", "b"]
        assert found == [
            alike(anonymity(data, qi)),
            alike(diversity(data, qi, "s")),
            alike(closeness(data, qi, "s")),
        ], source


@pytest.mark.parametrize(
    "names",
    [("x2", "x3", "x1"), ("cell", "n", "level"), ("a b", 'say "x"', "it's"), ("select", "a;b", "groups"), ("#", "?", "rows"),
     ("k", "l", "c"), ("q", "i", "p"), ("sensitive", "qi", "tbl"), ("_pp_seen", "total", "m"), ("?s", "\\", "ordered")],
)  # fmt: skip
def test_odd_column_names(plain: duckdb.DuckDBPyConnection, names: tuple[str, str, str]) -> None:
    data = uneven(120)
    pairs = zip("abs", names, strict=True)
    columns = ", ".join(f'{old} AS "{new.replace(chr(34), chr(34) * 2)}"' for old, new in pairs)
    source = text(f"(SELECT {columns} FROM {rows_of(data)})")
    qi, sensitive = f"[{text(names[0])}, {text(names[1])}]", text(names[2])
    by = ["a", "b"]
    assert line(plain, f"k_anonymity({source}, {qi}, k := 2)") == alike(anonymity(data, by, 2))
    assert line(plain, f"l_diversity({source}, {qi}, {sensitive}, l := 3)") == alike(diversity(data, by, "s", 3))
    for ordered in (False, True):
        found = line(plain, f"t_closeness({source}, {qi}, {sensitive}, ordered := {ordered})")
        assert found == alike(closeness(data, by, "s", ordered))


def test_more_than_a_dozen_quasi_identifiers(plain: duckdb.DuckDBPyConnection) -> None:
    data = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 13)), columns=[f"c{i}" for i in range(13)])
    qi = list(data)[:-1]
    assert line(plain, f"k_anonymity({text(rows_of(data))}, {qi})") == alike(anonymity(data, qi))
    assert line(plain, f"l_diversity({text(rows_of(data))}, {qi}, 'c12')") == alike(diversity(data, qi, "c12"))
    found = line(plain, f"t_closeness({text(rows_of(data))}, {qi}, 'c12', ordered := true)")
    assert found == alike(closeness(data, qi, "c12", True))


def test_a_connection_with_ppduck_has_them(con: duckdb.DuckDBPyConnection) -> None:
    data = uneven()
    con.execute(f"CREATE TABLE patients AS FROM {rows_of(data)}")
    assert line(con, "k_anonymity('patients', ['a'], k := 3)") == alike(anonymity(data, ["a"], 3))
    assert line(con, "l_diversity('patients', ['a'], 's', l := 3)") == alike(diversity(data, ["a"], "s", 3))
    assert line(con, "t_closeness('patients', ['a'], 's')") == alike(closeness(data, ["a"], "s"))


def test_the_catalogue_says_what_the_macros_take(con: duckdb.DuckDBPyConnection) -> None:
    signatures = dict(con.execute("SELECT name, signature FROM ppduck_functions()").fetchall())
    assert signatures["k_anonymity"] == "k_anonymity(tbl, qi, k := NULL)"
    assert signatures["l_diversity"] == "l_diversity(tbl, qi, sensitive, l := 2, c := NULL)"
    assert signatures["t_closeness"] == "t_closeness(tbl, qi, sensitive, ordered := false)"
    for name in CALLS:
        taken = con.execute(
            "SELECT parameters FROM duckdb_functions() WHERE function_name = $1 AND database_name = 'temp'", [name]
        ).fetchone()
        names = [parameter.name for parameter in function_named(name).parameters]
        assert taken == ([*(f"_{place}" for place in range(1, len(names) + 1)), *names],)


def test_a_masked_release_can_be_asked(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"CREATE TABLE patients AS SELECT row_number() OVER () AS id, * FROM {rows_of(uneven())}")
    released = "(FROM rr_mask('patients', p={'s': 0.9}, key='id', seed=1))"
    before, after = (line(con, f"k_anonymity({text(source)}, ['a', 'b'])") for source in ("patients", released))
    assert before == after


# What is refused

TWO = "(SELECT unnest([0, 1, 1]) AS a, unnest([0, 0, 1]) AS b, unnest([1, 2, 3]) AS s)"
NONE = "(SELECT 1 AS a, 2 AS s WHERE false)"
REFUSED = [
    *(
        (f"{name}({source}, ['a']{rest})", rf"{name}: tbl is missing\. Give a table name")
        for name, rest in (("k_anonymity", ""), ("l_diversity", ", 's'"), ("t_closeness", ", 's'"))
        for source in ("NULL", "'  '")
    ),
    *(
        (f"{name}('{TWO}', {qi}{rest})", rf"{name}: qi {message}")
        for name, rest in (("k_anonymity", ""), ("l_diversity", ", 's'"), ("t_closeness", ", 's'"))
        for qi, message in (
            ("'a'", r"must be a list of column names\. Write it as \['first'"),
            ("NULL", r"must be a list of column names\. Write it"),
            ("7", r"must be a list of column names\. Write it"),
            ("[]", r"names no column\. Name the columns"),
            ("['a', 'A']", r"names a column twice\. Name each column once"),
            ("['a', NULL]", r"holds a NULL or an empty name\. Name every"),
            ("['']", r"holds a NULL or an empty name\. Name every"),
        )
    ),
    *(
        (f"{name}('{TWO}', ['a', 'b'], {sensitive})", rf"{name}: sensitive {message}")
        for name in ("l_diversity", "t_closeness")
        for sensitive, message in (
            ("NULL", r"must be the name of one column\. Name the column"),
            ("''", r"must be the name of one column\. Name the column"),
            ("['s']", r"must be the name of one column\. Name the column"),
            ("3", r"must be the name of one column\. Name the column"),
            ("'B'", r"is also in qi, .* Leave it out of qi"),
        )
    ),
    *(
        (f"k_anonymity('{TWO}', ['a'], k := {k})", r"k_anonymity: k must be a whole number of at least 1\. Give the size")
        for k in ("0", "-2", "2.5", "'five'", "'inf'::DOUBLE", "'nan'::DOUBLE", "true", "[2]")
    ),
    *(
        (f"l_diversity('{TWO}', ['a'], 's', l := {wanted})", r"l_diversity: l must be a whole number of at least 1\. Give the number")
        for wanted in ("0", "-2", "1.5", "'two'", "'inf'::DOUBLE", "'nan'::DOUBLE", "[2]")
    ),
    *(
        (f"l_diversity('{TWO}', ['a'], 's', c := {c})", r"l_diversity: c must be a number above 0\. Give the factor")
        for c in ("0", "-1", "'much'", "'inf'::DOUBLE", "'nan'::DOUBLE", "[2]")
    ),
    *(
        (f"t_closeness('{TWO}', ['a'], 's', ordered := {ordered})", r"t_closeness: ordered must be true or false\. Say whether")
        for ordered in ("'upwards'", "[true]")
    ),
    *(
        (f"{name}('{NONE}', ['a']{rest})", rf"{name}: tbl has no rows\. Check tbl and its filter")
        for name, rest in (
            *(("k_anonymity", ""), ("k_anonymity", ", k := 2"), ("l_diversity", ", 's'"), ("l_diversity", ", 's', l := 4")),
            *(("t_closeness", ", 's'"), ("t_closeness", ", 's', ordered := true")),
        )
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def loaded() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        yield ppduck.load(con, "a secret of these tests")


@pytest.mark.parametrize(("call", "message"), REFUSED)
@pytest.mark.parametrize("wanted", ["*", "count(*)"])
def test_what_is_refused(loaded: duckdb.DuckDBPyConnection, wanted: str, call: str, message: str) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=message):
        loaded.execute(f"SELECT {wanted} FROM {call}").fetchall()


def test_a_missing_column_is_named(plain: duckdb.DuckDBPyConnection) -> None:
    for call in (
        f"k_anonymity('{TWO}', ['a', 'absent'])",
        f"l_diversity('{TWO}', ['a'], 'absent')",
        f"t_closeness('{TWO}', ['absent'], 's')",
    ):
        with pytest.raises(duckdb.BinderException, match='"absent" not found'):
            plain.execute(f"FROM {call}")


# DuckDB's own shell


def test_the_shell_counts_alike(tmp_path: Path) -> None:
    data = uneven()
    data.to_csv(tmp_path / "my data.csv", index=False)
    qi = ["a", "b"]
    assert shell("FROM k_anonymity('my data.csv', ['a', 'b'], k := 3);", tmp_path) == [alike(anonymity(data, qi, 3))]
    assert shell("FROM l_diversity('my data.csv', ['a', 'b'], 's', l := 1, c := 2);", tmp_path) == [
        alike(diversity(data, qi, "s", 1, 2))
    ]
    for ordered in (False, True):
        found = shell(f"FROM t_closeness('my data.csv', ['a', 'b'], 's', ordered := {ordered});", tmp_path)
        assert found == [alike(closeness(data, qi, "s", ordered))]


def test_the_shell_says_what_is_wrong(tmp_path: Path) -> None:
    script = "\n".join(f"SELECT count(*) FROM {call};" for call, _ in REFUSED)
    done = run_shell(script, tmp_path, "-csv")
    assert done.stdout.strip() == ""
    said = [found for found in done.stderr.splitlines() if found.startswith("Invalid Input Error: ")]
    assert len(said) == len(REFUSED)
    assert [found for found, (_, message) in zip(said, REFUSED, strict=True) if not re.search(message, found)] == []
