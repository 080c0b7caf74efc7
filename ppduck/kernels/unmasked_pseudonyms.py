"""What pseudonyms tell of the values that they stand for, to who has no secret.

Of a sample there are different pairs of an original and its pseudonym, as texts. Sought are

- pseudonyms that are hashes of the originals, or parts of such, in hexadecimal digits, base64, base32 or as a number;
- originals that can be read in their pseudonyms, as they are, backwards, or decoded; the same of the first and the last
  four characters, and letter by letter, as a cipher that replaces each letter by another has them;
- the order of the originals; and whatever ``telling`` finds where both are read as numbers: sums, products, digits,
  remainders.

What may be so by chance is held against the same with pseudonyms dealt out anew, to one error in a million.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ppduck.kernels import decoding
from ppduck.kernels.finding import FEWEST, MOST_ALIKE, Finding, most_gain
from ppduck.kernels.looked_rows import Sample
from ppduck.kernels.public import ranks
from ppduck.kernels.released_column import Candidate, Role, Type
from ppduck.kernels.telling import Search
from ppduck.libraries import stats
from ppduck.values import Array

Texts = Sequence[str]
Deal = npt.NDArray[np.intp]
FEWEST_IN_ORDER = 8  # of fewer, chance puts them in order
ENDS = 4  # characters
_MOST_IN_ORDER = 0.9
_BY_CHANCE = 1e-6
_COPIED_BY_CHANCE = 1e-4
_HASHED = 2_000  # pairs that are hashed
_DEALS = 4
_LEAST_STEPS = 0.02  # of them, that must repeat
_FEWEST_OF_A_LENGTH = 25  # pairs
_SHORTEST = 3  # characters; shorter ones are in other texts by chance
_NAMES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")
_BEGINNING, _ANYWHERE = 8, 12  # hexadecimal digits that no two hashes have in common by chance
_HEXADECIMAL = re.compile(rf"[0-9a-f]{{{_BEGINNING},}}")
_WHOLE = re.compile(r"[0-9]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
_BASE32 = re.compile(r"[A-Za-z2-7]{13,}=*")


def told(
    name: str, originals: Texts, pseudonyms: Texts, kind: Type, hashes: Sequence[Texts] = ()
) -> Iterator[Finding]:
    """Findings of different pairs; ``hashes`` are whole numbers that DuckDB makes of each original."""
    yield _hashed(name, originals, pseudonyms, hashes)
    n = len(originals)
    before, after = _without_domains(originals, pseudonyms)
    if n >= FEWEST_IN_ORDER:
        yield from _in_order(name, before, after)
    if n < FEWEST:
        return
    rng = np.random.default_rng(0)
    deals = [rng.permutation(n) for _ in range(_DEALS)]
    yield from _readable(name, before, pseudonyms, deals)
    yield from _ends(name, before, after, deals)
    yield _letters(name, before, after, deals[0])
    yield from _as_numbers(name, before, after, kind, deals)


def same_by_chance(originals: Texts, pseudonyms: Texts, pairs: float) -> float:
    """The most of so many pairs, of values drawn on their own, that chance makes equal once in ten thousand times.

    Values are taken for drawn character by character, each place on its own, as the samples have them there:
    Pr(equal) = Σ_length Pr(length) Pr'(length) Π_place Σ_character Pr(character) Pr'(character).
    """
    before, after = ([*map(folded_digits, texts)] for texts in (originals, pseudonyms))
    if not before or not after:
        return 0.0
    share = 0.0
    for length in set(map(len, before)) & set(map(len, after)):
        mine, theirs = (
            [text for text in texts if len(text) == length] for texts in (before, after)
        )
        if len(mine) * len(theirs) < _FEWEST_OF_A_LENGTH:
            continue  # a single text would be drawn by chance from itself
        of_length = len(mine) * len(theirs) / (len(before) * len(after))
        for place in range(length):
            own, other = (Counter(text[place] for text in texts) for texts in (mine, theirs))
            of_length *= sum(count * other[each] for each, count in own.items())
            of_length /= len(mine) * len(theirs)
        share += of_length
    return float(stats.poisson.isf(_COPIED_BY_CHANCE, pairs * share))


def folded_digits(text: str) -> str:
    """Texts that only case, spaces around them or zeros before them keep apart are the same."""
    return text.strip().lower().lstrip("0")


def _without_domains(originals: Texts, pseudonyms: Texts) -> tuple[list[str], list[str]]:
    """Of e-mail addresses what stands before the last @: their domains are judged as categories."""
    both = []
    for texts in (originals, pseudonyms):
        mails = sum("@" in text for text in texts) > len(texts) / 2
        both.append([text.rpartition("@")[0] if mails and "@" in text else text for text in texts])
    return both[0], both[1]


def _hashed(name: str, originals: Texts, pseudonyms: Texts, hashes: Sequence[Texts]) -> Finding:
    found = 0
    for place, (original, pseudonym) in enumerate(zip(originals, pseudonyms, strict=True)):
        if place == _HASHED:
            break
        written = digits_of(pseudonym)
        if written:
            known = [f"{int(each[place]):x}" for each in hashes if each[place].isdigit()]
            known += _hashes_of(original)
            found += any(_part_of(own, each) for own in written for each in known)
    return Finding(found / max(min(len(originals), _HASHED), 1), 0.0, name, "as its hash")


def _hashes_of(original: str) -> Iterator[str]:
    spelt = {original: None, original.lower(): None, original.upper(): None, original.strip(): None}
    value = decoding.number(original)
    if value == value:
        spelt |= dict.fromkeys(decoding.spellings(value))
    for text in spelt:
        own = text.encode()
        for name in _NAMES:
            yield hashlib.new(name, own, usedforsecurity=False).hexdigest()
        yield f"{zlib.crc32(own):08x}"


def digits_of(pseudonym: str) -> list[str]:
    """The hexadecimal digits that a text may be another writing of."""
    text = pseudonym.strip()
    found = _HEXADECIMAL.findall(text.lower().replace("-", ""))
    if _WHOLE.fullmatch(text):
        number = int(text) if len(text) < 200 else 0
        size = (number.bit_length() + 7) // 8
        found += [f"{number:x}", number.to_bytes(size, "little").hex()]
    for pattern, decode in ((_BASE64, _of_base64), (_BASE32, _of_base32)):
        if pattern.fullmatch(text):
            try:
                inside = decode(text)
            except (binascii.Error, ValueError):
                continue
            found += [inside.hex(), *_HEXADECIMAL.findall(inside.decode("latin-1").lower())]
    return [each for each in found if len(each) >= _BEGINNING]


def _part_of(own: str, known: str) -> bool:
    if known.startswith(own) or (len(known) >= _ANYWHERE and known in own):
        return True
    return len(own) >= _ANYWHERE and own in known


def _readable(
    name: str, originals: Texts, pseudonyms: Texts, deals: Sequence[Deal]
) -> Iterator[Finding]:
    """Whether originals stand in their pseudonyms, in any writing that needs no secret."""
    before = [*map(_plain, originals)]
    for how, read in _WRITINGS.items():
        after = [_plain(read(text)) for text in pseudonyms]
        if any(after):
            yield _often(name, how, before, after, deals, _stands_in)


def _stands_in(own: str, other: str) -> bool:
    return len(own) >= _SHORTEST and own in other


def _ends(
    name: str, originals: Texts, pseudonyms: Texts, deals: Sequence[Deal]
) -> Iterator[Finding]:
    before, after = ([*map(_plain, texts)] for texts in (originals, pseudonyms))
    for how, part in (
        (f"by its first {ENDS} characters", slice(None, ENDS)),
        (f"by its last {ENDS} characters", slice(-ENDS, None)),
    ):
        own, other = (
            [text[part] if len(text) > ENDS else "" for text in texts] for texts in (before, after)
        )
        yield _often(name, how, own, other, deals, lambda a, b: bool(a) and a == b)


def _often(
    name: str,
    how: str,
    before: Texts,
    after: Texts,
    deals: Sequence[Deal],
    alike: Callable[[str, str], bool],
) -> Finding:
    """The share of pairs that are alike, and what chance allows."""
    n = len(before)
    same = sum(map(alike, before, after))
    if same == 0:
        return Finding(0.0, 1 / n, name, how)
    dealt = sum(
        sum(alike(a, after[i]) for a, i in zip(before, deal, strict=True)) for deal in deals
    )
    # Of so many deals without a hit, there may still be three.
    chance = min((dealt + 3) / (len(deals) * n), 1.0)
    return Finding(same / n, float(stats.binom.isf(_BY_CHANCE, n, chance)) / n, name, how)


def _letters(name: str, originals: Texts, pseudonyms: Texts, deal: Deal) -> Finding:
    """How often a letter of the pseudonym is guessed right from that in its place, beyond what dealing anew gives."""
    shares, total = [], 0
    for after in ([pseudonyms[i] for i in deal], pseudonyms):
        pairs = Counter[tuple[str, str]]()
        for own, other in zip(originals, after, strict=True):
            if len(own) == len(other):
                pairs.update(zip(own, other, strict=True))
        best = Counter[str]()
        for (letter, _), count in pairs.items():
            best[letter] = max(best[letter], count)
        total = pairs.total()
        shares.append(best.total() / total if total else 0.0)
    chance, right = shares
    gain = (right - chance) / (1 - chance) if chance < 1 else 0.0
    spread = 5 / float(np.sqrt(max(total, 1)))
    return Finding(gain, MOST_ALIKE + spread, name, "letter by letter")


def _in_order(name: str, originals: Texts, pseudonyms: Texts) -> Iterator[Finding]:
    """R² of the ranks, by the texts and by what numbers they hold."""
    n = len(originals)
    most = most_gain(1, n) if n >= FEWEST else _MOST_IN_ORDER
    before, after = ([*_orders(texts)] for texts in (originals, pseudonyms))
    largest = max(float(own @ other) ** 2 for own in before for other in after)
    yield Finding(largest, most, name, "by its order")


def _orders(texts: Texts) -> Iterator[Array]:
    yield _order(texts)
    found = numbers_in(texts)
    if found is not None:
        yield ranks(found)


def _order(texts: Texts) -> Array:
    codes = np.unique(np.array([f"{text}." for text in texts]), return_inverse=True)[1]
    return ranks(codes.reshape(-1).astype(float))


def numbers_in(texts: Texts) -> Array | None:
    """Texts as numbers or days, or by the first number in each; None where most have none."""
    read = (decoding.numbers(texts), decoding.days(texts), decoding.first_numbers(texts))
    return next((each for each in read if 2 * np.isfinite(each).sum() > len(texts)), None)


def _as_numbers(
    name: str, originals: Texts, pseudonyms: Texts, kind: Type, deals: Sequence[Deal]
) -> Iterator[Finding]:
    """Everything that ``telling`` tries, of which nothing is public."""
    found = numbers_in(originals)
    x = _order(originals) if found is None else found
    nothing = np.empty((len(x), 0))
    search = Search(Sample(nothing, [name], x[:, None], nothing, [], [], nothing))
    finding = search.found_in(Candidate("", Role.OTHER, kind, pseudonyms))
    if finding is not None:
        yield finding
    d = numbers_in(pseudonyms)
    if d is not None and np.isfinite(d).all() and np.isfinite(x).all():
        yield _steps(name, x, d, deals)


def _steps(name: str, x: Array, d: Array, deals: Sequence[Deal]) -> Finding:
    """How many steps to the next original's number are as large as another: of a·x mod m, nearly all of equal x.

    ``telling`` deals steps out anew, and where all x are equally far apart they are the same steps.
    """

    def repeated(values: Array) -> int:
        return len(values) - 1 - len(np.unique(np.diff(values)))

    order, n = np.argsort(x, kind="stable"), len(x) - 1
    dealt = max(repeated(d[deal]) for deal in deals)
    most = max(3 * dealt, float(stats.poisson.isf(_BY_CHANCE, dealt + 3))) / n
    how = "by the difference of neighbours"
    return Finding(repeated(d[order]) / n, max(most, _LEAST_STEPS), name, how)


def _plain(text: str) -> str:
    """Letters and digits only."""
    return "".join(filter(str.isalnum, text.lower()))


def _of_base64(text: str) -> bytes:
    """As it is for files or for addresses, with or without what fills it up."""
    own = text.rstrip("=").replace("+", "-").replace("/", "_")
    return base64.urlsafe_b64decode(own + "=" * (-len(own) % 4))


def _of_base32(text: str) -> bytes:
    own = text.upper().rstrip("=")
    return base64.b32decode(own + "=" * (-len(own) % 8))


def _decoded(decode: Callable[[str], bytes]) -> Callable[[str], str]:
    def read(text: str) -> str:
        try:
            found = decode(text).decode("utf-8")
        except (binascii.Error, ValueError):
            return ""
        return found if found.isprintable() else ""

    return read


_WRITINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "backwards": lambda text: text[::-1],
    "as base64": _decoded(_of_base64),
    "as base32": _decoded(_of_base32),
    "as hexadecimal digits": _decoded(lambda text: bytes.fromhex(text.replace("-", ""))),
    "by letters moved on by thirteen": lambda text: codecs.encode(text, "rot13"),
}
