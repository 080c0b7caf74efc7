"""release_table(): a whole table by one policy: every column named, every mask of the original, in one statement.

Numbers are masked given the true categories, and then the categories are randomized; so are dates, codes and
identifiers, each as if its mask were called alone. What the gate asks of the whole is asked by ``ppduck release``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, MisreadError, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, UnreadError
from ppduck.policy import document, planning, reading
from ppduck.policy.explain import explained
from ppduck.policy.model import Policy
from ppduck.query import tree as sql
from ppduck.stages.plan import Plan

NAME = "release_table"


@arguments.reader(
    "the name of a YAML file, or the policy itself: {'key': …, 'columns': {'income': {'mask': 'egadp'}, …}}, or YAML "
    "of several lines"
)
def told(value: Any) -> str | Mapping[str, Any]:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, Mapping) and value:
        return value
    raise MisreadError


@arguments.reader("a value of the batch column, such as '2026-01-31'")
def scalar(value: Any) -> str:
    if isinstance(value, (bool, list, Mapping)):
        raise MisreadError
    return str(value)


@parameters
class ReleaseTableCall(Call):
    tbl: str = TABLE
    policy: str | Mapping[str, Any] = parameter(told, f"what becomes of every column; {told.takes}")
    staged: bool = parameter(
        arguments.flag,
        "with the key under its own name, as the gate wants it, and a released key as released_…; not to be handed out",
        False,
    )
    after: str | None = parameter(
        scalar, "the newest batch that is released already, where the policy has batches", None
    )


def policy_of(function: str, catalog: Catalog, call: ReleaseTableCall) -> Policy:
    """The policy of a call, read from its file where it names one."""
    faults = Faults(function, call.tbl)
    try:
        if not isinstance(call.policy, str):
            found = document.of_python(call.policy)
        elif "\n" in call.policy:
            found = document.of_yaml(call.policy)
        else:
            found = document.of_yaml(_text(faults, catalog, call.policy))
    except document.UnreadableError as error:
        raise faults.refuse(f"the policy {error}.") from None
    source = catalog.source(function, call.tbl)
    if source.columns is None:
        return reading.read(function, call.tbl, found)
    own = [column.name for column in source.columns]
    judged = partial(planning.early_faults, catalog, source)
    return reading.read(function, call.tbl, found, own, judged)


def _text(faults: Faults, catalog: Catalog, path: str) -> str:
    """A file's text, as DuckDB may read files: where its settings forbid that, nothing is read."""
    try:
        rows = catalog.reader.execute("SELECT content FROM read_text(?)", [path]).fetchall()
    except UnreadError:
        rows = []
    if not rows:
        raise faults.refuse(
            f"the policy {path!r} cannot be read: there is no such file, it is no text, or this connection may not "
            "read files."
        )
    if len(rows) > 1:
        raise faults.refuse(f"policy names one file, and {path!r} stands for {len(rows)}.")
    return str(rows[0][0])


def plan(catalog: Catalog, call: ReleaseTableCall) -> Plan:
    policy = policy_of(NAME, catalog, call)
    planned = planning.beside(NAME, catalog, call.tbl, policy, after=call.after)
    return planning.plan(NAME, catalog, planned, staged=call.staged)


def _explained(catalog: Catalog, call: ReleaseTableCall) -> sql.Expr:
    policy = policy_of(NAME, catalog, call)
    planned = planning.beside(NAME, catalog, call.tbl, policy, reads=False)
    faults = Faults(NAME, planned.source.label)
    for each in planning.early_faults(catalog, planned.source, policy):
        faults.add(each)
    faults.raise_if_any()
    return explained(planned)


FUNCTION = register(
    Function(
        NAME,
        ReleaseTableCall,
        plan,
        "A whole table by one policy: each column kept, dropped, masked, randomized, recoded or replaced, all at once.",
        "Hundepool et al. (2012), Statistical Disclosure Control, chapter 1",
        kind=Kind.MASK,
        keeps=(
            Guarantee(
                Promise.KEYED,
                "of each column what its mask promises: all masks read the original table, in one statement",
            ),
        ),
        loses=(
            Loss(
                LossKind.OTHER_COLUMNS,
                "protection by columns that the policy keeps: FROM release_check(…) judges the whole, as ppduck "
                "release does before it writes",
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection from one who knows in which order the table is: rows stay in it, so that their places tell "
                "whose they are, as in a list sorted by the key; ppduck release orders them anew, in SQL do so by "
                "ORDER BY hash(COLUMNS(*))",
            ),
            Loss(
                LossKind.RELATIONS,
                "relations between numbers and categories that are randomized: the numbers go with the true "
                "categories, so that means by a published category need rr_query",
            ),
        ),
        explain=lambda function, catalog, call: _explained(catalog, call),
        example="FROM release_table('(SELECT id, gender, disease, smoker FROM survey)', policy={'key': 'id', "
        "'columns': {'id': {'pseudonym': 'token'}, 'gender': "
        "{'randomize': 0.9}, 'disease': {'randomize': 0.8}, 'smoker': 'keep'}})",
    )
)
