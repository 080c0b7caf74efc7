"""The statement of a question: unbiased whatever was published, for exact expected tables to the last digits."""

from __future__ import annotations

import re

import duckdb
import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.designs.design import Attribute
from ppduck.errors import Faults
from ppduck.estimators.design_source import Release
from ppduck.estimators.question_reader import read_question
from ppduck.estimators.question_statement import QuestionStatement
from ppduck.estimators.question_table import RandomizedColumn
from ppduck.query import tree as sql
from ppduck.query.whole_names import qualified

pytestmark = pytest.mark.core
COLUMNS = (Column("x", "VARCHAR"), Column("age", "INTEGER"))
X = Attribute("x", "VARCHAR", ("a", "b"), 0.75)
# 60 rows of a and 20 of b, each with age 1 or 2 half of the time, as p = 0.75 publishes them on average: 50 and 30.
EXPECTED = "SELECT CASE WHEN i % 8 < 5 THEN 'a' ELSE 'b' END AS x, 1 + i // 40 AS age FROM range(80) r(i)"


class Names:
    def column(self, table: str, name: str) -> Column | None:
        return next((each for each in COLUMNS if each.name == name), None)

    def kind_of(self, function: str) -> str | None:
        return "scalar"


def written(query: str, population: bool = False) -> str:
    release = Release("rr_query", Source("t", '"t"', COLUMNS), COLUMNS, (X, Attribute("age", "INTEGER", None, 1.0)))
    question = read_question(Faults("rr_query"), query, Names())
    target = "population" if population else "table"
    tree = QuestionStatement(question, release, [RandomizedColumn(X, 0)], target, 2.0).tree()  # type: ignore[arg-type]
    return qualified(sql.render(tree))


def answered(query: str, population: bool = False) -> list[tuple[object, ...]]:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS {EXPECTED}")
        return con.execute(written(query, population)).fetchall()


def test_a_count_is_what_it_was_before() -> None:
    """var T = Σ w² - T; W is 1.5 and -0.5, so that Σ w² = 50·2.25 + 30·0.25 = 120."""
    [(count, error, lower, upper)] = answered("SELECT count(*) FROM t WHERE x = 'a'")
    assert (count, error) == pytest.approx((60, 60**0.5))
    assert (lower, upper) == pytest.approx((60 - 2 * 60**0.5, 60 + 2 * 60**0.5))


def test_of_a_population_drawing_the_rows_counts_too() -> None:
    [(count, error, _, _)] = answered("SELECT count(*) FROM t WHERE x = 'a'", population=True)
    assert (count, error) == pytest.approx((60, ((120 - 3600 / 80) * 80 / 79) ** 0.5))


def test_a_share_by_the_delta_method() -> None:
    """Of all rows, whose number is known: the error of the count, by their number."""
    [(share, error, _, _)] = answered("SELECT avg((x = 'a')::INT) FROM t")
    assert (share, error) == pytest.approx((0.75, 60**0.5 / 80))


def test_plain_columns_group_and_order() -> None:
    rows = answered("SELECT age, x, count(*) AS n FROM t GROUP BY age, x")
    assert [row[:2] for row in rows] == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]
    assert [row[2] for row in rows] == pytest.approx([30, 10, 30, 10])
    turned = answered("SELECT age, x, count(*) AS n FROM t GROUP BY age, x ORDER BY n DESC, age DESC LIMIT 1 OFFSET 1")
    assert [row[:2] for row in turned] == [(1, "a")]


def test_sets_of_groups_and_which_they_are() -> None:
    rows = answered("SELECT grouping(x, age), x, age, count(*) FROM t GROUP BY CUBE (age, x)")
    assert sorted(row[0] for row in rows) == [0, 0, 0, 0, 1, 1, 2, 2, 3]  # type: ignore[type-var]
    assert [row[3] for row in rows if row[0] == 3] == pytest.approx([80])


def test_conditions_on_plain_columns_do_their_work_before_rows_are_counted() -> None:
    text = written("SELECT count(*) FROM t WHERE age > 1 AND x = 'a'")
    cells = text[text.index('"_pp_cells"') : text.index('"_pp_grid0"')]
    assert '"age" > 1' in cells
    assert "'a'" not in cells.partition("list_position")[0]


def test_every_name_that_it_invents_is_ppducks_own() -> None:
    names = set(re.findall(r'AS "([^"]+)"', written("SELECT age, count(*) AS n FROM t WHERE x = 'a' GROUP BY age")))
    assert {name for name in names if not name.startswith("_pp_")} == {"age", "n", "n_std_error", "n_lower", "n_upper"}
