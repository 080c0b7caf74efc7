"""The plan of a randomizing mask, without a connection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.designs.design import Attribute
from ppduck.designs.mechanism import Mechanism
from ppduck.designs.randomization import Randomization
from ppduck.masks.pram import PramMaskCall
from ppduck.masks.rr import RrMaskCall
from ppduck.query import tree as sql

pytestmark = pytest.mark.core
COLUMNS = (Column("id", "BIGINT"), Column("x", "VARCHAR"), Column("y", "VARCHAR"))
SOURCE = Source("t", '"t"', COLUMNS, has_rowid=True)


def randomization(call: Any, *attributes: Attribute, **parts: Any) -> Randomization:
    own: dict[str, Any] = {"counts": {}, "key": (), "drop": (), "one_key_in": 1} | parts
    designs = tuple(attribute.canonical() for attribute in attributes)
    own |= {"table": "main.t", "draw_designs": designs, "attributes": designs}
    return Randomization(function="rr_mask", call=call, source=SOURCE, **own)


def attribute(name: str = "x", p: float = 0.9) -> Attribute:
    return Attribute(name, "VARCHAR", ("a", "b"), p)


def tweak(call: Any, *attributes: Attribute, **parts: Any) -> int:
    mechanism = Mechanism(randomization(call, *attributes, **parts))
    return mechanism._tweak(mechanism.randomized[0])


def test_without_key_there_is_nothing_to_look_at_first() -> None:
    plan = Mechanism(randomization(RrMaskCall(tbl="t"), attribute())).plan()
    written = sql.render(plan.query())
    assert str(plan).splitlines() == ["_pp_source: rows", "_pp_drawn: rows", "_pp_answer: rows"]
    assert '"rowid" AS "_pp_key"' in written
    assert 'EXCLUDE ("_pp_key", "_pp_place0", "_pp_draws0") REPLACE (' in written


def test_a_key_is_looked_at_before_it_draws() -> None:
    masking = randomization(RrMaskCall(tbl="t"), attribute(), key=(COLUMNS[0],), drop=("y",))
    plan = Mechanism(masking).plan()
    written = sql.render(plan.query())
    assert "_pp_look: groups, kept" in str(plan)
    assert "_pp_distinct_keys: distinct keys" in str(plan)
    assert '"_pp_key" + "_pp_checked"' in written
    assert 'EXCLUDE ("_pp_key", "_pp_place0", "_pp_draws0", "y")' in written


def test_of_a_large_table_some_keys_are_looked_at_with_all_of_their_rows() -> None:
    masking = randomization(RrMaskCall(tbl="t"), attribute(), key=(COLUMNS[0],), one_key_in=5)
    written = sql.render(Mechanism(masking).plan().query())
    assert 'hash("id") % 5 = 0 OR hash("rowid") % 5 = 0 AS "_pp_looked_at"' in written
    assert 'count(DISTINCT CASE WHEN "_pp_looked_at" THEN hash("id") END)' in written


def test_shares_are_counted_where_a_matrix_was_made_for_them() -> None:
    masking = randomization(PramMaskCall(tbl="t", invariant=True), attribute(), counts={"x": [3, 4]})
    seen = sql.render(Mechanism(masking).plan().stage("_pp_seen").tree)
    assert 'list_value(count_if("_pp_place0" = 0), count_if("_pp_place0" = 1)) AS BIGINT[]) AS "_pp_counts"' in seen


def test_equal_rows_without_key_or_number_are_numbered() -> None:
    masking = replace(randomization(RrMaskCall(tbl="t"), attribute()), source=Source("t", '"t"', COLUMNS))
    assert str(Mechanism(masking).plan()).startswith("_pp_source: sorted")


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
