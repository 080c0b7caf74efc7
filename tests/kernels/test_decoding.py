"""Readings of a released column: every one inverts the encoding that it is for."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.decoding import (
    DIVISORS,
    days,
    hashes_of,
    is_hash_of,
    number,
    numbers,
    readings_of_numbers,
    readings_of_texts,
    spellings,
)

pytestmark = pytest.mark.core

wholes = st.lists(st.integers(10, 999_999), min_size=3, max_size=20)
cents = st.lists(st.integers(100, 10**8).map(lambda cents: cents / 100), min_size=3, max_size=20)


def of_numbers(values: Sequence[float]) -> dict[str, np.ndarray]:
    """Readings of numbers that are written as they are."""
    return dict(readings_of_numbers(np.array(values, dtype=float), [f"{value:.17g}" for value in values]))


def of_texts(texts: Sequence[str | None]) -> dict[str, np.ndarray]:
    return dict(readings_of_texts(texts))


def same(found: np.ndarray, values: Sequence[float]) -> bool:
    return bool(np.array_equal(found, np.array(values, dtype=float)))


@settings(deadline=None, max_examples=50)
@given(wholes, st.sampled_from([divisor for divisor in DIVISORS if divisor >= 1e6]), st.data())
def test_remainder_and_quotient_take_a_number_apart(values: list[int], divisor: float, data: st.DataObject) -> None:
    times = data.draw(st.lists(st.integers(3, 1000), min_size=len(values), max_size=len(values)))
    found = of_numbers([divisor * k + value for k, value in zip(times, values, strict=True)])
    assert same(found[f"as remainder by {divisor:.0f}"], values)
    assert same(found[f"as quotient by {divisor:.0f}"], times)


@pytest.mark.parametrize("places", [1, 2, 5])
def test_digits_behind_others_are_read_and_rounding_is_not(places: int) -> None:
    hidden = [123, 7, 990, 0, 456]
    shown = [420.1, 3.4, 1e3, -17.3, 0.1]
    read = of_numbers([value + digits * 10.0 ** -(places + 4) for value, digits in zip(shown, hidden, strict=True)])
    found = read[f"by its digits behind decimal {places}"] * 10 ** (places + 4)
    assert found == pytest.approx(hidden, abs=0.01)
    cents = of_numbers([0.1 * k for k in range(1, 3000, 7)])
    assert not [how for how in cents if "behind decimal" in how]


@settings(deadline=None, max_examples=50)
@given(wholes)
def test_a_sign_that_was_drawn_is_taken_off(values: list[int]) -> None:
    flipped = [-value if i % 2 else value for i, value in enumerate(values)]
    assert same(of_numbers(flipped)["without its sign"], values)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 2**20 - 1).map(lambda k: k / 2**20), min_size=3, max_size=20))
def test_a_fraction_is_read_behind_whole_numbers(values: list[float]) -> None:
    assert same(of_numbers([i + value for i, value in enumerate(values)])["by its fraction"], values)


@settings(deadline=None, max_examples=50)
@given(wholes)
def test_digits_backwards_of_numbers_and_of_texts(values: list[int]) -> None:
    backwards = [str(value)[::-1] for value in values]
    assert same(of_texts(backwards)["with its digits backwards"], values)
    ended = [value * 10 + 1 for value in values]  # no 0 at the end, which a number does not keep in front
    found = of_numbers([float(str(value)[::-1]) for value in ended])
    assert same(found["with its digits backwards"], ended)


@settings(deadline=None, max_examples=50)
@given(cents)
def test_texts_are_read_as_numbers_base64_and_hexadecimal_bytes(values: list[float]) -> None:
    plain = [repr(value) for value in values]
    assert same(of_texts(plain)["as a number"], values)
    coded = [base64.b64encode(text.encode()).decode() for text in plain]
    assert same(of_texts(coded)["as base64"], values)
    assert same(of_texts([text.encode().hex() for text in plain])["as hexadecimal digits"], values)


@settings(deadline=None, max_examples=50)
@given(wholes, st.sampled_from(["{:x}", "0x{:X}"]))
def test_hexadecimal_numbers_are_read_with_and_without_prefix(values: list[int], form: str) -> None:
    texts = [form.format(10**6 + value) for value in values]
    found = of_texts(texts)["as hexadecimal digits"]
    # Digits that are bytes of a number's text are read as that.
    both = [(read, 10**6 + value) for read, value in zip(found, values, strict=True)]
    assert all(read == value or (0 <= read <= 999) for read, value in both)
    assert any(read == value for read, value in both)


@settings(deadline=None, max_examples=50)
@given(cents, st.sampled_from(["earns {} a year", '{{"plan": "a", "income": {}}}', "[{}]", "{} EUR"]))
def test_the_number_in_a_sentence_is_read(values: list[float], sentence: str) -> None:
    assert same(of_texts([sentence.format(value) for value in values])["by number 1 in it"], values)


@settings(deadline=None, max_examples=50)
@given(wholes)
def test_the_first_three_numbers_of_a_text_are_read_each_and_the_last(values: list[int]) -> None:
    found = of_texts([f"C-{i} of {value} at {value + 1}; 7; {value + 2}" for i, value in enumerate(values)])
    assert same(found["by number 2 in it"], values)
    assert same(found["by number 3 in it"], [value + 1 for value in values])
    assert "by number 4 in it" not in found
    assert same(found["by the last number in it"], [value + 2 for value in values])


@settings(deadline=None, max_examples=50)
@given(cents)
def test_a_hyphen_within_a_code_is_no_sign(values: list[float]) -> None:
    found = of_texts([f"C-{i:04d}-{value}: {-value}" for i, value in enumerate(values)])
    assert same(found["by number 1 in it"], range(len(values)))
    assert same(found["by number 2 in it"], values)
    assert same(found["by number 3 in it"], [-value for value in values])


@settings(deadline=None, max_examples=50)
@given(wholes)
def test_the_end_of_an_identifier_is_read(values: list[int]) -> None:
    found = of_texts([f"00000000-0000-4000-8000-{value:012d}" for value in values])
    assert same(found["by the last number in it"], values)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 500), min_size=3, max_size=20))
def test_the_length_of_a_text_is_read(values: list[int]) -> None:
    assert same(of_texts(["#" * value for value in values])["by its length"], values)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 800_000), min_size=3, max_size=20))
def test_dates_count_days_and_times_parts_of_them(values: list[int]) -> None:
    start = datetime(2000, 1, 1)
    read = days([(start + timedelta(days=value)).date().isoformat() for value in values])
    assert same(read - start.toordinal(), values)
    read = days([str(start + timedelta(seconds=value)) for value in values])
    assert np.allclose((read - start.toordinal()) * 86400, values, atol=1e-4)


@pytest.mark.parametrize("text", ["2020-01-01 00:00:00+00", "2020-01-01 00:00:00.5", "2020-01-01 12:00:00.123456+02"])
def test_times_are_read_as_duckdb_writes_them(text: str) -> None:
    [read] = days([text])
    assert 0 <= read - datetime(2020, 1, 1).toordinal() < 1


@pytest.mark.parametrize("text", [None, "", "one", "nan", "inf", "-inf", "1e999"])
def test_what_is_no_finite_number_or_day_is_none(text: str | None) -> None:
    assert math.isnan(number(text))
    assert np.isnan(days([text])).all()


@settings(deadline=None, max_examples=50)
@given(st.integers(100, 10**8), st.sampled_from(["md5", "sha1", "sha256", "sha512"]), st.booleans())
def test_a_hash_of_any_spelling_is_found_whole_and_cut(amount: int, name: str, upper: bool) -> None:
    value = amount / 100
    for spelt in (repr(value), f"{value:.2f}", f"{value:.1f}", f"{value:.0f}"):
        digest = hashlib.new(name, spelt.encode()).hexdigest()
        shown = digest.upper() if upper else digest
        for text in (shown, shown[:8], f"0x{shown}", f"\\x{shown}"):
            assert is_hash_of(text, spellings(value))
        assert not is_hash_of(shown[:7], spellings(value))
        assert not is_hash_of(shown, spellings(value + 2))


@pytest.mark.parametrize("form", ["tok_{}", "{{{}}}", "sha256:{}", "id-{}"])
def test_a_hash_is_found_within_a_text(form: str) -> None:
    digest = hashlib.sha256(b"1234.5").hexdigest()
    assert is_hash_of(form.format(digest), spellings(1234.5))


def test_a_hash_is_found_in_the_form_of_a_uuid() -> None:
    assert is_hash_of(str(UUID(hashlib.md5(b"1234.5").hexdigest())), spellings(1234.5))


def test_what_is_no_hash_is_none() -> None:
    assert not is_hash_of(None, ["1"])
    assert not is_hash_of("a sentence", ["1"])
    assert len(set(hashes_of(["1", "2"]))) == 8


def test_spellings_are_told_once() -> None:
    assert spellings(2.0) == ["2.0", "2.00", "2"]
    assert spellings(2.125) == ["2.125", "2.12", "2.1", "2"]


@pytest.mark.parametrize("read", [of_texts, lambda texts: dict(readings_of_numbers(numbers(texts), texts))])
def test_null_is_read_as_nothing_in_every_reading(
    read: Callable[[Sequence[str | None]], dict[str, np.ndarray]],
) -> None:
    found = read([None, "1234567", "-7654321", None, "2345678"])
    assert len(found) > 5
    for values in found.values():
        assert np.isnan(values[[0, 3]]).all()


def test_columns_without_values_have_no_readings_of_numbers() -> None:
    assert of_numbers([]) == {}
    assert dict(readings_of_numbers(np.array([math.nan]), [None])) == {}
    assert all(np.isnan(values).all() for values in of_texts([None, None]).values())


def test_numbers_too_large_to_be_whole_are_not_taken_apart() -> None:
    assert of_numbers([1e15, 3e15]) == {}
