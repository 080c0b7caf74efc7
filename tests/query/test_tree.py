"""Trees come out as the SQL that they mean: names quoted, texts as literals, nothing rewritten."""

from __future__ import annotations

import pytest

from ppduck.query import tree as sql

X, Y = sql.column("x"), sql.column("y", "t")


@pytest.mark.parametrize(
    ("tree", "written"),
    [
        (sql.name('a "b'), '"a ""b"'),
        (sql.text("it's"), "'it''s'"),
        (Y, '"t"."y"'),
        (sql.call("if", X, sql.number(1)), 'IF("x", 1)'),
        (sql.call("concat", X), 'CONCAT("x")'),
        (sql.double(X), 'CAST("x" AS DOUBLE)'),
        (sql.minus(X.copy(), Y.copy()), '("x" - "t"."y")'),
        (sql.named(X.copy(), "y z"), '"x" AS "y z"'),
        (sql.cases((sql.equal(X.copy(), Y.copy()), X.copy())), 'CASE WHEN "x" = "t"."y" THEN "x" END'),
        (sql.only(sql.call("count", X.copy()), X.copy()), 'COUNT("x") FILTER(WHERE "x")'),
        (sql.whole_quotient(X.copy(), Y.copy()), '("x" // "t"."y")'),
    ],
)
def test_expressions(tree: sql.Expr, written: str) -> None:
    assert sql.render(tree) == written


def test_a_select() -> None:
    rows = sql.table("_pp_a").matched(sql.table("_pp_b"), [(sql.column("k", "_pp_a"), sql.column("k", "_pp_b"))])
    found = sql.query([X.copy()], rows, where=sql.equal(X.copy(), sql.text("a")))
    assert sql.render(found) == (
        'SELECT "x" FROM "_pp_a" JOIN "_pp_b" ON "_pp_a"."k" IS NOT DISTINCT FROM "_pp_b"."k" WHERE "x" = \'a\''
    )
    both = sql.union_all([sql.query([X.copy()], sql.table(name)) for name in ("_pp_a", "_pp_b")])
    assert sql.render(both) == 'SELECT "x" FROM "_pp_a" UNION ALL SELECT "x" FROM "_pp_b"'


def test_nothing_to_match_is_each_with_each() -> None:
    assert sql.render(sql.query([X.copy()], sql.table("a").matched(sql.table("b"), []))) == (
        'SELECT "x" FROM "a" CROSS JOIN "b"'
    )


def test_a_window_keeps_its_order_as_written() -> None:
    found = sql.render(sql.over(sql.call("row_number"), [X.copy()], [Y.copy()]))
    assert found == 'ROW_NUMBER() OVER (PARTITION BY "x" ORDER BY "t"."y" ASC NULLS LAST)'


def test_steps_come_before_the_query() -> None:
    statement = sql.Statement()
    statement.step("_pp_a", sql.query([X.copy()], sql.table("t")), materialized=False)
    found = sql.render(statement.query(sql.query([X.copy()], sql.table("_pp_a"))))
    assert found.startswith('WITH "_pp_a" AS ')
    assert found.endswith('SELECT "x" FROM "_pp_a"')
