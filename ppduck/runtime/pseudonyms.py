"""Pseudonyms that DuckDB asks for while a statement runs, a batch at a time: each of a value and a context.

What goes by a value's text is told its SHA-256 as DuckDB writes it. No function says a value in a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppduck.call.udf import Udf
from ppduck.kernels import pseudonyms as kernel
from ppduck.kernels.noise import KeyedNoise
from ppduck.kernels.pseudonyms import Bytes, Domain

_SHA_256 = 64  # hexadecimal digits of a digest


def token(noise: KeyedNoise, digests: Any, contexts: Any) -> pa.Array:
    return _of_digests(noise, digests, contexts, _token)


def uuid(noise: KeyedNoise, digests: Any, contexts: Any) -> pa.Array:
    return _of_digests(noise, digests, contexts, lambda own, of: kernel.uuids(own.blocks(of)))


def long_hash(noise: KeyedNoise, digests: Any, contexts: Any) -> pa.Array:
    return _of_digests(
        noise, digests, contexts, lambda own, of: kernel.hexadecimal(own.long_blocks(of))
    )


def email(noise: KeyedNoise, digests: Any, domains: Any, contexts: Any) -> pa.Array:
    """``domains``: what stands behind the sign, which is not that of ``contexts``."""
    tokens = _of_digests(noise, digests, contexts, _token)
    return pc.binary_join_element_wise(tokens, _whole(domains, pa.string()), "@")


def integer(noise: KeyedNoise, numbers: Any, contexts: Any, *, back: bool) -> pa.Array:
    given = _whole(numbers, pa.int64())
    if not len(given):
        return given
    found = _domain(noise, contexts).numbers(given.fill_null(0).to_numpy(), back=back)
    return pa.array(found, mask=given.is_null().to_numpy(zero_copy_only=False))


def digits(noise: KeyedNoise, texts: Any, contexts: Any, *, back: bool) -> pa.Array:
    given = _whole(texts, pa.string())
    return _of_present(given, lambda present: _digits(present, _domain(noise, contexts), back))


def _digits(texts: pa.Array, own: Domain, back: bool) -> pa.Array:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    ends = ends.astype(np.int64)
    text = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
    found = kernel.with_digits(text, ends - ends[0], partial(own.digits, back=back))
    own_ends = (ends - ends[0]).astype(np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(own_ends), pa.py_buffer(found))


def _token(own: Domain, digests: Bytes) -> Bytes:
    return kernel.base32(own.blocks(digests))


def _of_digests(
    noise: KeyedNoise, digests: Any, contexts: Any, made: Callable[[Domain, Bytes], Bytes]
) -> pa.Array:
    """Texts of one length for some digests."""

    def texts(present: pa.Array) -> pa.Array:
        _, offsets, data = present.buffers()
        first = int(np.frombuffer(offsets, np.int32)[present.offset])
        flat = np.frombuffer(data, np.uint8, len(present) * _SHA_256, first)
        found = made(_domain(noise, contexts), kernel.digests_of(flat.reshape(-1, _SHA_256)))
        ends = np.arange(len(found) + 1, dtype=np.int32) * np.int32(found.shape[1])
        rows = pa.py_buffer(np.ascontiguousarray(found))
        return pa.StringArray.from_buffers(len(found), pa.py_buffer(ends), rows)

    return _of_present(_whole(digests, pa.string()), texts)


def _of_present(values: pa.Array, made: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What is made of values, without those that are NULL, which stay so."""
    present = values.drop_null()
    if not len(present):
        return pa.nulls(len(values), pa.string())
    found = made(present)
    if len(present) == len(values):
        return found
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return found.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def _domain(noise: KeyedNoise, contexts: Any) -> Domain:
    """All rows of a call have one context."""
    return noise.pseudonyms.of(contexts[0].as_py())


def _whole(column: Any, type_: pa.DataType) -> pa.Array:
    """A column in one piece, as this type: settings of DuckDB's say which kind of texts it hands over."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole if whole.type == type_ else whole.cast(type_)


_TEXTS = ("VARCHAR", "VARCHAR")
_NUMBERS = ("BIGINT", "VARCHAR")
TOKEN = Udf("ppduck_pseudonym_token", token, _TEXTS, "VARCHAR", noise="keyed")
UUID = Udf("ppduck_pseudonym_uuid", uuid, _TEXTS, "VARCHAR", noise="keyed")
HASH = Udf("ppduck_pseudonym_hash", long_hash, _TEXTS, "VARCHAR", noise="keyed")
EMAIL = Udf("ppduck_pseudonym_email", email, ("VARCHAR", *_TEXTS), "VARCHAR", noise="keyed")
INTEGER, INTEGER_BACK = (
    Udf(name, partial(integer, back=back), _NUMBERS, "BIGINT", noise="keyed")
    for name, back in (("ppduck_pseudonym_integer", False), ("ppduck_pseudonym_integer_of", True))
)
DIGITS, DIGITS_BACK = (
    Udf(name, partial(digits, back=back), _TEXTS, "VARCHAR", noise="keyed")
    for name, back in (("ppduck_pseudonym_digits", False), ("ppduck_pseudonym_digits_of", True))
)
UDFS = (TOKEN, UUID, HASH, EMAIL, INTEGER, INTEGER_BACK, DIGITS, DIGITS_BACK)
