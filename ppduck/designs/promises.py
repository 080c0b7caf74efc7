"""What the masks that randomize promise and what they do not, in the words that users read."""

from __future__ import annotations

from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise

BOUND = "all randomized columns of a row together tell no more about it than {} allows"
KEEPS = (
    Guarantee(Promise.BOUND, BOUND.format("the epsilon of their design")),
    Guarantee(
        Promise.RECONSTRUCTION,
        "tables, measures and rules reconstructed from it are right up to the ranges that are given with them",
    ),
    Guarantee(
        Promise.KEYED,
        "a row keeps its published value however often it is read, and when rows of known levels come and go",
    ),
    Guarantee(Promise.SHARES, "the expected share of every level", lambda call: call.invariant),
)
_OF_ANY = (
    Loss(LossKind.OTHER_COLUMNS, "protection by columns that are not randomized"),
    Loss(
        LossKind.SEVERAL_RELEASES,
        "that a second design for the same column adds nothing: the epsilons of independent releases add up",
    ),
    Loss(
        LossKind.SEVERAL_RELEASES,
        "secrecy of a change: a published value that changes shows that the true one did",
    ),
)
LOSES = (
    *_OF_ANY,
    Loss(
        LossKind.PRESENCE,
        "secrecy of who gave no answer: NULL stays NULL",
        lambda call: call.on_null != "level",
    ),
    Loss(
        LossKind.STABILITY,
        "the same published value after the table has changed: an invariant matrix follows its shares",
        lambda call: call.invariant,
    ),
    Loss(
        LossKind.PRESENCE,
        "secrecy of which levels occur, and the same published values once a new one does: the domain is read from "
        "the data; name it in levels",
        lambda call: call.levels is None,
    ),
    Loss(
        LossKind.STABILITY,
        "the same published value once the table is written anew: name a key",
        lambda call: not call.key,
    ),
    Loss(
        LossKind.SEED,
        "protection: seeded draws can be made again by anybody; for tests only",
        lambda call: call.seed is not None,
    ),
)
# Of a call that cannot but name its levels and a key, and keeps NULL.
KEEPS_NAMED = KEEPS[:3]
LOSES_NAMED = (
    *_OF_ANY,
    Loss(LossKind.PRESENCE, "secrecy of who gave no answer: NULL stays NULL"),
)
