"""What mask_explain() says about a randomizing mask: each column's design, and what the published rows tell."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ppduck.designs.design import Attribute
from ppduck.designs.mechanism import Call
from ppduck.kernels.privacy import Privacy, privacy_of

Row = tuple[str | None, str, str]

_BOUND = "all randomized columns of a row together tell no more about it than {} allows"
_KEPT = (
    "tables, measures and rules reconstructed from it are right up to the ranges that are given with them",
    "a row keeps its published value however often it is read, and when rows of known levels come and go",
)
KEPT = (_BOUND.format("the epsilon of their design"), *_KEPT)
LOST = (
    "protection by columns that are not randomized",
    "that a second design for the same column adds nothing: the epsilons of independent releases add up",
    "secrecy of a change: a published value that changes shows that the true one did",
)
_WHO = "secrecy of who gave no answer: NULL stays NULL"
_DOMAIN = (
    "secrecy of which levels occur, and the same published values once a new one does: the domain is read from "
    "the data; name it in levels"
)
_KEYLESS = "the same published value once the table is written anew: name a key"
LOST_BY_DEFAULT = (_WHO, _DOMAIN, _KEYLESS)  # where a call does not name on_null, levels and key


def rows(call: Call) -> list[Row]:
    designs = {attribute.name: attribute for attribute in call.attributes}
    names = [column.name for column in call.source.columns] if call.source.columns else list(designs)
    found: list[Row] = []
    for name in names:
        if name in designs:
            found.append((name, "randomized", _design(designs[name])))
        elif name in call.drop:
            found.append((name, "dropped", "left out of the output"))
        else:
            found.append((name, "not used", "released as it is: drop it if it tells who somebody is"))
    return [*found, *_promises(call)]


def _privacy(attribute: Attribute) -> Privacy:
    size = len(attribute.levels or ())
    return privacy_of(attribute.matrix(size), np.full(size, 1.0 / size))


def _design(attribute: Attribute) -> str:
    size = len(attribute.levels or ())
    if attribute.is_identity:
        return "p = 1: released as it is"
    epsilon = f"epsilon {_privacy(attribute).epsilon:.3g}"
    if attribute.p is not None:
        other = "its other level" if size == 2 else f"one of its {size - 1} other levels"
        return f"kept with probability {attribute.p:g}, else {other}; {epsilon}"
    return f"published by its {size}×{size} matrix, kept with {_privacy(attribute).keep:.3g} at most; {epsilon}"


def _promises(call: Call) -> list[Row]:
    together = reduce(Privacy.times, map(_privacy, call.attributes))
    kept, lost = [_BOUND.format(f"epsilon {together.epsilon:.3g}"), *_KEPT], [*LOST]
    if call.given.get("on_null") != "level":
        lost.append(_WHO)
    if call.counts:
        kept.append("the expected share of every level")
        lost.append("the same published value after the table has changed: an invariant matrix follows its shares")
    if "levels" not in call.given:
        lost.append(_DOMAIN)
    if not call.key:
        lost.append(_KEYLESS)
    if "seed" in call.given:
        lost.append("protection: seeded draws can be made again by anybody; for tests only")
    return [*((None, "guaranteed", text) for text in kept), *((None, "not guaranteed", text) for text in lost)]
