"""What the macros ask, as values: JSON is read here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ppduck.dbt.project import Node
from ppduck.frozen import frozen

Names = str | list[str]


@frozen(kw_only=True)
class MaskedSource:
    """What a model masks, as dbt writes it into a FROM clause, and its columns once it is there."""

    name: str
    table: str
    is_cte: bool
    columns: list[str]


@frozen(kw_only=True)
class MaskRequest:
    """The masking statement of a model."""

    node: Node
    source: MaskedSource
    call: Mapping[str, Any]  # what the model's call of the macro adds to its rule

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> MaskRequest:
        return cls(**{**given, "source": MaskedSource(**given["source"])})


@frozen(kw_only=True)
class TableRequest:
    """The statement of a model that a policy makes."""

    node: Node
    source: MaskedSource
    newest: str | None  # the newest batch that the model has, where it goes on
    comment: str | None  # of the table that it goes on with

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> TableRequest:
        return cls(**{**given, "source": MaskedSource(**given["source"])})


@frozen(kw_only=True)
class CommentRequest:
    """The manifest of a model that a policy makes."""

    node: Node
    made_of: Mapping[str, Node]

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> CommentRequest:
        return cls(**given)


@frozen(kw_only=True)
class CheckRequest:
    """Whether the rules of the selected models can be carried out."""

    nodes: Mapping[str, Node]
    selected: list[str]

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> CheckRequest:
        return cls(**given)


@frozen(kw_only=True)
class ReleaseGiven:
    """The arguments of the test ppduck_release; None of those that are not given."""

    original: str | None
    key: Names | None
    conf: Names | None
    nonconf: Names | None
    limits: Mapping[str, float | str | None] | None
    keep: Names | None
    qi: Names | None
    p: float | Mapping[str, float] | None
    matrix: Mapping[str, list[list[float]]] | None
    levels: Mapping[str, list[Any]] | None
    pseudonyms: Names | Mapping[str, str] | None
    moments: bool | None
    tolerance: float | None


@frozen(kw_only=True)
class ReleaseRequest:
    """The statement whose rows are the rules that a release fails."""

    node: Node
    given: ReleaseGiven
    masked: str
    made_of: Mapping[str, Node]
    columns: list[str] | None = None  # of the release, once it is there
    original_columns: list[str] | None = None  # which a policy is held against

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> ReleaseRequest:
        return cls(**{**given, "given": ReleaseGiven(**given["given"])})
