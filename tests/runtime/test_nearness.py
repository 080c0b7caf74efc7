"""One rule for all masks of numbers: what stays near is warned of or refused, once, without a value."""

from __future__ import annotations

import re
import warnings

import duckdb
import pytest

from ppduck.errors import PpduckWarning
from ppduck.runtime import nearness
from tests.registry_calls import masks_of_numbers, usual_call

pytestmark = pytest.mark.core
# The masks that draw values anew from what nonconf tells; nobody asks them for values that stay near.
DRAWN_ANEW = [mask.name for mask in masks_of_numbers() if mask.reads_s and not mask.stays_near(usual_call(mask))]
NOISE = "level := {}, key := 'id'"


@pytest.fixture(autouse=True)
def _tables(con: duckdb.DuckDBPyConnection) -> None:
    """Whole numbers from 0 to 199 and from 0 to 7, a normal-like column far from 0, and what predicts them."""
    con.execute("""
        CREATE TABLE t AS SELECT i AS id, (hash(i) % 200)::INTEGER AS x, (hash(i + 7) % 8)::INTEGER AS few,
               1000 + sin(i * 3.7) + cos(i * 1.3) AS far, sin(i) AS s, x + 9 * sin(i * 7) AS near_x,
               x + 0.3 * sin(i * 7) AS nearer_x, i % 40 AS g FROM range(3000) r(i)""")


