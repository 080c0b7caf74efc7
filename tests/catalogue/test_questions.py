"""What planning asks gives of a table what its parts give together."""

from __future__ import annotations

import duckdb
import pytest

from ppduck.catalogue import questions
from ppduck.catalogue.source import Column, Source
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
SOURCE = Source('"t x"', '"t x"', None)


@pytest.mark.parametrize("part", ["true", "id < 4", "id >= 4", "false"])
def test_answers_of_parts(part: str) -> None:
    with duckdb.connect() as con:
        con.execute(f"""CREATE TABLE "t x" AS SELECT * FROM (
            SELECT i AS id, if(i = 5, NULL, ['a', 'b', 'c'][1 + i % 3]) AS g, 'h' AS h FROM range(7) r(i)) WHERE {part}""")
        ids = [row[0] for row in con.sql('SELECT id FROM "t x"').fetchall()]
        own = [None if i == 5 else "abc"[i % 3] for i in ids]
        levels = con.sql(sql.render(questions.distinct(SOURCE, sql.column("g"), 2))).fetchall()
        assert {level for (level,) in levels} <= set(own) - {None}
        assert len(levels) == min(3, len(set(own) - {None}))
        each = questions.distinct_of_each(SOURCE, [Column("g", "VARCHAR"), Column("h", "VARCHAR")], 2)
        found = con.sql(sql.render(each)).fetchall()
        assert len(found) == len(set(found))
        assert {level for which, level in found if which} == ({"h"} if own else set())
        assert sum(not which for which, _ in found) == min(3, len(set(own) - {None}))
        counted = dict(con.sql(sql.render(questions.counts(SOURCE, Column("g", "VARCHAR")))).fetchall())
        assert counted == {level: own.count(level) for level in set(own)}
        held = con.sql(sql.render(questions.holding_null(SOURCE, [Column("id", "BIGINT"), Column("g", "VARCHAR")])))
        assert held.fetchall() == [(False, None in own) if own else (None, None)]


def test_extremes_are_told_as_texts_and_nan_is_none() -> None:
    with duckdb.connect() as con:
        con.execute("""CREATE TABLE "t x" AS SELECT * FROM (VALUES
            (1, 0.1::DOUBLE, 2.50::DECIMAL(5, 2)), (3, 'nan', 7), (-2, 'inf', NULL), (NULL, '-inf', 1.25), (2, -0.3, 2))
            v(i, x, d)""")
        columns = [Column("i", "INTEGER"), Column("x", "DOUBLE"), Column("d", "DECIMAL(5,2)")]
        found = con.sql(sql.render(questions.extremes(SOURCE, columns))).fetchall()
        assert found == [("-2", "3", "-0.3", "0.1", "1.25", "7.00")]
        con.execute('DELETE FROM "t x"')
        assert con.sql(sql.render(questions.extremes(SOURCE, columns))).fetchall() == [(None,) * 6]
