"""Tables whose format keeps versions are read at one; there is no such format here, so that a session is made up."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.spark._versions import table


class Session:
    """Answers as a session of Spark does for a table of some format, and notes what it was asked."""

    def __init__(self, provider: str) -> None:
        self.provider, self.asked = provider, list[str]()

    def table(self, name: str) -> str:
        return f"table {name}"

    def sql(self, statement: str) -> Any:
        self.asked.append(statement)
        if statement.startswith("DESCRIBE TABLE"):
            return Rows([("id", "bigint", None), ("Provider", self.provider, "")])
        return statement if "VERSION AS OF" in statement else Rows([(41, "WRITE")])


class Rows(list[Any]):
    def collect(self) -> list[Any]:
        return self


@pytest.mark.parametrize(
    ("provider", "newest"),
    [
        ("delta", "DESCRIBE HISTORY lake.t LIMIT 1"),
        ("ICEBERG", "SELECT snapshot_id FROM lake.t.snapshots ORDER BY committed_at DESC LIMIT 1"),
    ],
)
def test_the_newest_version_is_read(provider: str, newest: str) -> None:
    session: Any = Session(provider)
    assert table(session, "lake.t") == "SELECT * FROM lake.t VERSION AS OF 41"
    assert newest in session.asked


@pytest.mark.parametrize("provider", ["parquet", ""])
def test_what_has_no_versions_is_read_as_it_is(provider: str) -> None:
    session: Any = Session(provider)
    assert table(session, "t") == "table t"
    assert session.asked == ["DESCRIBE TABLE EXTENDED t"]
