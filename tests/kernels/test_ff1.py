"""FF1: the printed samples, a permutation of all strings of a length, and one way for every length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.aes import Aes
from ppduck.kernels.ff1 import Ff1

pytestmark = pytest.mark.core
KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94")
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
# NIST's sample file for SP 800-38G, FF1: bytes of key, radix, tweak, plaintext, ciphertext.
SAMPLES = [
    (16, 10, "", "0123456789", "2433477484"),
    (16, 10, "39383736353433323130", "0123456789", "6124200773"),
    (16, 36, "3737373770717273373737", "0123456789abcdefghi", "a9tv40mll9kdu509eum"),
    (24, 10, "", "0123456789", "2830668132"),
    (24, 10, "39383736353433323130", "0123456789", "2496655549"),
    (24, 36, "3737373770717273373737", "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"),
    (32, 10, "", "0123456789", "6657667009"),
    (32, 10, "39383736353433323130", "0123456789", "1001623463"),
    (32, 36, "3737373770717273373737", "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"),
]


def rows(*texts: str) -> np.ndarray:
    return np.array([[LETTERS.index(letter) for letter in text] for text in texts], dtype=np.uint8)


def strings(count: int, radix: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, radix, (count, n)).astype(np.uint8)


@pytest.mark.parametrize(("size", "radix", "tweak", "plain", "sealed"), SAMPLES)
def test_the_printed_samples(size: int, radix: int, tweak: str, plain: str, sealed: str) -> None:
    ff1 = Ff1(Aes(KEY[:size]), radix, bytes.fromhex(tweak))
    for found in (ff1.sealed(rows(plain)), ff1.one_by_one(rows(plain), back=False)):
        assert "".join(LETTERS[numeral] for numeral in found[0]) == sealed
    for found in (ff1.opened(rows(sealed)), ff1.one_by_one(rows(sealed), back=True)):
        assert "".join(LETTERS[numeral] for numeral in found[0]) == plain


@pytest.mark.parametrize(("radix", "n"), [(10, 6), (2, 20), (100, 3)])
def test_all_strings_of_a_length_are_permuted(radix: int, n: int) -> None:
    powers = radix ** np.arange(n - 1, -1, -1)
    every = (np.arange(radix**n)[:, None] // powers % radix).astype(np.uint8)
    ff1 = Ff1(Aes(KEY[:16]), radix, b"some tweak")
    sealed = ff1.sealed(every)
    found = sealed @ powers
    assert (np.bincount(found, minlength=radix**n) == 1).all()
    assert (found == np.arange(radix**n)).sum() < 10, "about one string is expected to stay as it is"
    assert (ff1.opened(sealed) == every).all()


@given(
    shape=st.sampled_from(
        [(10, 6), (10, 7), (10, 19), (10, 36), (10, 37), (2, 20), (2, 63), (36, 5), (256, 15), (7, 30)]
    ),
    tweak=st.binary(max_size=40),
    seed=st.integers(0, 10),
)
@settings(max_examples=80, deadline=None)
def test_all_at_once_is_one_by_one_and_leads_back(shape: tuple[int, int], tweak: bytes, seed: int) -> None:
    radix, n = shape
    given_, ff1 = strings(5, radix, n, seed), Ff1(Aes(KEY[:16]), radix, tweak)
    sealed = ff1.sealed(given_)
    assert (sealed == ff1.one_by_one(given_, back=False)).all()
    assert (ff1.opened(sealed) == given_).all()
    assert (ff1.one_by_one(sealed, back=True) == given_).all()


def test_long_strings_lead_back() -> None:
    ff1, given_ = Ff1(Aes(KEY[:16]), 10, b"t"), strings(3, 10, 128)
    sealed = ff1.sealed(given_)
    assert (sealed != given_).any(axis=1).all()
    assert (ff1.opened(sealed) == given_).all()


def test_halves_are_the_numbers_of_strings() -> None:
    given_ = strings(50, 2, 63)
    ff1 = Ff1(Aes(KEY[:16]), 2, b"t")
    length = ff1.length(63)
    a, b = ff1.halves(63, length.number(given_[:, :31]), length.number(given_[:, 31:]), back=False)
    assert (ff1.sealed(given_) == np.hstack([length.numerals(a, 31), length.numerals(b, 32)])).all()


def test_another_key_tweak_or_string_gives_unrelated_ones() -> None:
    given_ = strings(20_000, 10, 12)
    found = Ff1(Aes(KEY[:16]), 10, b"t").sealed(given_)
    neighbours = given_.copy()
    neighbours[:, -1] = (neighbours[:, -1] + 1) % 10
    others = [
        Ff1(Aes(KEY[16:]), 10, b"t").sealed(given_),
        Ff1(Aes(KEY[:16]), 10, b"u").sealed(given_),
        Ff1(Aes(KEY[:16]), 10, b"t").sealed(neighbours),
        given_,
    ]
    for other in others:
        assert (found == other).mean() == pytest.approx(0.1, abs=0.003), "a digit in ten agrees by chance"


def test_no_rows_give_none() -> None:
    assert Ff1(Aes(KEY[:16]), 10).sealed(strings(0, 10, 8)).shape == (0, 8)


def test_what_could_be_tried_out_is_refused() -> None:
    ff1 = Ff1(Aes(KEY[:16]), 10)
    with pytest.raises(ValueError, match="FF1 needs 1,000,000 strings; of 5 numerals there are fewer"):
        ff1.sealed(strings(1, 10, 5))


@pytest.mark.parametrize("radix", [1, 257])
def test_numerals_are_bytes(radix: int) -> None:
    with pytest.raises(ValueError, match="radix must be from 2 to 256"):
        Ff1(Aes(KEY[:16]), radix)
