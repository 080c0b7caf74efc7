"""The best one-to-one matching of points, by shortest augmenting paths over all pairs (Crouse 2016), as scipy has them.

-2x'y is all of |x - y|² that a matching can change: |A^-½x - A^½y|², A positive definite, has the same best one.
With the A that makes both sides spread alike, the map of least cost between normal variables (Dowson & Landau 1982),
partners lie near each other however strong the mask, and paths stay short: 2,000 points of noise five times as wide as
their own spread take 0.5 s of CPU in place of 5.8.

n² distances are held: 3.2 GB for 20,000 points. scipy hears of no interrupt until it is done, which takes minutes for
so many; more than a few points are therefore matched in a process of their own, which an interrupt ends.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile

import numpy as np
import numpy.typing as npt

from ppduck.errors import PpduckError
from ppduck.interrupts import check_interrupt
from ppduck.libraries import distance, optimize
from ppduck.values import Array

FEW = 2_000  # points that are matched at once: a second
LEAST_SPREAD = 1e-6  # share of the variance that a direction is taken to have
_PAUSE = 0.1  # seconds between two looks for an interrupt

Indices = npt.NDArray[np.intp]
Sides = tuple[Array, Array]  # numbers, and codes of categories


def matched(one: Sides, other: Sides, weights: Array) -> Indices:
    """The other of each one, where a category that differs adds its weight to the squared distance of the numbers."""
    if len(one[0]) <= FEW:
        return _solved(one, other, weights)
    return _apart([*one, *other, weights])


def _solved(one: Sides, other: Sides, weights: Array) -> Indices:
    if one[0].shape[1]:
        costs = distance.cdist(*spread_alike(one[0], other[0]), "sqeuclidean")
    else:
        costs = np.zeros((len(one[0]), len(other[0])))
    for own, others, weight in zip(one[1].T, other[1].T, weights, strict=True):
        for row, code in zip(costs, own, strict=True):  # no second array as large
            row += weight * (others != code)
    return np.asarray(optimize.linear_sum_assignment(costs)[1])


def spread_alike(one: Array, other: Array) -> tuple[Array, Array]:
    """The points A^-½x and A^½y, A = M^-½(M^½ O M^½)^½ M^-½ of both covariances O and M."""
    x, y = (side - side.mean(axis=0) for side in (one, other))
    if not x.any() or not y.any():
        return x, y
    before, after = (side.T @ side / len(side) for side in (x, y))
    # A direction in which a side hardly spreads is not blown up: any A will do.
    least = LEAST_SPREAD * max(np.trace(before), np.trace(after))
    half, back = (_power(after, by, least) for by in (0.5, -0.5))
    a = back @ _power(half @ before @ half, 0.5, least * least) @ back
    a = (a + a.T) / 2
    return x @ _power(a, -0.5, LEAST_SPREAD), y @ _power(a, 0.5, LEAST_SPREAD)


def _power(matrix: Array, exponent: float, least: float) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least) ** exponent) @ vectors.T)


def _apart(given: list[Array]) -> Indices:
    """The same in another process."""
    asked = [sys.executable, "-c", "from ppduck.kernels import matching; matching.answer()"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with tempfile.TemporaryFile() as points:
        for each in given:
            np.save(points, each, allow_pickle=False)
        points.seek(0)
        with subprocess.Popen(
            asked, stdin=points, stdout=subprocess.PIPE, env=environment
        ) as process:
            try:
                found = _heard(process)
            except BaseException:
                process.kill()
                raise
    if process.returncode or not found:
        raise PpduckError(
            f"the process that matches {len(given[0]):,} people one to one has ended before it was done; it may have "
            "had too little memory, of which it takes 8 bytes for each pair."
        )
    return np.asarray(np.load(io.BytesIO(found), allow_pickle=False))


def _heard(process: subprocess.Popen[bytes]) -> bytes:
    while True:
        check_interrupt()
        try:
            return process.communicate(timeout=_PAUSE)[0]
        except subprocess.TimeoutExpired:
            continue


def answer() -> None:
    """What the other process does: reads the points, and writes the matching."""
    given = io.BytesIO(sys.stdin.buffer.read())
    one, codes, other, other_codes, weights = (np.load(given, allow_pickle=False) for _ in range(5))
    np.save(sys.stdout.buffer, _solved((one, codes), (other, other_codes), weights))
