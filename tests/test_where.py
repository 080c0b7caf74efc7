"""Where the files lie that other shells read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ppduck.where import PLACES, main, path

pytestmark = pytest.mark.core


@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_printed_and_there(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([place]) == 0
    assert Path(capsys.readouterr().out.strip()) == path(place)
    assert path(place).exists()


def test_the_plain_macros_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    with duckdb.connect() as con:
        con.execute(Path(capsys.readouterr().out.strip()).read_text(encoding="utf-8"))
        [(count,)] = con.execute(
            "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'association_measures'"
        ).fetchall()
    assert count == 1


def test_another_place_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["nowhere"])
    assert "invalid choice: 'nowhere'" in capsys.readouterr().err
