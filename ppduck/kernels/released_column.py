"""A column of a release, its values as texts, and how they can be read."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ppduck.frozen import frozen
from ppduck.kernels import decoding
from ppduck.values import Array


class Role(Enum):
    """What a released column is to the original."""

    MASKED = "masked"
    KEPT = "kept"
    OTHER = "new or changed"
    KEY = "key"
    ORDER = "order of the rows"


class Type(Enum):
    """How the values of a column are to be read from their texts."""

    NUMBER = "number"
    TEXT = "text"
    DATE = "date"


@frozen
class Candidate:
    """A released column, its values as texts."""

    name: str
    role: Role
    type: Type
    texts: Sequence[str | None]

    @cached_property
    def values(self) -> Array | None:
        """As numbers; None of a text."""
        if self.type is Type.TEXT:
            return None
        return (decoding.days if self.type is Type.DATE else decoding.numbers)(self.texts)

    @cached_property
    def missing(self) -> Array:
        return np.array([text is None for text in self.texts], dtype=float)

    @cached_property
    def codes(self) -> npt.NDArray[np.intp]:
        return codes_of(self.texts)

    @cached_property
    def readings(self) -> list[decoding.Reading]:
        if self.values is None:
            return list(decoding.readings_of_texts(self.texts))
        return list(decoding.readings_of_numbers(self.values, self.texts))


def codes_of(texts: Sequence[str | None]) -> npt.NDArray[np.intp]:
    """A number for each value; NULL is one of them."""
    # numpy takes off zeros at the end of a text: by itself one would be an empty text.
    told = np.array(["\0NULL" if text is None else text for text in texts])
    return np.asarray(np.unique(told, return_inverse=True)[1].reshape(-1))
