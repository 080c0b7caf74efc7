"""What DuckDB is handed for pseudonyms: texts of every kind that Arrow has, in pieces, with NULL in between."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pytest

from ppduck.kernels.noise import KeyedNoise
from ppduck.runtime import pseudonyms

pytestmark = pytest.mark.core
NOISE = KeyedNoise(b"a secret of some length")
VALUES = ["7", None, "", "名前", "7"]


def digests(values: list[str | None]) -> list[str | None]:
    return [None if each is None else hashlib.sha256(each.encode()).hexdigest() for each in values]


def contexts(count: int, context: str = "crm") -> pa.Array:
    return pa.array([context] * count, type=pa.string())


def kinds(values: list[Any]) -> list[Any]:
    """The same column in every way that it may come."""
    plain = pa.array(values, type=pa.string())
    sliced = pa.array(["another", *values, "one"], type=pa.string())[1:-1]
    pieces = pa.chunked_array([plain[:2], plain[2:]])
    return [plain, plain.cast(pa.large_string()), sliced, pieces]


@pytest.mark.parametrize("function", [pseudonyms.token, pseudonyms.uuid, pseudonyms.long_hash])
def test_equal_digests_have_equal_texts_and_null_stays(function: Any) -> None:
    [first, *others] = (function(NOISE, kind, contexts(5)).to_pylist() for kind in kinds(digests(VALUES)))
    assert first[0] == first[4]
    assert first[1] is None
    assert len(set(first)) == 4
    assert others == [first] * 3
    assert function(NOISE, pa.array([None], type=pa.string()), contexts(1)).to_pylist() == [None]
    assert function(NOISE, kinds(digests(VALUES))[0], contexts(5, "shop")).to_pylist()[0] != first[0]


def test_the_shape_of_the_texts() -> None:
    own = pa.array(digests(["7"]))
    for function, size in ((pseudonyms.token, 26), (pseudonyms.uuid, 36), (pseudonyms.long_hash, 64)):
        assert len(function(NOISE, own, contexts(1)).to_pylist()[0]) == size


def test_an_address_has_the_domain_that_is_given() -> None:
    own = pa.array(digests(["a", None, "b"]))
    found = pseudonyms.email(NOISE, own, pa.array(["x.de", "y.de", "z.de"]), contexts(3)).to_pylist()
    tokens = pseudonyms.token(NOISE, own, contexts(3)).to_pylist()
    assert found == [f"{tokens[0]}@x.de", None, f"{tokens[2]}@z.de"]


def test_numbers_lead_back() -> None:
    given = pa.array([7, None, -1, 2**63 - 1], type=pa.int64())
    found = pseudonyms.integer(NOISE, given, contexts(4), back=False)
    assert found.null_count == 1
    assert not set(found.drop_null().to_pylist()) & {7, -1, 2**63 - 1}
    assert pseudonyms.integer(NOISE, found, contexts(4), back=True).equals(given)
    assert len(pseudonyms.integer(NOISE, given[:0], contexts(0), back=False)) == 0


def test_digits_lead_back_and_all_else_stays() -> None:
    values = ["+49 (0)171 1234567", None, "名前 123456", "0171-1234567", "123456"]
    [first, *others] = (pseudonyms.digits(NOISE, kind, contexts(5), back=False).to_pylist() for kind in kinds(values))
    assert others == [first] * 3
    hidden = [None if each is None else "".join("#" if c.isdigit() else c for c in each) for each in (*values, *first)]
    assert hidden[:5] == hidden[5:]
    assert all(new != old for new, old in zip(first, values, strict=True) if old is not None)
    assert pseudonyms.digits(NOISE, pa.array(first), contexts(5), back=True).to_pylist() == values


def test_a_text_of_too_few_digits_is_not_told() -> None:
    with pytest.raises(ValueError, match=r"^4 digits are not from 6 to 128$"):
        pseudonyms.digits(NOISE, pa.array(["PIN 4711"]), contexts(1), back=False)
