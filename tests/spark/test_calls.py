"""Calls are found in a statement of Spark's, whatever stands around them."""

from __future__ import annotations

import pytest

from ppduck.errors import PpduckError
from ppduck.spark._calls import calls, replaced

CALL = "egadp_mask('customers', conf=['x1','x2'])"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"SELECT * FROM {CALL}", [CALL]),
        (f"SELECT a.x1 FROM {CALL} a JOIN {CALL} b USING (id)", [CALL, CALL]),
        ("WITH m AS (SELECT * FROM EGADP_MASK (tbl := 't', conf=['x'])) SELECT * FROM m", ["EGADP_MASK (tbl := 't', conf=['x'])"]),
        ("FROM rr_mask('(SELECT * FROM noise_mask(''t'', conf=[''x'']))', p={'g': 0.8})", ["rr_mask('(SELECT * FROM noise_mask(''t'', conf=[''x'']))', p={'g': 0.8})"]),
        (f"SELECT '{CALL.replace(chr(39), '')}' AS text -- {CALL}", []),
        ("SELECT egadp_mask FROM egadp_mask", []),
        ("SELECT * FROM mine.egadp_mask('t')", []),
        ("SELECT count(*) FROM k_anonymity('t', ['a (b', 'c)'])", ["k_anonymity('t', ['a (b', 'c)'])"]),
    ],
)  # fmt: skip
def test_calls_are_found(statement: str, found: list[str]) -> None:
    assert [each.text for each in calls(statement)] == found


def test_frames_stand_in_the_place_of_calls_and_braces_stay() -> None:
    statement = f"SELECT '{{a}}' AS a FROM {CALL} WHERE x1 > 0"
    made = replaced(statement, calls(statement), ["one"])
    assert made == "SELECT '{{a}}' AS a FROM {one} WHERE x1 > 0"
    assert made.format(one="T") == "SELECT '{a}' AS a FROM T WHERE x1 > 0"


def test_a_parenthesis_that_is_left_open_is_told() -> None:
    with pytest.raises(PpduckError, match="the parenthesis behind egadp_mask is not closed"):
        calls("SELECT * FROM egadp_mask('t', conf=['x']")
