"""The statement of a randomizing mask, and the first look at its rows, without a connection."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.catalogue.tables import Column, Source
from ppduck.designs.design import Attribute
from ppduck.designs.mechanism import Look, LookSpec, Mechanism, Randomization, check
from ppduck.errors import PpduckError
from ppduck.masks.pram import PramMaskCall
from ppduck.masks.rr import RrMaskCall
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
COLUMNS = (Column("id", "BIGINT"), Column("x", "VARCHAR"), Column("y", "VARCHAR"))
SOURCE = Source("t", '"t"', COLUMNS, has_rowid=True)


def randomization(call: Any, *attributes: Attribute, **parts: Any) -> Randomization:
    own = {"counts": {}, "key": (), "drop": (), "one_key_in": 1} | parts
    designs = tuple(attribute.canonical() for attribute in attributes)
    return Randomization("rr_mask", call, SOURCE, "main.t", designs, designs, **own)


def attribute(name: str = "x", p: float = 0.9) -> Attribute:
    return Attribute(name, "VARCHAR", ("a", "b"), p)


def tweak(call: Any, *attributes: Attribute, **parts: Any) -> int:
    mechanism = Mechanism(randomization(call, *attributes, **parts))
    return mechanism._tweak(mechanism.randomized[0])


def test_without_key_there_is_nothing_to_look_at_first() -> None:
    written = sql.render(Mechanism(randomization(RrMaskCall(tbl="t"), attribute())).statement())
    assert "_pp_first_look" not in written
    assert '"rowid" AS "_pp_key"' in written
    assert 'EXCLUDE ("_pp_key", "_pp_place0", "_pp_draws0") REPLACE (' in written


def test_a_key_is_looked_at_before_it_draws() -> None:
    masking = randomization(RrMaskCall(tbl="t"), attribute(), key=(COLUMNS[0],), drop=("y",))
    written = sql.render(Mechanism(masking).statement())
    assert '"_pp_first_look" AS MATERIALIZED (' in written
    assert '"_pp_key" + "_pp_checked"' in written
    assert '"_pp_key_hash", "_pp_place0", "_pp_draws0", "y")' in written


def test_two_columns_share_a_word_and_three_need_two() -> None:
    names = ["x", "y", "id"]
    for size, words in ((1, 1), (2, 1), (3, 2)):
        own = [attribute(name) for name in names[:size]]
        assert len(Mechanism(randomization(RrMaskCall(tbl="t"), *own)).draws) == words


def test_a_column_that_is_kept_draws_nothing() -> None:
    mechanism = Mechanism(randomization(RrMaskCall(tbl="t"), attribute(p=1.0), attribute("y")))
    assert [each.name for each in mechanism.randomized] == ["y"]


def test_one_design_has_one_draw_and_two_designs_have_two() -> None:
    plain = tweak(RrMaskCall(tbl="t"), attribute())
    assert plain == tweak(PramMaskCall(tbl="t"), attribute(), attribute("y"))  # beside whatever other columns
    others = {
        tweak(RrMaskCall(tbl="t"), attribute(p=0.8)),
        tweak(RrMaskCall(tbl="t", seed=1), attribute()),
        tweak(PramMaskCall(tbl="t", invariant=True), attribute()),
        tweak(RrMaskCall(tbl="t"), attribute("y")),
        tweak(RrMaskCall(tbl="t"), attribute(), key=(COLUMNS[0],)),
    }
    assert len(others | {plain}) == 6
    assert plain < 2**62


SPEC = LookSpec("rr_mask", "t", ("id",), (3, 4))


def test_a_look_that_finds_what_was_planned() -> None:
    assert check(SPEC, Look(7, 0, 7, 7, [3, 4])) == 0


@pytest.mark.parametrize(
    ("look", "fault"),
    [
        (Look(7, 2, 7, 7, [3, 4]), r'^rr_mask on "t": key "id" is NULL in 2 of 7 rows'),
        (Look(7, 0, 7, 5, [3, 4]), 'key "id" has only 5 values for 7 rows looked at'),
        (Look(7, 0, 7, 7, [4, 3]), "the shares of the levels are not those that the matrix was made invariant for"),
    ],
)
def test_a_look_that_finds_something_else(look: Look, fault: str) -> None:
    with pytest.raises(PpduckError, match=fault):
        check(SPEC, look)
