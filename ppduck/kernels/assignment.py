"""One-to-one linkage: people and records are matched so that the sum of all squared distances is least.

Who knows that each masked record is a different person's can do better than to take each one's nearest. The search goes
over each person's nearest records (Jonker & Volgenant 1987, as scipy has it); potentials then prove that no pair left
out would make the sum less, or name those that would, which join the search: with c_ij ≥ u_i + v_j for all pairs, and
equality for those that are matched, the sum is least.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.kernels.seeking import Space
from ppduck.kernels.threads import one_thread
from ppduck.libraries import csgraph, sparse
from ppduck.values import Array

_NEAREST = 16  # records of each person that are searched first
_ROUNDS = 12  # of adding pairs
_BLOCK = 512  # people whose distances to all records are held at once
_EXACT = 1e-7  # squared sd by which a pair may miss

Indices = npt.NDArray[np.intp]
Codes = tuple[Array, Array]


def assigned(space: Space, original: Array, masked: Array) -> tuple[Array, bool]:
    """Credit of each person, 1/t where one of the t records like its own is given; and whether the sum is the least.

    Row i of both sides is the same person.
    """
    one, other = space.coordinates(original), space.coordinates(masked)
    n = len(original)
    people, records = _nearest(space, one, other, min(_NEAREST, n))
    # Everybody's own record makes a matching possible, and is no more likely to be chosen by that.
    people, records = _joined(n, people, records, np.arange(n), np.arange(n))
    proven = False
    given = np.arange(n)
    for _ in range(_ROUNDS):
        check_interrupt()
        costs = space.squared(_rows(one, people), _rows(other, records))
        given = _matched(n, people, records, costs)
        potentials = _potentials(n, people, records, costs, given)
        more = _missed(space, one, other, given, potentials)
        if not len(more[0]):
            proven = True
            break
        people, records = _joined(n, people, records, *more)
    return _credit(other, given), proven


def _block(space: Space, one: Codes, other: Codes, part: slice) -> Array:
    """Squared distances of some people to all records."""
    left, right = one[0][part], other[0]
    with one_thread():
        found = -2 * (left @ right.T)
    found += np.einsum("ij,ij->i", right, right)
    found += np.einsum("ij,ij->i", left, left)[:, None]
    np.maximum(found, 0, out=found)
    for own, others, weight in zip(one[1][part].T, other[1].T, space.weights, strict=True):
        found += weight * (own[:, None] != others)
    return np.asarray(found)


def _nearest(space: Space, one: Codes, other: Codes, k: int) -> tuple[Indices, Indices]:
    n = len(one[0])
    chosen = []
    for start in range(0, n, _BLOCK):
        check_interrupt()
        costs = _block(space, one, other, slice(start, start + _BLOCK))
        near = np.argpartition(costs, k - 1, axis=1)[:, :k]
        chosen.append(near.copy())  # a part would keep the whole
    records = np.concatenate(chosen)
    return np.repeat(np.arange(n), records.shape[1]), records.reshape(-1)


def _joined(n: int, people: Indices, records: Indices, more: Indices, others: Indices) -> tuple[Indices, Indices]:
    """Pairs of both, each once."""
    both = np.unique(np.concatenate([people * n + records, more * n + others]))
    who, which = np.divmod(both, n)
    return who, which


def _rows(sides: Codes, of: Indices) -> Codes:
    return sides[0][of], sides[1][of]


def _matched(n: int, people: Indices, records: Indices, costs: Array) -> Indices:
    # A cost of 0 would be no pair at all.
    graph = sparse.csr_array((costs + 1, (people, records)), shape=(n, n))
    rows, columns = csgraph.min_weight_full_bipartite_matching(graph)
    given = np.empty(n, dtype=np.intp)
    given[rows] = columns
    return given


def _potentials(n: int, people: Indices, records: Indices, costs: Array, given: Indices) -> tuple[Array, Array]:
    """u and v with c_ij ≥ u_i + v_j for the pairs that were searched: shortest paths, as Bellman & Ford find them."""
    owner = np.empty(n, dtype=np.intp)
    owner[given] = np.arange(n)
    mine = np.empty(n)
    chosen = given[people] == records
    mine[people[chosen]] = costs[chosen]
    order = np.argsort(records, kind="stable")
    people, records, costs = people[order], records[order], costs[order]
    starts = np.flatnonzero(np.concatenate([[True], records[1:] != records[:-1]]))
    ends = records[starts]
    beyond = costs - mine[people]
    v = np.zeros(n)
    for _ in range(n):
        reached = np.minimum.reduceat(beyond + v[given[people]], starts)
        lower = reached < v[ends] - 1e-12
        if not lower.any():
            break
        v[ends[lower]] = reached[lower]
    return mine - v[given], v


def _missed(
    space: Space, one: Codes, other: Codes, given: Indices, potentials: tuple[Array, Array]
) -> tuple[Indices, Indices]:
    """Pairs that would make the sum less, the worst of each person's."""
    u, v = potentials
    people, records = list[Indices](), list[Indices]()
    for start in range(0, len(given), _BLOCK):
        check_interrupt()
        part = slice(start, start + _BLOCK)
        left = _block(space, one, other, part) - u[part, None] - v
        worst = np.argpartition(left, min(7, left.shape[1] - 1), axis=1)[:, :8]
        below = np.take_along_axis(left, worst, axis=1) < -_EXACT
        who, place = np.nonzero(below)
        people.append(who + start)
        records.append(worst[who, place])
    return np.concatenate(people), np.concatenate(records)


def _credit(records: Codes, given: Indices) -> Array:
    """1 over the number of records like the own one, where one of these is given."""
    _, kind, count = np.unique(
        np.column_stack(records), axis=0, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    return np.where(kind == kind[given], 1 / count[kind], 0.0)
