"""A design: one form for all spellings of it, and every fault of what a call says of it by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppduck.call.parameters import MisreadError
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.designs.design import (
    Attribute,
    DesignReader,
    DesignWords,
    columns_to_randomize,
    is_stochastic,
    levels_per_column,
    matrix_per_column,
    normalised,
)
from ppduck.errors import Faults, PpduckError
from ppduck.kernels.distortion import uniform

pytestmark = pytest.mark.core
SKEW = ((0.6, 0.25, 0.2), (0.3, 0.7, 0.05), (0.1, 0.05, 0.75))


class NoReader:
    """A catalogue that must not be asked."""

    def execute(self, query: str, parameters: object = None) -> Any:
        raise AssertionError(query)

    def extract_statements(self, query: str) -> list[Any]:
        raise AssertionError(query)


def reader_of(words: DesignWords) -> DesignReader:
    columns = (Column("gender", "VARCHAR"), Column("age", "DOUBLE"))
    return DesignReader(Catalog(NoReader()), Source("t", '"t"', columns), words, Faults("rr_mask", "t"))


def test_one_form_whatever_the_order_of_levels() -> None:
    one = Attribute("x", "VARCHAR", ("b", None, "a"), None, SKEW)
    assert one.canonical().levels == ("a", "b", None)
    assert one.canonical() == one.reordered(("a", "b", None)).canonical()
    assert one.reordered(("a", "b", None)).reordered(("b", None, "a")) == one


@given(st.floats(0.01, 0.99), st.integers(2, 6))
def test_a_matrix_that_is_even_is_its_p(p: float, size: int) -> None:
    levels = tuple("abcdef"[:size])
    rows = tuple(map(tuple, uniform(p, size).tolist()))
    found = Attribute("x", "VARCHAR", levels, None, rows).canonical()
    assert (found.p, found.rows) == (round(p, 9), None)


def test_a_matrix_that_is_not_even_stays_one() -> None:
    found = Attribute("x", "VARCHAR", ("a", "b", "c"), None, SKEW).canonical()
    assert (found.p, found.rows) == (None, SKEW)
    assert not found.is_identity


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([[0.5, 0.5]], "must be square, at least 2×2, got 1×2"),
        ([[0.9, 0.2], [0.1]], "got 2×1 or 2"),
        ([[0.9, 0.2], [0.1, 0.8]], "is 2×2, but there are 3 levels; they must agree"),
        ([[1.5, 0, 0], [-0.5, 1, 0], [0, 0, 1]], "must hold probabilities from 0 to 1"),
        ([[0.9, 0.1, 0], [0.2, 0.8, 0], [0, 0, 1]], "column 1 sums to 1.1. Its rows do: .* transpose it"),
        ([[0.9, 0.1, 0], [0.2, 0.8, 0], [0, 0.3, 1]], r"column 1 sums to 1.1\.$"),
    ],
)
def test_what_is_wrong_with_a_matrix(rows: list[list[float]], fault: str) -> None:
    faults = Faults("rr_mask", "t")
    assert not is_stochastic("x", rows, 3, faults.add)
    with pytest.raises(PpduckError, match=f'matrix of column "x" .*{fault}'):
        faults.raise_if_any()


def test_columns_sum_to_one() -> None:
    rows = [[1 / 3 + 1e-10, 0.1], [2 / 3, 0.9]]
    assert is_stochastic("x", rows, 2, pytest.fail)
    assert np.array(normalised(rows)).sum(axis=0) == pytest.approx([1, 1], abs=1e-15)


@pytest.mark.parametrize("value", [3, {"x": 3}, {"x": [1, 2]}, {"x": [["a"]]}, {"x": [[True]]}])
def test_what_is_no_matrix(value: Any) -> None:
    with pytest.raises(MisreadError, match=r"takes \{'column': "):
        matrix_per_column(value)


def test_what_are_no_levels() -> None:
    assert levels_per_column({"x": ["a", 1]}) == {"x": ["a", 1]}
    with pytest.raises(MisreadError, match="a list of levels for each column"):
        levels_per_column({"x": "a"})


@pytest.mark.parametrize(
    ("conf", "words", "columns"),
    [
        (None, DesignWords(p={"a": 0.9}, matrix={"b": []}), ["a", "b"]),
        (["b", "a"], DesignWords(p=0.9), ["b", "a"]),
        (["b"], DesignWords(p={"B": 0.9}), ["b"]),
    ],
)
def test_columns_to_randomize(conf: list[str] | None, words: DesignWords, columns: list[str]) -> None:
    faults = Faults("rr_mask")
    assert columns_to_randomize(conf, words, faults) == columns
    faults.raise_if_any()


@pytest.mark.parametrize(
    ("conf", "words", "fault"),
    [
        (None, DesignWords(p=0.9), r"p is one number; name the columns in conf := \[…\]"),
        (None, DesignWords(), "name the columns to randomize"),
        (["a"], DesignWords(p={"b": 0.9}), 'names column "b", which conf does not'),
    ],
)
def test_columns_that_cannot_be_told(conf: list[str] | None, words: DesignWords, fault: str) -> None:
    faults = Faults("rr_mask")
    columns_to_randomize(conf, words, faults)
    with pytest.raises(PpduckError, match=fault):
        faults.raise_if_any()


def test_p_or_matrix_one_of_them() -> None:
    matrix = [[0.9, 0.1], [0.1, 0.9]]
    assert reader_of(DesignWords(p={"GENDER": 0.8})).probabilities("gender") == (0.8, None)
    assert reader_of(DesignWords(p=0.7, matrix={"gender": matrix})).probabilities("gender") == (None, matrix)
    both = reader_of(DesignWords(p={"gender": 0.8}, matrix={"gender": matrix}))
    both.probabilities("gender")
    neither = reader_of(DesignWords(p={"age": 0.8}))
    neither.probabilities("gender", " (1 if it was not randomized)")
    for reader, fault in (
        (both, "has both p and matrix"),
        (neither, r"p is missing .* \(1 if it was not randomized\)"),
    ):
        with pytest.raises(PpduckError, match=fault):
            reader.faults.raise_if_any()


def test_strangers_and_numbers_are_refused_without_a_look() -> None:
    reader = reader_of(DesignWords(p=0.8, levels={"nobody": ["a"]}))
    reader.refuse_strangers(["gender", "age"])
    assert reader.attribute(Column("age", "DOUBLE")) is None
    with pytest.raises(PpduckError, match=r'(?s)levels names column "nobody".*"age" is of type DOUBLE; only text'):
        reader.faults.raise_if_any()
