"""What the gate is asked of a policy's release: which part every column plays follows from what became of it.

Masked and randomized columns are ``conf``; kept, recoded and dated ones ``keep``, as somebody decided on each of them.
What an intruder may know of a person are the columns that are released as they are or coarsened, unless the policy
says ``qi``; shifted dates are not among them. Pseudonyms are judged as pseudonyms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ppduck.errors import Faults, listed
from ppduck.frozen import frozen
from ppduck.policy.model import Policy, Treatment
from ppduck.policy.reading import SHIFT
from ppduck.values import folded

STAGED = "released_"  # before the name of a released key column where the key itself is there too
_DESIGN = ("p", "matrix", "levels")
# Rows in which a masked value is NULL are seen by the rules of copies only. A table of people has some: where the
# policy does not say how many it may have, so many.
LEFT_OUT, MOST_LEFT_OUT = "left_out", 0.05


@frozen
class Layout:
    """A table's columns in their order, each with what becomes of it; None of one that is only read."""

    policy: Policy
    columns: Sequence[tuple[str, Treatment | None]]

    @classmethod
    def of(cls, policy: Policy, names: Sequence[str]) -> Layout:
        own = {folded(name): treatment for name, treatment in policy.columns.items()}
        return cls(policy, [(name, own.get(folded(name))) for name in names])

    @property
    def released(self) -> list[str]:
        """What leaves the house."""
        return [name for name, own in self.columns if own not in (None, Treatment.DROP)]

    @property
    def key(self) -> list[str]:
        wanted = {folded(name) for name in self.policy.key}
        return [name for name, _ in self.columns if folded(name) in wanted]

    def treated(self, *treatments: Treatment) -> list[str]:
        return [name for name, own in self.columns if own in treatments]

    def staged_as(self, column: str) -> str:
        """What a released column is called beside the key: the name of one that was changed is the key's own."""
        changed = dict(self.columns)[column] is not Treatment.KEEP
        return f"{STAGED}{column}" if column in self.key and changed else column


def arguments(
    function: str, layout: Layout, made: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The arguments of ``release_check`` beside the two tables; ``made`` is the manifest, once there is one.

    Of a matrix that was made invariant only the manifest knows.
    """
    policy = layout.policy
    key = layout.key
    conf = layout.treated(Treatment.MASK, Treatment.RANDOMIZE)
    if not conf:  # what does not leave the house must not be told by what does
        conf = [name for name in layout.treated(Treatment.DROP) if name not in key]
    faults = Faults(function)
    if not key:
        faults.add(
            "the gate matches rows by key; name in the policy the columns that identify a row."
        )
    if not conf:
        faults.add(
            "the policy neither masks nor randomizes nor drops a column beside the key, so that there is nothing to "
            "judge; say what is confidential."
        )
    wrong = [name for name in key if name in conf]
    if wrong:
        faults.add(
            f"key column {listed(wrong)} is masked, so that no row can be matched; drop it or give it a pseudonym."
        )
    faults.raise_if_any()
    keep = [
        layout.staged_as(name)
        for name in layout.treated(Treatment.KEEP, Treatment.RECODE, Treatment.DATE)
        if name not in key or layout.staged_as(name) != name
    ]
    found: dict[str, Any] = {
        "conf": conf,
        "key": key,
        "keep": keep,
        "limits": {LEFT_OUT: MOST_LEFT_OUT, **policy.limits},
    }
    nonconf = _nonconf(layout)
    if nonconf is not None:
        found["nonconf"] = nonconf
    pseudonyms = {layout.staged_as(name): name for name in layout.treated(Treatment.PSEUDONYM)}
    if pseudonyms:
        found["pseudonyms"] = pseudonyms
    qi = _quasi_identifiers(layout)
    if qi:
        found["qi"] = qi
    for step in policy.steps:
        if step.treatment is Treatment.RANDOMIZE:
            for name in _DESIGN:
                if step.arguments.get(name):
                    found[name] = found.get(name, {}) | dict(step.arguments[name])
    for own in (made or {}).get("columns", ()):
        if own.get("matrix"):
            found.get("p", {}).pop(own["name"], None)
            for name in ("matrix", "levels"):
                found[name] = found.get(name, {}) | {own["name"]: own[name]}
    return {name: value for name, value in found.items() if value or name not in _DESIGN}


def _nonconf(layout: Layout) -> list[str] | None:
    """What the masks were told that may be known: all that they keep relations to; None where one takes its default."""
    steps = [each for each in layout.policy.steps if each.treatment is Treatment.MASK]
    if not steps or any(each.arguments.get("nonconf") is None for each in steps):
        return None
    told = {
        folded(name)
        for each in steps
        for parameter in ("nonconf", "strata")
        for name in each.arguments.get(parameter) or ()
    }
    told -= {folded(name) for name in layout.treated(Treatment.MASK)}
    return [name for name, _ in layout.columns if folded(name) in told]


def _quasi_identifiers(layout: Layout) -> list[str]:
    if layout.policy.qi is not None:
        wanted = {folded(name) for name in layout.policy.qi}
        return [layout.staged_as(name) for name in layout.released if folded(name) in wanted]
    shifted = {folded(name) for name in _shifted(layout.policy)}
    return [
        layout.staged_as(name)
        for name in layout.treated(Treatment.KEEP, Treatment.RECODE, Treatment.DATE)
        if folded(name) not in shifted and name not in layout.key
    ]


def _shifted(policy: Policy) -> list[str]:
    """The columns whose dates are shifted, and so are still days."""
    return [
        name
        for step in policy.steps
        if step.treatment is Treatment.DATE
        for name, what in step.arguments["columns"].items()
        if what.kind == SHIFT
    ]
