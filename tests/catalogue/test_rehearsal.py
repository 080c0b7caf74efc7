"""What may fail on a value is tried first, and told without the value."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot

from ppduck.catalogue.rehearsal import may_fail, read_through, rehearse
from ppduck.errors import Faults, PpduckError, UnreadError

FAULTS = Faults("a_mask", "t")


class Reader:
    """Answers with what it is given, or fails."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []

    def execute(self, query: str, parameters: object = None) -> Reader:
        self.asked.append(query)
        return self

    def fetchall(self) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def extract_statements(self, query: str) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("a = 1 AND b IS NULL", False),
        ("TRY_CAST(a AS INTEGER) > 1", False),
        ("CAST(a AS INTEGER) > 1", True),
        ("a / b > 1", True),
        ("upper(a) = 'X'", True),
    ],
)
def test_what_may_fail(expression: str, may: bool) -> None:
    assert may_fail([sqlglot.parse_one(expression, dialect="duckdb")]) == may


def test_a_failure_is_told_without_the_value() -> None:
    failure = UnreadError("Conversion Error: 'Smith' is no number", unseen=False)
    with pytest.raises(PpduckError, match="pieces cannot be computed for every row") as told:
        rehearse(Reader(failure), FAULTS, "pieces", "SELECT 1")
    assert "Smith" not in str(told.value)
    with pytest.raises(PpduckError, match="pieces: no column x"):
        rehearse(Reader(UnreadError("no column x", unseen=True)), FAULTS, "pieces", "SELECT 1")


def test_only_files_of_text_are_read_to_their_end() -> None:
    reader = Reader()
    read_through(reader, FAULTS, "t", '"t"', ["CREATE VIEW v AS SELECT 1"])
    assert reader.asked == []
    plan = '[{"name": "PROJECTION", "children": [{"name": "SEQ_SCAN", "children": []}]}]'
    reader = Reader([("physical_plan", plan)])
    read_through(reader, FAULTS, "t.csv", "'t.csv'", [])
    assert len(reader.asked) == 1
    reader = Reader(
        [("physical_plan", plan.replace("SEQ_SCAN", "READ_CSV"))], UnreadError("line 7: Smith", unseen=False)
    )
    with pytest.raises(PpduckError, match="a line or a cell does not fit the columns") as told:
        read_through(reader, FAULTS, "t.csv", "'t.csv'", [])
    assert "Smith" not in str(told.value)
