"""Which columns are compared: those that both tables have, of one kind in both, and never the key."""

from __future__ import annotations

import pytest

from ppduck.catalogue.source import Column
from ppduck.errors import PpduckError
from tests.pairs.catalogue import compared

pytestmark = pytest.mark.core


def names(columns: list[Column]) -> list[str]:
    return [column.name for column in columns]


def test_numbers_and_categories_of_both_are_sorted_out() -> None:
    columns = compared()
    columns.use_columns(None, categories=True)
    columns.faults.raise_if_any()
    assert (names(columns.key), names(columns.numbers), names(columns.categories)) == (["id"], ["x"], ["c"])


def test_a_key_that_the_release_lacks_is_named_with_a_remedy() -> None:
    with pytest.raises(PpduckError, match=r'key names column "s", which "r" does not have.* anatomy_mask by keep'):
        compared(key=["s"])


def test_a_key_is_needed() -> None:
    with pytest.raises(PpduckError, match="key is empty"):
        compared(key=[])


def test_several_faults_arrive_together() -> None:
    columns = compared()
    columns.use_numbers("conf", ["c", "id", "y"])
    with pytest.raises(PpduckError, match=r'(?s)"y".*"c", which is of type VARCHAR.*"id" is in both key and conf'):
        columns.faults.raise_if_any()


def test_inputs_are_those_that_both_have() -> None:
    columns = compared()
    columns.use_numbers("conf", ["x"])
    columns.use_inputs("nonconf", ["s"], "conf")
    with pytest.raises(PpduckError, match='nonconf names column "s", which "r" does not have'):
        columns.faults.raise_if_any()


def test_a_part_has_its_own_function_and_columns() -> None:
    columns = compared()
    columns.use_columns(None, categories=True)
    part = columns.part("g", numbers=columns.numbers, categories=[], features=[])
    assert (names(part.numbers), part.categories, part.function) == (["x"], [], "g")
    assert names(columns.categories) == ["c"]
    with pytest.raises(PpduckError, match=r'^g on "t": no$'):
        raise part.faults.refuse("no")


def test_the_first_condition_that_holds_is_a_rows_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ppduck.pairs.columns.rehearse", lambda *told: None)  # nothing is read here
    columns = compared()
    columns.use_pieces(["s < 1", "s < 2"])
    assert columns.piece_labels == ["s < 1", "s < 2", "otherwise"]
    assert columns.piece().sql(dialect="duckdb").endswith("THEN 1 ELSE 2 END")


def test_what_is_no_condition_is_named() -> None:
    with pytest.raises(PpduckError, match=r"(?s)pieces names column \"z\".*'s <' is none"):
        compared().use_pieces(["z < 1", "s <"])
