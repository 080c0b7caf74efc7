"""Calls about a table of counts, of which some columns may be randomized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ppduck.call.parameters import Call, parameters
from ppduck.designs import design
from ppduck.designs.design import DesignWords, Matrix, Probability
from ppduck.estimators import cells, count_table

# How columns were randomized, behind what a function asks of them.
P: Any = replace(design.P, last=True)
MATRIX: Any = replace(design.MATRIX, last=True)
LEVELS: Any = replace(design.LEVELS, last=True)
ON_NULL: Any = replace(cells.ON_NULL, last=True)


class TellsDesign:
    """What a call with these parameters says of a design."""

    p: Probability | None
    matrix: Mapping[str, Matrix] | None
    levels: Mapping[str, list[Any]] | None
    on_null: str

    @property
    def null_is_level(self) -> bool:
        return self.on_null == "level"

    @property
    def words(self) -> DesignWords:
        return DesignWords(self.p, self.matrix, self.levels, self.null_is_level)


@parameters
class TableCall(TellsDesign, Call):
    tbl: str = count_table.TBL
    p: Probability | None = P
    matrix: Mapping[str, Matrix] | None = MATRIX
    levels: Mapping[str, list[Any]] | None = LEVELS
    on_null: str = ON_NULL
