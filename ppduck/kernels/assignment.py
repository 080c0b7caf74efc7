"""One-to-one linkage: people and records are matched so that the sum of all squared distances is least.

Who knows that each masked record is a different person's can do better than to take each one's nearest. The least sum
is found over all pairs by shortest augmenting paths (Crouse 2016), as scipy has them. To search each person's nearest
records only, and prove by potentials that no other pair matters, was tried: where records are far from their people,
it does not end in minutes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppduck.interrupts import check_interrupt
from ppduck.kernels.seeking import Space
from ppduck.libraries import distance, optimize
from ppduck.values import Array


def assigned(space: Space, original: Array, masked: Array) -> Array:
    """Credit of each person, 1/t where one of the t records like its own is given, else 0.

    Row i of both sides is the same person; n² distances are held.
    """
    one, other = space.coordinates(original), space.coordinates(masked)
    costs = distance.cdist(one[0], other[0], "sqeuclidean") if one[0].shape[1] else 0.0
    costs = costs + np.zeros((len(original), len(masked)))
    for own, others, weight in zip(one[1].T, other[1].T, space.weights, strict=True):
        check_interrupt()
        costs += weight * (own[:, None] != others)
    _, given = optimize.linear_sum_assignment(costs)
    return _credit(other, given)


def _credit(records: tuple[Array, Array], given: npt.NDArray[np.intp]) -> Array:
    _, kind, count = np.unique(
        np.column_stack(records), axis=0, return_inverse=True, return_counts=True
    )
    kind = kind.reshape(-1)
    return np.where(kind == kind[given], 1 / count[kind], 0.0)
