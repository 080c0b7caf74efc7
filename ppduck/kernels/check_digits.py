"""Check digits: whether numbers could be those of payment cards or bank accounts.

Of a card (ISO/IEC 7812-1, Luhn) every second digit from the right is doubled, the digits of all products are summed up,
and the sum ends in 0. Of an IBAN (ISO 13616, ISO 7064 MOD 97-10) the first four characters go to the end, A to Z become
10 to 35, and the number leaves 1 when divided by 97.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
_LONGEST = 34  # characters of an IBAN; no card has more
_ZERO, _NINE, _A = ord("0"), ord("9"), ord("A")
_MODULUS = 97


def is_card(texts: Sequence[str]) -> Flags:
    """Of texts that are digits only: whether their last digit is the one that the others ask for."""
    digits = _characters([text.rjust(_LONGEST, "0") for text in texts]) - _ZERO
    doubled = 2 * digits[:, -2::-2]
    total = digits[:, ::-2].sum(axis=1) + (doubled - 9 * (doubled > 9)).sum(axis=1)
    return np.asarray(total % 10 == 0)


def is_iban(texts: Sequence[str]) -> Flags:
    """Of texts that are digits and capital letters only, five or more: whether the third and fourth one fit."""
    turned = _characters([text[4:] + text[:4] for text in texts])
    remainder = np.zeros(len(turned), dtype=np.int64)
    for own in turned.T:
        letter = own >= _A
        value = np.where(letter, own - _A + 10, own - _ZERO)
        following = (remainder * np.where(letter, 100, 10) + value) % _MODULUS
        remainder = np.where(own > 0, following, remainder)  # 0 stands where a text has ended
    return np.asarray(remainder == 1)


def _characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """A row of codes for each text, with 0 behind its end."""
    rows = np.array(texts, dtype=f"S{_LONGEST}")
    return rows.view(np.uint8).reshape(len(texts), _LONGEST).astype(np.int64)
