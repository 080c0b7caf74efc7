"""What mask_explain() says about a randomizing mask: each column's design, and what the published rows tell."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ppduck.call.guarantees import Promise
from ppduck.catalogue.tables import Catalog
from ppduck.designs import promises
from ppduck.designs.design import Attribute
from ppduck.designs.randomization import Randomization, resolve
from ppduck.designs.randomizing_mask import RandomizingCall, RandomizingMask
from ppduck.kernels.privacy import Privacy, privacy_of
from ppduck.query import tree as sql
from ppduck.stages.explain import ROW, Row, noise_key, table


def explained(mask: RandomizingMask, catalog: Catalog, call: RandomizingCall) -> sql.Expr:
    found = resolve(mask.name, catalog, call)
    shared = "NOT unique; " + (
        "rr_mask and pram_mask refuse it" if found.key else "equal rows are numbered"
    )
    named = [column.name for column in found.key]
    content = "the whole row, and which of equal rows it is"
    rows = [*_columns(found), *_promises(mask, found)]
    return sql.union_all(
        [table(rows), noise_key(found.source, named, content, [sql.column(ROW)], shared)]
    )


def _columns(call: Randomization) -> list[Row]:
    designs = {attribute.name: attribute for attribute in call.attributes}
    names = (
        [column.name for column in call.source.columns] if call.source.columns else list(designs)
    )
    found: list[Row] = []
    for name in names:
        if name in designs:
            found.append((name, "randomized", _design(designs[name])))
        elif name in call.drop:
            found.append((name, "dropped", "left out of the output"))
        else:
            found.append(
                (name, "not used", "released as it is: drop it if it tells who somebody is")
            )
    return found


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


def _promises(mask: RandomizingMask, masking: Randomization) -> list[Row]:
    together = reduce(Privacy.times, map(_privacy, masking.attributes))
    bound = promises.BOUND.format(f"epsilon {together.epsilon:.3g}")
    return [
        *(
            (None, "guaranteed", bound if each.promise is Promise.BOUND else str(each))
            for each in mask.kept(masking.call)
        ),
        *((None, "not guaranteed", str(each)) for each in mask.lost(masking.call)),
    ]
