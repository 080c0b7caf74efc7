"""Pseudonyms: functions of secret and context that lead back where they say so, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import pickle
import uuid

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels import pseudonyms as kernel
from ppduck.kernels.aes import Aes
from ppduck.kernels.ff1 import Ff1
from ppduck.kernels.pseudonyms import Pseudonyms

pytestmark = pytest.mark.core
SECRET = b"a secret of some length"
CONTEXT = '["token", "crm"]'
OWN = Pseudonyms(SECRET).of(CONTEXT)
INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20, unique=True)


def digests(count: int) -> np.ndarray:
    every = [hashlib.sha256(str(i).encode()).digest()[:16] for i in range(count)]
    return np.frombuffer(b"".join(every), dtype=np.uint8).reshape(-1, 16)


def keys(secret: bytes = SECRET, context: str = CONTEXT) -> bytes:
    """As the page of the module states them."""
    root = hashlib.sha256(b"ppduck pseudonyms 1\0" + secret).digest()
    return hashlib.sha256(root + hashlib.sha256(context.encode()).digest()).digest()


def rows(*texts: str) -> np.ndarray:
    return np.array([list(map(int, text)) for text in texts], dtype=np.uint8)


def texts(found: np.ndarray) -> list[str]:
    return ["".join(map(str, row)) for row in found.tolist()]


def test_blocks_are_aes_of_the_digest_under_the_stated_keys() -> None:
    given_ = digests(3)
    long = OWN.long_blocks(given_)
    assert (long[:, :16] == OWN.blocks(given_)).all()
    for half in (0, 1):
        cipher = Cipher(algorithms.AES(keys()[16 * half : 16 * half + 16]), modes.ECB()).encryptor()
        assert long[:, 16 * half : 16 * half + 16].tobytes() == cipher.update(given_.tobytes())


def test_numbers_and_digits_are_ff1_under_the_stated_key_and_tweak() -> None:
    tweak = hashlib.sha256(CONTEXT.encode()).digest()[:6]
    aes = Aes(keys()[:16])
    bits = np.unpackbits(np.array([5], dtype=">u8").view(np.uint8))[None, 1:]
    for number, own in ((5, b"\0"), (~5, b"\1")):
        sealed = "".join(map(str, Ff1(aes, 2, tweak + own).sealed(bits)[0]))
        found = int(sealed, 2) if number > 0 else ~int(sealed, 2)
        assert OWN.numbers(np.array([number])).tolist() == [found]
    after_0 = Ff1(aes, 10, tweak + b"\1").sealed(rows("1712345678"))
    assert texts(OWN.digits(rows("01712345678"))) == ["0" + texts(after_0)[0]]
    walked = rows("1712345678")
    while True:
        walked = Ff1(aes, 10, tweak + b"\0").sealed(walked)
        if walked[0, 0]:
            break
    assert texts(OWN.digits(rows("1712345678"))) == texts(walked)


@given(numbers=INTEGERS)
@settings(deadline=None)
def test_numbers_lead_back_and_keep_their_sign(numbers: list[int]) -> None:
    given_ = np.array(numbers, dtype=np.int64)
    found = OWN.numbers(given_)
    assert (OWN.numbers(found, back=True) == given_).all()
    assert ((found < 0) == (given_ < 0)).all()
    assert len(set(found.tolist())) == len(numbers)


def test_six_digits_are_permuted_within_those_with_and_without_a_leading_zero() -> None:
    powers = 10 ** np.arange(5, -1, -1)
    every = (np.arange(10**6)[:, None] // powers % 10).astype(np.uint8)
    found = OWN.digits(every)
    assert (np.bincount(found @ powers, minlength=10**6) == 1).all()
    assert ((found[:, 0] == 0) == (every[:, 0] == 0)).all()
    assert (OWN.digits(found, back=True) == every).all()


@given(
    length=st.sampled_from([6, 7, 10, 15, 16, 36, 37, 128]), leading=st.integers(0, 9), seed=st.integers(0, 2**32 - 1)
)
@settings(max_examples=60, deadline=None)
def test_digits_lead_back_and_keep_a_leading_zero(length: int, leading: int, seed: int) -> None:
    given_ = np.random.default_rng(seed).integers(0, 10, (5, length)).astype(np.uint8)
    given_[0, 0] = leading
    found = OWN.digits(given_)
    assert (OWN.digits(found, back=True) == given_).all()
    assert ((found[:, 0] == 0) == (given_[:, 0] == 0)).all()
    assert (found != given_).any()


def test_a_number_behind_a_zero_has_another_pseudonym_than_without() -> None:
    [with_zero], [without] = (texts(OWN.digits(rows(each))) for each in ("01712345678", "1712345678"))
    assert with_zero[0] == "0"
    assert with_zero[1:] != without


@pytest.mark.parametrize("length", [5, 129])
def test_too_few_and_too_many_digits_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} digits are not from 6 to 128"):
        OWN.digits(np.ones((1, length), dtype=np.uint8))


@pytest.mark.parametrize(
    "other", [Pseudonyms(b"another secret of some length").of(CONTEXT), Pseudonyms(SECRET).of('["token", "shop"]')]
)
def test_another_secret_or_context_gives_unrelated_ones(other: kernel.Domain) -> None:
    given_ = digests(20_000)
    for one, another in ((OWN.blocks(given_), other.blocks(given_)), (OWN.blocks(given_), given_)):
        assert np.unpackbits(one ^ another).mean() == pytest.approx(0.5, abs=0.002)
    numbers = np.arange(20_000)
    apart = (OWN.numbers(numbers) ^ other.numbers(numbers)).view(np.uint8)
    assert np.unpackbits(apart).mean() == pytest.approx(0.5 * 63 / 64, abs=0.003)
    phones = np.random.default_rng(1).integers(0, 10, (20_000, 10)).astype(np.uint8)
    alike = (OWN.digits(phones) == other.digits(phones))[:, 1:]
    assert alike.mean() == pytest.approx(0.1, abs=0.003)


def test_the_secret_goes_nowhere() -> None:
    own = Pseudonyms(SECRET)
    own.of(CONTEXT)
    stored = pickle.dumps(own)
    assert SECRET not in stored
    given_ = digests(5)
    assert (pickle.loads(stored).of(CONTEXT).blocks(given_) == OWN.blocks(given_)).all()


def test_contexts_without_end_are_not_kept() -> None:
    own, given_ = Pseudonyms(SECRET), digests(2)
    first = own.of("0").blocks(given_)
    for i in range(300):
        own.of(str(i))
    assert len(own._kept) <= 64
    assert (own.of("0").blocks(given_) == first).all()


def test_the_written_forms_are_those_of_the_library() -> None:
    blocks = digests(500)
    for row, token, digits, own in zip(
        blocks, kernel.base32(blocks), kernel.hexadecimal(blocks), kernel.uuids(blocks), strict=True
    ):
        assert token.tobytes() == base64.b32encode(row.tobytes()).lower().rstrip(b"=")
        assert digits.tobytes().decode() == row.tobytes().hex()
        found = uuid.UUID(own.tobytes().decode())
        assert (found.version, found.variant) == (8, uuid.RFC_4122)
        kept = ~((0xF << 76) | (0x3 << 62))
        assert found.int & kept == int.from_bytes(row.tobytes(), "big") & kept
    assert len(kernel.base32(blocks)[0]) == kernel.TOKEN
    assert (kernel.digests_of(kernel.hexadecimal(blocks)) == blocks).all()


@given(st.lists(st.text(alphabet="0123456789 +-(é名x", max_size=12), max_size=8))
@settings(deadline=None)
def test_digits_of_texts_change_and_nothing_else(given_: list[str]) -> None:
    encoded = [each.encode() for each in given_]
    ends = np.cumsum([0, *map(len, encoded)])
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    found = kernel.with_digits(data, ends, lambda rows: (rows[:, ::-1] + 1) % 10).tobytes()
    for text, start, end in zip(given_, ends[:-1], ends[1:], strict=True):
        wanted = iter([(int(digit) + 1) % 10 for digit in reversed([c for c in text if c in "0123456789"])])
        assert found[start:end].decode() == "".join(str(next(wanted)) if c in "0123456789" else c for c in text)
