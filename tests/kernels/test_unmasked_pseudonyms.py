"""What a pseudonym tells without the secret is found, however it is written; what is drawn by a secret tells nothing."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import string
import zlib
from collections.abc import Callable, Sequence
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppduck.kernels.finding import Finding, worst
from ppduck.kernels.released_column import Type
from ppduck.kernels.unmasked_pseudonyms import digits_of, folded_digits, numbers_in, same_by_chance, told

pytestmark = pytest.mark.core
N = 400
IDS = [str(1000 + 7 * i) for i in range(N)]
DENSE = [str(i) for i in range(1, N + 1)]
SYLLABLES = ("ba", "del", "fo", "gri", "hun", "ka", "lo", "mer", "nys", "or", "pel", "qui", "ras", "sto", "tav", "wen")


def name(i: int) -> str:
    own = random.Random(i)
    return " ".join("".join(own.choices(SYLLABLES, k=3)).capitalize() for _ in range(2))


NAMES = [*dict.fromkeys(name(i) for i in range(N))]
MAILS = [f"{each.lower().replace(' ', '.')}@{('web.example', 'post.example')[i % 2]}" for i, each in enumerate(NAMES)]


def keyed(text: str, secret: str = "secret") -> str:
    return hmac.new(secret.encode(), text.encode(), "sha256").hexdigest()


def shaped(text: str, secret: str = "secret") -> str:
    """Another text of the same shape: digits for digits, letters for letters."""
    own = random.Random(keyed(text, secret))
    kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    return "".join(own.choice(next((kind for kind in kinds if c in kind), c)) for c in text)


def found(originals: Sequence[str], pseudonyms: Sequence[str], kind: Type = Type.TEXT) -> Finding:
    result = worst([*told("c", originals, pseudonyms, kind)])
    assert result is not None
    return result


def sha(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


UNKEYED: dict[str, Callable[[str], str]] = {
    "md5": lambda t: hashlib.md5(t.encode()).hexdigest(),
    "sha256": lambda t: sha(t).hex(),
    "sha1 in capitals": lambda t: hashlib.sha1(t.upper().encode()).hexdigest().upper(),
    "blake2b": lambda t: hashlib.blake2b(t.encode()).hexdigest(),
    "crc32": lambda t: f"{zlib.crc32(t.encode()):08x}",
    "beginning of sha256": lambda t: sha(t).hex()[:10],
    "middle of sha256": lambda t: sha(t).hex()[20:36],
    "behind a word": lambda t: "user-" + sha(t).hex()[:16],
    "uuid of md5": lambda t: str(UUID(hashlib.md5(t.encode()).hexdigest())),
    "base64 of sha256": lambda t: base64.b64encode(sha(t)).decode(),
    "base64 for addresses, cut off": lambda t: base64.urlsafe_b64encode(sha(t)).decode()[:16],
    "base64 of the digits of sha256": lambda t: base64.b64encode(sha(t).hex().encode()).decode(),
    "base32 of sha1": lambda t: base64.b32encode(hashlib.sha1(t.encode()).digest()).decode(),
    "number of md5": lambda t: str(int(hashlib.md5(t.encode()).hexdigest(), 16)),
    "number of sha256's first bytes": lambda t: str(int(sha(t).hex()[:12], 16)),
    "number of md5, the last byte first": lambda t: str(int.from_bytes(hashlib.md5(t.encode()).digest(), "little")),
}


@pytest.mark.parametrize("originals", [IDS, NAMES, MAILS], ids=["ids", "names", "mails"])
@pytest.mark.parametrize("way", UNKEYED)
def test_a_hash_without_a_secret_is_found(way: str, originals: list[str]) -> None:
    finding = found(originals, [UNKEYED[way](text) for text in originals])
    assert (finding.passed, finding.how) == (False, "as its hash")
    assert finding.value > 0.9


def test_a_single_hash_among_keyed_tokens_is_found() -> None:
    tokens = [keyed(text) for text in IDS]
    tokens[17] = hashlib.md5(IDS[17].encode()).hexdigest()
    assert found(IDS, tokens).how == "as its hash"


def test_a_hash_that_duckdb_made_is_found() -> None:
    hashes = [str(int(keyed(text)[:16], 16)) for text in IDS]
    assert worst([*told("c", IDS, hashes, Type.NUMBER)]).passed  # type: ignore[union-attr]
    [first, *_] = told("c", IDS, hashes, Type.NUMBER, [hashes])
    assert (first.value, first.passed) == (1, False)
    [first, *_] = told("c", IDS, [f"{int(each):x}" for each in hashes], Type.TEXT, [hashes])
    assert first.value > 0.9


READABLE: dict[str, Callable[[str], str]] = {
    "as it is": lambda t: t,
    "behind a word": lambda t: f"tok_{t}",
    "in capitals": str.upper,
    "backwards": lambda t: t[::-1],
    "base64": lambda t: base64.b64encode(t.encode()).decode(),
    "base32": lambda t: base64.b32encode(t.encode()).decode(),
    "hexadecimal digits": lambda t: t.encode().hex(),
    "letters moved on by five": lambda t: "".join(chr(ord(c) + 5) for c in t),
    "first letters": lambda t: t[:5] + keyed(t)[:8],
    "last letters": lambda t: keyed(t)[:8] + t[-5:],
    "sorted as the originals": lambda t: t[:2] + keyed(t)[:8],
}


@pytest.mark.parametrize("originals", [IDS, NAMES], ids=["ids", "names"])
@pytest.mark.parametrize("way", READABLE)
def test_what_can_be_read_without_a_secret_is_found(way: str, originals: list[str]) -> None:
    assert not found(originals, [READABLE[way](text) for text in originals]).passed


NUMBERS: dict[str, Callable[[int], int]] = {
    "plus 17": lambda i: i + 17,
    "times and plus": lambda i: 3 * i - 100,
    "from a large number": lambda i: 1_000_000 - i,
    "backwards": lambda i: int(f"1{i:04d}"[::-1]),
    "in a ring": lambda i: i * 7919 % 1_000_003,
    "bits flipped": lambda i: i ^ 0b1010110,
    "squared": lambda i: i * i,
    "before something drawn": lambda i: 10_000 * i + int(keyed(str(i)), 16) % 10_000,
    "behind something drawn": lambda i: 10_000 * (int(keyed(str(i)), 16) % 10_000) + i,
}


@pytest.mark.parametrize("originals", [IDS, DENSE], ids=["gaps", "dense"])
@pytest.mark.parametrize("kind", [Type.NUMBER, Type.TEXT])
@pytest.mark.parametrize("way", NUMBERS)
def test_a_rule_that_makes_numbers_of_numbers_is_found(way: str, kind: Type, originals: list[str]) -> None:
    assert not found(originals, [str(NUMBERS[way](int(text))) for text in originals], kind).passed


def test_few_pseudonyms_in_order_are_found_and_of_very_few_nothing_is_said() -> None:
    few = [f"branch {each}" for each in "abcdefghij"]
    assert found(few, [f"{i:03d}" for i in range(10)]).how == "by its order"
    assert found(few, [keyed(text) for text in few]).passed
    assert [each.passed for each in told("c", few[:3], ["1", "2", "3"], Type.TEXT)] == [True]


SAFE: dict[str, Callable[[str, str], str]] = {
    "tokens": keyed,
    "short tokens": lambda t, s: "C-" + keyed(t, s)[:10],
    "base64": lambda t, s: base64.b64encode(bytes.fromhex(keyed(t, s))).decode(),
    "uuids": lambda t, s: str(UUID(keyed(t, s)[:32], version=4)),
    "large numbers": lambda t, s: str(int(keyed(t, s)[:15], 16)),
    "small numbers": lambda t, s: str(int(keyed(t, s)[:15], 16) % 100_000),
    "the same shape": shaped,
    "addresses": lambda t, s: f"{keyed(t, s)[:10]}@mail.example",
    "addresses with their domain kept": lambda t, s: f"{keyed(t, s)[:10]}@{t.rpartition('@')[2]}",
}


@pytest.mark.parametrize("way", SAFE)
@pytest.mark.parametrize("originals", [IDS, DENSE, NAMES, MAILS], ids=["ids", "dense", "names", "mails"])
def test_what_is_drawn_by_a_secret_tells_nothing(way: str, originals: list[str]) -> None:
    """Of all secrets none."""
    if ("domain" in way and originals is not MAILS) or (way == "the same shape" and originals is DENSE):
        pytest.skip("there are none of that kind")
    kind = Type.NUMBER if "numbers" in way else Type.TEXT
    for secret in range(20 if way in ("tokens", "small numbers") else 4):
        finding = found(originals, [SAFE[way](text, str(secret)) for text in originals], kind)
        assert finding.passed, (secret, finding)


def test_how_long_numbers_are_tells_how_large_they_are() -> None:
    """Who has one of nine numbers of one digit is nearly known."""
    assert not found(DENSE, [shaped(text) for text in DENSE], Type.NUMBER).passed
    assert found(IDS, [shaped(text) for text in IDS], Type.NUMBER).passed


def test_a_permutation_of_numbers_without_gaps_is_a_matter_of_chance() -> None:
    dealt = random.Random(3).sample(DENSE, N)
    assert found(DENSE, dealt, Type.NUMBER).passed
    same = sum(a == b for a, b in zip(DENSE, dealt, strict=True))
    assert same <= same_by_chance(DENSE, dealt, N) <= 10
    assert same_by_chance(DENSE, dealt, N * N) >= N


def test_of_long_texts_chance_makes_none_equal() -> None:
    assert same_by_chance(NAMES, NAMES[1:] + NAMES[:1], N) == 0
    assert same_by_chance(NAMES, NAMES, N * N) < 5
    assert same_by_chance(IDS, [keyed(text) for text in IDS], N) == 0
    assert same_by_chance([], IDS, N) == 0


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.integers(30, 90), st.randoms(use_true_random=False))
def test_what_chance_allows_is_more_than_it_makes(digits: int, n: int, rng: random.Random) -> None:
    """Codes of so many digits, each drawn on its own; one error in ten thousand."""
    first, second = ([str(rng.randrange(10 ** (digits - 1), 10**digits)) for _ in range(n)] for _ in "ab")
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    assert equal <= same_by_chance(first, second, n)


@given(st.binary(min_size=9, max_size=40))
def test_digits_are_found_in_every_writing(value: bytes) -> None:
    for written in (
        value.hex(),
        base64.b64encode(value).decode(),
        base64.urlsafe_b64encode(value).decode().rstrip("="),
        base64.b32encode(value).decode(),
        base64.b32encode(value).decode().rstrip("=").lower(),
    ):
        assert value.hex() in digits_of(written)
    number = int.from_bytes(value)
    assert number < 256**4 or f"{number:x}" in digits_of(str(number))


@given(st.text(max_size=30))
def test_any_text_can_be_looked_at(text: str) -> None:
    digits_of(text)
    folded_digits(text)
    texts = [f"{text}{i}" for i in range(30)]
    assert [*told("c", [str(i) for i in range(30)], texts, Type.TEXT)]


def test_what_case_spaces_and_zeros_keep_apart_is_the_same() -> None:
    assert len({*map(folded_digits, ("00a1", " A1 ", "a1"))}) == 1
    assert folded_digits("a10") != folded_digits("a1")


def test_texts_are_numbers_where_most_are() -> None:
    numbers = numbers_in(["C-7", "C-9", "none"])
    assert numbers is not None
    assert list(numbers[:2]) == [7, 9]
    assert numbers_in(["a", "b", "1"]) is None
