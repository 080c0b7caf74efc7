"""A released column: what its texts are as numbers, as codes and in other readings."""

from __future__ import annotations

import numpy as np
import pytest

from ppduck.kernels.released_column import Candidate, Role, Type

pytestmark = pytest.mark.core


def of(kind: Type, *texts: str | None) -> Candidate:
    return Candidate("c", Role.OTHER, kind, texts)


def test_values_are_numbers_days_or_none_at_all() -> None:
    numbers = of(Type.NUMBER, "1.5", None, "-2").values
    dates = of(Type.DATE, "2020-01-02", None, "2020-01-01 12:00:00").values
    assert numbers is not None
    assert np.array_equal(numbers, [1.5, np.nan, -2], equal_nan=True)
    assert dates is not None
    assert dates[0] - dates[2] == 0.5
    assert np.isnan(dates[1])
    assert of(Type.TEXT, "1", "2").values is None


@pytest.mark.parametrize("kind", Type)
def test_missing_is_where_there_is_null(kind: Type) -> None:
    assert of(kind, "1", None, "2", None).missing.tolist() == [0, 1, 0, 1]


def test_codes_are_equal_where_texts_are_and_null_is_one_of_them() -> None:
    codes = of(Type.TEXT, "b", None, "a", "b", None, "B").codes
    assert codes[0] == codes[3]
    assert codes[1] == codes[4]
    assert sorted(set(codes.tolist())) == list(range(4))


def test_null_is_another_code_than_an_empty_text() -> None:
    codes = of(Type.TEXT, "a", None, "").codes
    assert len(set(codes.tolist())) == 3


def test_a_number_is_read_in_other_ways_than_as_it_is_and_a_text_in_all() -> None:
    assert "as a number" not in dict(of(Type.NUMBER, "1234", "-4321").readings)
    assert "as a number" in dict(of(Type.TEXT, "1234", "-4321").readings)
    assert "without its sign" in dict(of(Type.NUMBER, "1234", "-4321").readings)


@pytest.mark.parametrize("kind", Type)
def test_a_column_without_values_can_be_read(kind: Type) -> None:
    empty, nulls = of(kind), of(kind, None, None)
    assert len(empty.codes) == 0
    assert nulls.codes.tolist() == [0, 0]
    for column in (empty, nulls):
        assert all(np.isnan(values).all() for _, values in column.readings)
