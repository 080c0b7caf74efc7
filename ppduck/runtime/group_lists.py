"""What a mask is told that sees all values of a group at once, and what it gives back."""

from __future__ import annotations

import numpy as np

from ppduck.call.udf import Unsigned
from ppduck.errors import PpduckError
from ppduck.frozen import frozen
from ppduck.kernels.noise import KeyedNoise
from ppduck.runtime.nearness import Judge
from ppduck.runtime.spec import MaskSpec
from ppduck.values import Array, folded


@frozen
class GroupLists:
    """The values of a group, column by column in the order of their names, and the secret that its chance is of."""

    group: str | None
    secret: str
    query: Unsigned
    flat: Array | None

    def of(self, spec: MaskSpec) -> Group:
        names = sorted(spec.conf, key=folded)
        values = (
            np.empty((0, len(names))) if self.flat is None else self.flat.reshape(len(names), -1).T
        )
        return Group(spec, self.group, self.secret, self.query, names, values)


@frozen
class Group:
    """A group as a mask reads it: rows by columns, and whom to tell what is found."""

    spec: MaskSpec
    label: str | None
    secret: str
    query: int
    names: list[str]
    values: Array

    @property
    def where(self) -> str:
        return f" in the group {self.label}" if self.label else ""

    @property
    def noise(self) -> KeyedNoise:
        return noise_of(self.secret)

    @property
    def judge(self) -> Judge:
        return judge_of(self.spec, self.label, self.query)

    def refuse(self, fault: str) -> PpduckError:
        return self.spec.refuse(fault)


def judge_of(spec: MaskSpec, group: str | None, query: int) -> Judge:
    return Judge(spec.function, spec.table, group, query, spec.mask.remedy)


def noise_of(secret: str) -> KeyedNoise:
    """The chance of one group of one release."""
    return KeyedNoise(b"ppduck release\0" + secret.encode())


def flattened(values: Array) -> Array:
    """Rows as the statement reads them: column by column."""
    return np.ascontiguousarray(values.T).reshape(-1)