def said(con: duckdb.DuckDBPyConnection, call: str) -> list[str]:
    """The warnings of a call that is carried out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        con.execute(f"CREATE OR REPLACE TABLE m AS FROM {call}")
    assert {warning.category for warning in caught} <= {PpduckWarning}
    return [str(warning.message) for warning in caught]


def staying(con: duckdb.DuckDBPyConnection, column: str) -> float:
    query = f"FROM unchanged_values('t', 'm', conf := ['{column}'], key := 'id')"
    return float(con.sql(query).project("excess").fetchall()[0][0])


@pytest.mark.parametrize(
    ("call", "share"),
    [
        ("noise_mask('t', conf := ['x'], level := 1e-6, key := 'id', round := true)", "100%"),
        ("noise_mask('t', conf := ['x'], level := 1e-4, key := 'id', round := true)", "61%"),
        ("kim_mask('t', conf := ['x'], level := 1e-6, key := 'id', round := true)", "100%"),
        ("sufficiency_mask('t', conf := ['x'], nonconf := ['s'], alpha := 0.999999, key := 'id', round := true)", "100%"),
        ("egadp_mask('t', conf := ['x'], nonconf := ['nearer_x'], key := 'id', round := true)", r"\d\d%"),
        ("gadp_mask('t', conf := ['x'], nonconf := ['nearer_x'], key := 'id', round := true)", r"\d\d%"),
        ("microaggregate_mask('t', conf := ['few'], k := 3, key := 'id')", r"9\d%"),
        ("rank_swap_mask('t', conf := ['few'], reach := 3, key := 'id')", r"\d\d%"),
        ("shuffle_mask('(SELECT *, few + 0.1 * s AS z FROM t)', conf := ['few'], nonconf := ['z'], key := 'id')", r"\d\d%"),
        ("cgadp_mask('(SELECT *, few + 0.1 * s AS z FROM t)', conf := ['few'], nonconf := ['z'], key := 'id')", r"\d\d%"),
    ],
)  # fmt: skip
def test_what_would_stay_for_the_most_part_is_refused(con: duckdb.DuckDBPyConnection, call: str, share: str) -> None:
    match = rf'_mask on ".*": {share} of the masked values of conf column "\w+" would be the originals.*Take '
    with pytest.raises(duckdb.InvalidInputException, match=match):
        con.execute(f"FROM {call}").fetchall()


@pytest.mark.parametrize("level", [1e-3, 2e-3])
def test_the_share_that_is_told_is_the_share_that_stays(con: duckdb.DuckDBPyConnection, level: float) -> None:
    (message,) = said(con, f"noise_mask('t', conf := ['x'], round := true, {NOISE.format(level)})")
    told = re.search(r'masked values of "x" \((\d+)%\) are the originals once they are rounded', message)
    assert told is not None
    assert staying(con, "x") == pytest.approx(int(told[1]) / 100, abs=0.03)


def test_repeating_values_that_stay_in_part_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    (message,) = said(con, "rank_swap_mask('t', conf := ['few'], reach := 14, key := 'id')")
    told = re.search(r'rank_swap_mask on "t": masked values of "few" \((\d+)%\) are the originals because', message)
    assert told is not None
    assert staying(con, "few") == pytest.approx(int(told[1]) / 100, abs=0.006)
    (message,) = said(con, "microaggregate_mask('t', conf := ['few', 'far'], k := 3, key := 'id', round := true)")
    told = re.search(r'masked values of "few" \((\d+)%\) are the originals because they repeat', message)
    assert told is not None
    assert staying(con, "few") == pytest.approx(int(told[1]) / 100, abs=0.006)


@pytest.mark.parametrize("mask", DRAWN_ANEW)
def test_values_that_nonconf_predicts_are_warned_of_by_every_mask(con: duckdb.DuckDBPyConnection, mask: str) -> None:
    messages = said(con, f"{mask}('t', conf := ['x'], nonconf := ['near_x'], key := 'id')")
    assert len(messages) == 1
    told = re.match(rf'{mask} on "t": nonconf predicts conf column "x" \(correlation (0\.\d+)\) so well', messages[0])
    assert told is not None
    assert "from a correlation of 0.64 on releasing is not advised" in messages[0]
    both = con.execute("SELECT corr(t.x, m.x) FROM t JOIN m USING (id)").fetchall()[0][0]
    assert float(told[1]) == pytest.approx(both, abs=0.02)


@pytest.mark.parametrize(
    ("call", "near"),
    [
        ("noise_mask('t', conf := ['far'], level := 0.0099, key := 'id')", True),
        ("noise_mask('t', conf := ['far'], level := 0.01, key := 'id')", False),
        ("kim_mask('t', conf := ['far'], level := 1e-6, key := 'id', corrected := true)", True),
        ("sufficiency_mask('t', conf := ['far'], nonconf := ['s'], alpha := 0.999, key := 'id')", True),
        ("sufficiency_mask('t', conf := ['far'], nonconf := ['s'], alpha := 0.9, key := 'id')", False),
        ("rank_swap_mask('t', conf := ['far'], reach := 1, key := 'id')", True),
        ("rank_swap_mask('t', conf := ['far'], reach := 14, key := 'id')", False),
        ("microaggregate_mask('t', conf := ['far'], k := 3, key := 'id')", True),
        ("egadp_mask('t', conf := ['far'], nonconf := ['s'], key := 'id')", False),
        ("shuffle_mask('t', conf := ['few'], nonconf := ['s'], key := 'id')", False),
    ],
)  # fmt: skip
def test_nearness_that_is_asked_for_is_warned_of_from_a_tenth_of_the_spread(
    con: duckdb.DuckDBPyConnection, call: str, near: bool
) -> None:
    messages = said(con, call)
    assert len(messages) == near
    assert all("stay near the originals: from a correlation of 0.995 on" in message for message in messages)


def test_signs_and_fractions_are_told_with_what_fits_instead(con: duckdb.DuckDBPyConnection) -> None:
    (message,) = said(con, "egadp_mask('t', conf := ['x', 'far'], nonconf := ['s'], key := 'id')")
    told = re.search(r'masked values of "x" \(about (\d+\.\d)%\) can be negative, though no original is', message)
    assert told is not None
    assert con.execute("SELECT avg((x < 0)::INTEGER) FROM m").fetchall()[0][0] == pytest.approx(
        float(told[1]) / 100, abs=0.02
    )
    assert "shuffle_mask and cgadp_mask keep the range" in message
    assert 'whole numbers of "x" get fractions; round := true keeps them whole, shuffle_mask as they are' in message
    (message,) = said(con, "egadp_mask('t', conf := ['x'], nonconf := ['s'], key := 'id', round := true)")
    assert "fractions" not in message
    (message,) = said(con, "cgadp_mask('t', conf := ['x'], nonconf := ['s'], key := 'id')")
    assert "negative" not in message
    assert said(con, "shuffle_mask('t', conf := ['x'], nonconf := ['s'], key := 'id')") == []
    # Whole numbers in a DOUBLE are whole numbers too.
    (message,) = said(
        con, "egadp_mask('(SELECT id, s, x::DOUBLE - 500 AS w FROM t)', conf := ['w'], nonconf := ['s'], key := 'id')"
    )
    assert message.endswith(
        'whole numbers of "w" get fractions; round := true keeps them whole, shuffle_mask as they are.'
    )


def test_whole_numbers_that_rounding_would_give_back_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    (message,) = said(con, f"noise_mask('t', conf := ['x'], {NOISE.format(1e-4)})")
    assert re.search(r'masked values of "x" \(61%\) would be the originals if somebody rounded them', message)


def test_means_of_whole_numbers_that_rounding_would_give_back_are_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    """Four numbers in a row have a mean between the second and the third of them."""
    (message,) = said(con, "microaggregate_mask('(SELECT id, id AS y FROM t)', conf := ['y'], k := 4, key := 'id')")
    assert re.search(r'masked values of "y" \(25%\) would be the originals if somebody rounded them', message)
    with pytest.warns(
        PpduckWarning, match=r'"y" \(25%\) are the originals because they repeat, or once they are rounded'
    ):
        con.execute(
            "FROM microaggregate_mask('(SELECT id, id AS y FROM t)', conf := ['y'], k := 4, key := 'id', round := true)"
        )


def test_a_column_that_others_hold_together_is_warned_of(con: duckdb.DuckDBPyConnection) -> None:
    """Groups are of records: a column with few values stays in them, which is refused only where all of them do."""
    (message,) = said(con, "microaggregate_mask('t', conf := ['few', 'far'], k := 3, key := 'id')")
    assert re.search(r'masked values of "few" \(\d\d%\) are the originals because they repeat', message)


def test_many_groups_are_told_of_in_one_warning(con: duckdb.DuckDBPyConnection) -> None:
    (message,) = said(con, "noise_mask('t', conf := ['far'], strata := ['g'], level := 1e-4, key := 'id')")
    assert re.search(r"in several groups, such as g = \d+, stay near", message)


def test_every_query_is_told_of(con: duckdb.DuckDBPyConnection) -> None:
    call = f"noise_mask('t', conf := ['far'], {NOISE.format(1e-4)})"
    assert [len(said(con, call)) for _ in range(3)] == [1, 1, 1]


def test_text_that_leaves_nonconf_by_default_is_told_of(con: duckdb.DuckDBPyConnection) -> None:
    table = "(SELECT id, far, 'city ' || id % {} AS city, 'name ' || id AS name FROM t)"
    assert said(con, f"egadp_mask($${table.format(20)}$$, conf := ['far'], key := 'id')") == []
    (message,) = said(con, f"egadp_mask($${table.format(21)}$$, conf := ['far'], key := 'id')")
    assert 'text column "city" has more than 20 levels and is not in nonconf by default' in message
    assert '"name"' not in message
    assert said(con, f"egadp_mask($${table.format(21)}$$, conf := ['far'], nonconf := ['city'], key := 'id')") == []


def test_constant_nonconf_is_accepted_by_every_mask(con: duckdb.DuckDBPyConnection) -> None:
    for mask in DRAWN_ANEW:
        table = "(SELECT id, far, s, 731.25 AS one FROM t)"
        assert said(con, f"{mask}('{table}', conf := ['far'], nonconf := ['s', 'one'], key := 'id')") == []
        assert con.execute("SELECT count(far), count(DISTINCT far) > 1000, min(one) FROM m").fetchall() == [
            (3000, True, 731.25)
        ]


def test_large_numbers_that_differ_little_are_not_called_constant(con: duckdb.DuckDBPyConnection) -> None:
    table = "(SELECT id, s, 1000000000000000000000000000000::HUGEINT + (1000 * s)::INTEGER AS big FROM t)"
    with pytest.raises(duckdb.InvalidInputException, match='"big" differ by less than a DOUBLE of their size can tell'):
        con.execute(f"FROM noise_mask('{table}', conf := ['big'], level := 0.1, key := 'id')").fetchall()


def test_no_message_has_a_value(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE t SET x = x + 41234")
    for call in (
        "noise_mask('t', conf := ['x'], level := 1e-4, key := 'id')",
        "microaggregate_mask('t', conf := ['x'], k := 3, key := 'id', round := true)",
    ):
        try:
            told = " ".join(said(con, call))
        except duckdb.InvalidInputException as refused:
            told = str(refused)
        assert told
        assert not re.search(r"\b41\d{3}", told)


def test_the_limits_are_in_their_order() -> None:
    assert 0 < nearness.FEW_STAY < nearness.MOST_STAY < 1
    assert nearness.NEAR < nearness.NEAR_AS_ASKED < 1
    for figure in ("0.64", "0.995", "10%", "50%"):
        assert figure in nearness.LIMITS.sentence
