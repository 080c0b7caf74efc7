"""The sampled rows stand in the order of their hashes, and every list of texts is of what it is said to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ppduck.catalogue.source import Column
from ppduck.gate._accounts import Other
from ppduck.gate._looked import LookSpec, LookTold, looked
from ppduck.gate._pseudonyms import Pseudonym

pytestmark = pytest.mark.core
HASHES = [3.0, 1.0, 2.0]
OTHERS = [
    Other("born", "DATE", old=True, declared="keep", was="DATE"),
    Other("token", "VARCHAR", old=False, declared="pseudonyms"),
    Other("name", "VARCHAR", old=True, declared="pseudonyms", was="VARCHAR"),
    Other("account", "BIGINT", old=True, declared="pseudonyms", was="BIGINT"),
]
STAND_FOR = [
    Pseudonym("token", None),
    Pseudonym("name", "name", "VARCHAR", 0),
    Pseudonym("account", "account", "BIGINT", 1),
]


def spec(**more: Any) -> LookSpec:
    names: dict[str, Any] = {"columns": ["x"], "categories": ["c"], "features": [], "pieces": [None]}
    own: dict[str, Any] = {"unseen": [Column("u", "DATE")], "key_columns": [Column("id", "BIGINT")], "fixed": []}
    return LookSpec(
        "f", "t", "r", ["id"], **names, others=OTHERS, asked=[], limits={}, pseudonyms=STAND_FOR, **own, **more
    )


def test_texts_are_told_apart_and_put_in_order() -> None:
    lists = ["before", "after", "unseen", "born", "token", "name", "account", "was born"]
    lists += ["was name", "hash of name", "was account", "hash of account", "key"]
    texts: list[list[str | None]] = [[f"{name} {hash_:.0f}" for hash_ in HASHES] for name in lists]
    numbers = np.array([*HASHES, 0, 1, 2, 30, 10, 20, 31, 11, 21])
    found = looked(spec(), LookTold(3, None, None, numbers, texts, None, None))
    assert found.table.tolist() == [[1, 2, 3], [1, 2, 0], [10, 20, 30], [11, 21, 31]]
    assert found.n == 3

    def of(name: str) -> list[str]:
        return [f"{name} {i}" for i in (1, 2, 3)]

    assert [*found.before, *found.after, *found.unseen] == [of("before"), of("after"), of("unseen")]
    assert found.others == [of("born"), of("token"), of("name"), of("account")]
    assert found.were == {"born": of("was born")}, "a pseudonym is not held against what it was as a number is"
    assert found.originals == {
        "name": (of("was name"), of("hash of name")),
        "account": (of("was account"), of("hash of account")),
    }
    assert found.keys == [of("key")]


def test_of_no_rows_there_is_nothing() -> None:
    found = looked(spec(), LookTold(0, None, None, None, None, None, None))
    assert (found.n, found.keys, found.were, found.originals) == (0, [], {}, {})
