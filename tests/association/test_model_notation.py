"""Models as users write them: every way to write one is read alike, and what is written can be read."""

from __future__ import annotations

import pytest

from ppduck.association.model_notation import generators, model, model_text
from ppduck.call.parameters import MisreadError
from ppduck.errors import Faults, PpduckError
from ppduck.kernels.loglinear import all_models

pytestmark = pytest.mark.core
LETTERS = ["A", "D", "G"]
WORDS = ["age", "sex", "region"]


def read(written: str | list[list[str]], names: list[str]) -> tuple[tuple[int, ...], ...]:
    return generators(Faults("loglinear_fit", "t"), model(written), names)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("AD,G", LETTERS),
        ("ad , g", LETTERS),
        ("D*A, G", LETTERS),
        ("A:D,G", LETTERS),
        ("G, AD, A", LETTERS),  # A is in AD already
        ([["A", "D"], ["G"]], LETTERS),
        ("age*sex, region", WORDS),
        ("agesex,region", WORDS),
        ([["sex", "Age"], ["REGION"]], WORDS),
    ],
)
def test_every_way_to_write_a_model(written: str | list[list[str]], names: list[str]) -> None:
    assert read(written, names) == ((0, 1), (2,))


@pytest.mark.parametrize("names", [LETTERS, WORDS])
def test_what_is_written_is_read_again(names: list[str]) -> None:
    for each in all_models(3):
        assert read(model_text(each, names), names) == each


@pytest.mark.parametrize("value", ["", "  ", [], [[]], ["A"], [["A", 3]], 3])
def test_what_is_no_model(value: object) -> None:
    with pytest.raises(MisreadError, match=r"takes a text such as 'AD,G'"):
        model(value)


@pytest.mark.parametrize(
    ("written", "names", "message"),
    [
        ("AX,G", LETTERS, r'model names "AX", which is none of the columns "A", "D", "G"'),
        ([["age", "sx"], ["region"]], WORDS, r'model names "sx".* Did you mean "sex"\?'),
        ("A*A,D,G", LETTERS, r"model has a column twice in the term 'A\*A'; once is enough"),
        ("AD", LETTERS, r'model leaves out column "G"; add it as a term of its own'),
        ("AD,,G", LETTERS, r"model has an empty term"),
        ("A*,D,G", LETTERS, r"model cannot be read at 'A\*'; write a term as"),
        ("abc", ["a", "bc", "ab", "c"], r"model term 'abc' can be read in several ways; put \* between"),
    ],
)
def test_what_is_refused(written: str | list[list[str]], names: list[str], message: str) -> None:
    with pytest.raises(PpduckError, match=message):
        read(written, names)
