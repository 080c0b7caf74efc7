"""Normals from words, and scores from shares, as SQL computes them."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pytest
from scipy.special import ndtri

from ppduck.kernels.noise import NORMALS_PER_BLOCK
from ppduck.query import normals
from ppduck.query import tree as sql


def test_two_normals_from_the_halves_of_a_word() -> None:
    word = (123456789 << 32) + 987654321
    u1, u2 = ((half + 0.5) / 2**32 for half in (123456789, 987654321))
    radius, angle = math.sqrt(-2 * math.log(u1)), 2 * math.pi * u2
    found = normals.normals(2, [sql.column("w")])
    with duckdb.connect() as con:
        query = f"SELECT {', '.join(map(sql.render, found))} FROM (SELECT CAST([{word}] AS UBIGINT[1]) AS w)"
        [values] = con.execute(query).fetchall()
    assert values == pytest.approx((radius * math.cos(angle), radius * math.sin(angle)), rel=1e-12)


def test_more_noise_takes_more_calls_with_keys_of_their_own() -> None:
    many = NORMALS_PER_BLOCK * normals.MOST_BLOCKS
    [one] = normals.word_calls(many, sql.column("k"), sql.column("t"), seeded=False)
    assert sql.render(one).lower() == f'{normals.word_function(normals.MOST_BLOCKS, seeded=False)}("k", "t")'
    _, second = normals.word_calls(many + 1, sql.column("k"), sql.column("t"), seeded=True)
    assert sql.render(second).lower().startswith('ppduck_seeded_words_1(hash("k", ')


def test_scores_are_normal_quantiles() -> None:
    shares = [1e-300, 1e-12, 0.001, 0.07, 0.075, 0.3, 0.5, 0.8, 0.9999, 1 - 1e-15]
    with duckdb.connect() as con:
        rows = sql.raw(f"SELECT unnest({shares}::DOUBLE[]) AS p")
        found = con.execute(sql.render(normals.with_scores(rows, {"p": "z"}))).fetchall()
    assert [row[0] for row in found] == shares
    np.testing.assert_allclose([row[1] for row in found], ndtri(shares), rtol=1e-13, atol=1e-15)
