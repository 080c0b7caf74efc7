"""Calls of masks with their columns found, without a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ppduck.call.numeric_mask import NumericMask
from ppduck.call.registry import function_named
from ppduck.call.roles import Roles, features_of
from ppduck.catalogue.source import Column, Source
from ppduck.stages.masking import Masking

COLUMNS = (
    Column("id", "BIGINT"), Column("s", "DOUBLE"), Column("g", "VARCHAR"), Column("flag", "BOOLEAN"),
    Column("x", "DOUBLE"), Column("n", "INTEGER"),
)  # fmt: skip


@pytest.fixture
def masking() -> Callable[..., Masking]:
    """A call over a table ``t`` with a row number, columns id, s, g (of levels a, b), flag, x and n."""

    def made(
        mask: str = "egadp_mask",
        conf: Sequence[str] = ("x",),
        nonconf: Sequence[str] = ("s",),
        strata: Sequence[str] = (),
        key: Sequence[str] = ("id",),
        has_rowid: bool = True,
        **arguments: Any,
    ) -> Masking:
        source = Source("t", '"t"', COLUMNS, has_rowid=has_rowid, repeatable=has_rowid)
        levels = {"g": ["a", "b"]} if "g" in nonconf else {}
        features = [each for name in nonconf for each in features_of(source.column(name), levels)]
        roles = Roles(
            source=source,
            conf=tuple(source.column(name) for name in conf),
            features=tuple(features),
            levels=levels,
            strata=tuple(strata),
            key=tuple(key),
            drop=(),
        )
        function = function_named(mask)
        assert isinstance(function, NumericMask)
        takes: Any = function.takes
        call = takes(tbl="t", conf=list(conf), strata=list(strata), key=list(key), **arguments)
        return Masking(function, roles, call)

    return made
