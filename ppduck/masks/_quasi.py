"""What the masks of quasi-identifiers share: their parameters, and the checks of the columns that these name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ppduck.call import arguments
from ppduck.call.guarantees import Loss, LossKind
from ppduck.call.parameters import parameter
from ppduck.call.registry import Function
from ppduck.call.roles import refuse_reserved, resolve_columns
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed
from ppduck.frozen import frozen
from ppduck.values import folded

QI = parameter(
    arguments.columns,
    "the quasi-identifiers: columns that others may know of a person, such as ['age', 'zip']",
)


at_least_two = arguments.whole(2, why=": with less nothing is protected")


class QuasiCall(Protocol):
    """A call that names quasi-identifiers."""

    @property
    def tbl(self) -> str: ...
    @property
    def qi(self) -> Sequence[str]: ...


@frozen(kw_only=True)
class GroupingMask(Function):
    """A mask that hides a row among others of its group, and what a user can read of it before it is run."""

    # Of a column and a call: the column's role, and what becomes of it.
    becomes: Callable[[str, Any], tuple[str, str]]


INTERSECTED = Loss(
    LossKind.SEVERAL_RELEASES,
    "safety of a second release of the same rows with other groups: what both groups of a person have in common may "
    "be a single value",
)
PRESENCE = Loss(LossKind.PRESENCE, "secrecy of who is in the table")
OTHER_KNOWLEDGE = Loss(
    LossKind.OTHER_KNOWLEDGE, "protection from one who knows which values a person cannot have"
)


def names_column(names: Sequence[str], column: str) -> bool:
    """Whether a list names a column, as DuckDB finds it."""
    return folded(column) in map(folded, names)


class Named:
    """The columns that a call names, by parameter, and what is wrong with them."""

    def __init__(self, function: str, catalog: Catalog, call: QuasiCall) -> None:
        self.source: Source = catalog.source(function, call.tbl)
        self.faults = Faults(function, self.source.label)
        refuse_reserved(self.faults, self.source)
        self.qi = self.columns("qi", call.qi)
        if not call.qi:
            self.faults.add("qi is empty; name at least one column, such as qi := ['age'].")

    def columns(self, parameter: str, names: Sequence[str]) -> list[Column]:
        return resolve_columns(self.faults, self.source, parameter, names)

    def refuse_called(self, columns: list[Column], results: tuple[str, ...]) -> None:
        """Columns of the output that are called like those that a mask adds."""
        taken = [column.name for column in columns if folded(column.name) in results]
        if taken:
            self.faults.add(
                f"column {listed(taken)} is called like a column of the result; rename it in tbl, such as "
                f"'(SELECT {taken[0]} AS its_{taken[0]}, … FROM …)'."
            )
