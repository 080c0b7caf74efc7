"""The policy of a dbt model that is released whole: the metas of its columns and its own, read as one document.

A column says ``meta: {ppduck: {pseudonym: token}}``, ``drop``, ``keep`` or any other treatment. The model says the rest
of a policy, ``meta: {ppduck: {key: customer_id, masks: {…}, limits: {…}}}``, and under ``columns`` what becomes of
those that the release does not have. Or it names a file, ``meta: {ppduck: {policy: customers.release.yml}}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ppduck.errors import Faults, listed, quoted
from ppduck.frozen import frozen
from ppduck.policy import document, names, reading
from ppduck.policy.model import Policy, Treatment
from ppduck.values import folded

MACRO = "ppduck_release_table"
FILE, COLUMNS = "policy", "columns"
OF_THE_CALL = "from"  # which table is released, the model's SQL says
# What tells a policy from the rule of one mask, where the model calls neither macro: keep, drop and mask are of both.
_OF_POLICIES = {FILE, COLUMNS, "domain", "masks", "batch", "smallest_batch"}
_TREATMENTS = {each.value for each in reading.BESIDE}


@frozen
class Release:
    """A model that a policy makes."""

    model: str
    policy: Policy
    text: str  # the policy as release_table takes it
    incremental: bool  # each run adds the batches that are new

    @property
    def told(self) -> str:
        """What becomes of each column, in a line."""
        said = [f"{name}: {own}" for name, own in self.policy.said.items()]
        return "; ".join(
            [*said, *([f"key: {', '.join(self.policy.key)}"] if self.policy.key else [])]
        )

    def check_columns(self, source: str, columns: Sequence[str]) -> None:
        """Refuses columns of the source that nobody names, and names of columns that it does not have."""
        faults = Faults(f"{where(self.model)}, released from {quoted(source)}")
        own = self.policy
        names.check_names(faults, own.places, own.named, own.qi or (), columns)
        faults.raise_if_any()


def where(model: str) -> str:
    return f"ppduck policy of model {quoted(model)}"


def says_policy(whole: Any, columns: Mapping[str, Any]) -> bool:
    """Whether metas can only be meant as a policy."""
    own = set(whole) if isinstance(whole, Mapping) else set()
    if Treatment.MASK.value in own:
        return False
    told = (set(meta) for meta in columns.values() if isinstance(meta, Mapping))
    return bool(own & _OF_POLICIES) or any(each & _TREATMENTS for each in told)


def read_release(
    model: str, whole: Any, columns: Mapping[str, Any], *, folder: Path, incremental: bool
) -> Release:
    """The policy of a model from its own meta and those of its columns; ``folder`` is where files are named from.

    Raises PpduckError, which names the model and everything that is wrong.
    """
    faults = Faults(where(model))
    whole = {} if whole is None else whole
    if not isinstance(whole, Mapping):
        raise faults.refuse(
            f"meta.ppduck of the model takes a mapping such as {{key: customer_id}}, got {whole!r}."
        )
    if FILE in whole:
        found, text = _of_file(faults, whole, columns, folder)
    else:
        gathered = _gathered(faults, whole, columns)
        found, text = document.of_python(gathered), document.as_yaml(gathered)
    policy = reading.read_into(faults, found)
    if incremental:
        _check_batches(faults, policy)
    return Release(model, policy, text, incremental)


def _gathered(
    faults: Faults, whole: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """The document that the metas make together."""
    found = dict(whole)
    if found.pop(OF_THE_CALL, None) is not None:
        faults.add(f"{OF_THE_CALL}: which table is released stands in the model's call of {MACRO}.")
    unseen = found.pop(COLUMNS, None) or {}
    if not isinstance(unseen, Mapping):
        faults.add(f"{COLUMNS} takes a mapping such as {{full_name: drop}}, got {unseen!r}.")
        unseen = {}
    every = {str(name): said for name, said in unseen.items()}
    known = {folded(name) for name in every}
    for name, said in columns.items():
        if folded(name) in known:
            faults.add(
                f"{COLUMNS}.{name}: column {quoted(name)} has a meta of its own, and stands under {COLUMNS} in the "
                "model's; keep one of them."
            )
        every[name] = said
    if not every:
        raise faults.refuse(
            "no column says what becomes of it; give each column of the table a meta, such as {ppduck: drop} or "
            f"{{ppduck: {{mask: egadp}}}}, or name it under {COLUMNS} in that of the model."
        )
    return {**found, COLUMNS: every}


def _of_file(
    faults: Faults, whole: Mapping[str, Any], columns: Mapping[str, Any], folder: Path
) -> tuple[document.Node, str]:
    """A policy that the model's meta names, and which says everything."""
    path = whole[FILE]
    if not isinstance(path, str) or not path:
        raise faults.refuse(f"{FILE} takes the name of a YAML file, got {path!r}.")
    beside = [name for name in whole if name != FILE]
    if beside:
        faults.add(f"{listed(beside)} cannot stand beside {FILE}; write it into {path!r}.")
    if columns:
        faults.add(
            f"{path!r} says what becomes of every column; take out the metas of {listed(columns)}."
        )
    try:
        text = (folder / path).read_text(encoding="utf-8")
        return document.of_yaml(text), text.rstrip() + "\n"
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise faults.refuse(
            f"cannot read the policy {path!r}: {why}. Paths start in the project's folder."
        ) from None
    except document.UnreadableError as error:
        raise faults.refuse(f"the policy {path!r} {error}.") from None


def _check_batches(faults: Faults, policy: Policy) -> None:
    """An incremental model must be able to tell, by the table that is there, which batches it has."""
    batch = policy.batch
    if batch is None:
        raise faults.refuse(
            "the model is incremental, and would release every row anew in each run; say by which column batches are "
            "released, such as batch: load_date, or materialize it as a table."
        )
    treatments = {folded(name): own for name, own in policy.columns.items()}
    if treatments.get(folded(batch)) is not Treatment.KEEP:
        faults.add(
            f"the newest batch is looked up in the released table, which needs column {quoted(batch)} as it is; say "
            "keep of it."
        )
    faults.raise_if_any()
