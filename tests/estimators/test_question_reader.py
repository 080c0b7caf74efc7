"""A query taken apart: groups, sets, answers and order; what has no unbiased answer is refused with the reason."""

from __future__ import annotations

import pytest

from ppduck.catalogue.source import Column
from ppduck.errors import Faults, PpduckError
from ppduck.estimators.answers import Aggregate
from ppduck.estimators.question import Grouping, Question
from ppduck.estimators.question_reader import read_question
from ppduck.query import tree as sql

pytestmark = pytest.mark.core


class Names:
    def column(self, table: str, name: str) -> Column | None:
        kinds = {"gender": "VARCHAR", "disease": "VARCHAR", "smoker": "BOOLEAN", "age": "INTEGER"}
        return Column(name.lower(), kinds[name.lower()]) if name.lower() in kinds else None

    def kind_of(self, function: str) -> str | None:
        return {"random": "volatile", "mine": "macro", "unnest": "table"}.get(function.lower(), "scalar")


def read(query: str) -> Question:
    return read_question(Faults("rr_query"), query, Names())


def test_groups_and_answers() -> None:
    found = read(
        "SELECT Gender, count(*) AS n, avg(smoker::INT) FROM s AS t WHERE t.age > 30 AND disease = 'flu' GROUP BY 1"
    )
    assert found.table == "s"
    assert [sql.render(each) for each in found.groups] == ['"gender"']
    assert [sql.render(each) for each in found.where] == ['"age" > 30', "\"disease\" = 'flu'"]
    assert [name for name, _ in found.items] == ["gender", "n", "avg"]
    assert [len(each.conditions) for each in found.aggregates] == [1, 2]
    assert not found.ordered


@pytest.mark.parametrize(
    ("group", "sets"),
    [
        ("gender, disease", [(0, 1)]),
        ("ROLLUP (gender, disease)", [(0, 1), (0,), ()]),
        ("CUBE (gender, disease)", [(0, 1), (1,), (0,), ()]),
        ("GROUPING SETS ((gender), (disease), ())", [(0,), (1,), ()]),
        ("gender, ROLLUP (disease)", [(0, 1), (0,)]),
    ],
)
def test_sets_of_groups(group: str, sets: list[tuple[int, ...]]) -> None:
    assert list(read(f"SELECT count(*) FROM s GROUP BY {group}").sets) == sets


def test_all_groups_are_what_is_no_answer() -> None:
    found = read("SELECT age // 10 AS decade, gender, count(*) FROM s GROUP BY ALL")
    assert [name for name, _ in found.items] == ["decade", "gender", "count"]
    assert found.sets == ((0, 1),)


def test_grouping_tells_which_groups_are_summed_over() -> None:
    found = read("SELECT grouping(disease, gender), count(*) FROM s GROUP BY CUBE (gender, disease)")
    assert found.items[0] == ("grouping", Grouping((1, 0)))
    assert isinstance(found.items[1][1], Aggregate)


def test_order_and_limit_are_of_the_answer() -> None:
    found = read(
        "SELECT gender, count(*) AS n FROM s GROUP BY 1 ORDER BY n_lower DESC, gender NULLS FIRST LIMIT 3 OFFSET 1"
    )
    written = [sql.render(each) for each in found.order]
    assert written == ['"n_lower" DESC NULLS LAST', '"gender" ASC NULLS FIRST']
    assert [sql.render(each) for each in (found.limit, found.offset) if each is not None] == ["3", "1"]


def test_answers_without_alias_have_names_of_their_own() -> None:
    found = read("SELECT count(*), count(*) FILTER (WHERE smoker) FROM s")
    assert [name for name, _ in found.items] == ["count", "count_2"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT", "cannot be parsed|asks for no count|reads no relation"),
        ("SELECT count(*) FROM s; SELECT 1", "holds 2 statements"),
        ("DELETE FROM s", "is the statement DELETE"),
        ("SELECT count(*) FROM s UNION SELECT 1", "combines queries"),
        ("SELECT count(*)", "reads no relation"),
        ("SELECT count(*) FROM s JOIN t ON true", "joins another relation"),
        ("WITH a AS (SELECT 1) SELECT count(*) FROM s", "has a WITH clause"),
        ("SELECT gender, count(*) FROM s GROUP BY 1 HAVING count(*) > 3", "pick groups by their noise"),
        ("SELECT DISTINCT gender, count(*) FROM s GROUP BY 1", "has a DISTINCT clause"),
        ("SELECT count(*) FROM (SELECT * FROM s)", "nests another query"),
        ("SELECT count(*) FROM range(3)", "reads a function"),
        ("SELECT * FROM s", "single records cannot be answered"),
        ("SELECT gender FROM s", "neither grouped by nor a count"),
        ("SELECT gender FROM s GROUP BY gender", "asks for no count"),
        ("SELECT count(*) FROM s WHERE random() > 0.5", "which gives another value whenever it is called"),
        ("SELECT count(*) FROM s WHERE mine(age) > 1", "a macro, which may hide anything"),
        ("SELECT count(*) FROM s WHERE q.age > 1", "which is no column of"),
        ("SELECT count(*) FROM s WHERE count(*) > 1", "an aggregate in WHERE"),
        ("SELECT count(*) OVER () FROM s", "window function"),
        ("SELECT count(*) FROM s GROUP BY 7", "GROUP BY 7 is no item"),
        ("SELECT gender, count(*) FROM s GROUP BY GROUPING SETS ((gender), (gender))", "has a grouping set twice"),
        ("SELECT gender, count(*) FROM s GROUP BY 1 ORDER BY disease", "is no column of the answer"),
        ("SELECT count(*) FROM s LIMIT 10 + 3", "LIMIT takes a number"),
        ("SELECT count(*) FROM s WHERE age > ?", "has a parameter"),
    ],
)
def test_what_is_not_answered(query: str, why: str) -> None:
    with pytest.raises(PpduckError, match=why):
        read(query)
