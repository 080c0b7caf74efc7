"""What Python is told where it looks at a release as a whole table, and the sampled rows as they are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np

from ppduck.catalogue.source import Column
from ppduck.frozen import frozen
from ppduck.gate._accounts import Other
from ppduck.gate._pseudonyms import Pseudonym, Texts
from ppduck.gate.rules import Row
from ppduck.pairs.rows import PairSpec, Told
from ppduck.values import Array, one_below_the_other


@frozen
class LookSpec(PairSpec):
    """The columns by their parts, the rules that are asked, and limits that the call names."""

    others: list[Other]
    unseen: list[Column]  # conf that the release lacks, or has in another form
    key_columns: list[Column]
    fixed: list[Row]
    asked: list[str]
    limits: dict[str, float]
    pseudonyms: list[Pseudonym] = field(default_factory=list)


@frozen
class LookTold(Told):
    """Rows in which each other column is as it was, and its profile; of sampled rows hash, position, features, conf
    before and after, one column after the other, and texts: categories of conf before and after, unseen, others, what
    those were that are compared, what pseudonyms stand for and its hashes, key; what ``_apart`` gathers; of pseudonyms
    what was counted.
    """

    same: Array | None
    profiles: list[list[float]] | None
    numbers: Array | None
    texts: list[list[str | None]] | None
    apart: Array | None
    counted: list[list[float]] | None = None


@frozen
class Looked:
    """The rows that are looked at, in the order of their hashes: numbers, and texts by what they are of."""

    table: Array
    before: Sequence[Texts]  # categories of conf
    after: Sequence[Texts]
    unseen: Sequence[Texts]
    others: Sequence[Texts]
    were: dict[str, Texts]  # what other columns were, by name
    originals: dict[str, tuple[Texts, Texts]]  # what pseudonyms stand for, and its hashes
    keys: Sequence[Texts]

    @property
    def n(self) -> int:
        return int(self.table.shape[1])


def looked(spec: LookSpec, told: LookTold) -> Looked:
    table = one_below_the_other(told.numbers, 2 + len(spec.features) + 2 * len(spec.columns))
    # In the order of their hashes, whatever order the rows came in.
    order = np.argsort(table[0], kind="stable")
    texts = [[each[i] for i in order] if each else [] for each in told.texts or []]
    compared = [other.name for other in spec.others if other.is_compared]
    stood_for = [each.name for each in spec.pseudonyms if each.original is not None]
    kinds = (spec.categories, spec.categories, spec.unseen, spec.others, compared)
    ends = [0, *np.cumsum([len(kind) for kind in kinds]).tolist()]
    before, after, unseen, others, were = (texts[i:j] for i, j in pairwise(ends))
    rest = texts[ends[-1] :]
    pairs = zip(rest[::2], rest[1::2], strict=False)
    return Looked(
        table[:, order],
        before,
        after,
        unseen,
        others,
        dict(zip(compared, were, strict=False)),
        dict(zip(stood_for, pairs, strict=False)),
        rest[2 * len(stood_for) :],
    )
