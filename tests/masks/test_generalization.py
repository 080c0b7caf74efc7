"""The stages of a generalisation, without a connection."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.masks._cell_groups import MOST_CELLS, GeneralizeSpec
from ppduck.masks._generalization import Generalization
from ppduck.query import tree as sql
from ppduck.stages.plan import Plan

pytestmark = pytest.mark.core
COLUMNS = (Column("age", "INTEGER"), Column("born", "DATE"), Column("sex", "VARCHAR"), Column("disease", "VARCHAR"))


def planned(qi: tuple[int, ...] = (0,), sensitive: tuple[int, ...] = (), **parts: Any) -> Plan:
    own, others = [COLUMNS[i] for i in qi], [COLUMNS[i] for i in sensitive]
    names, types = [c.name for c in own], [c.type for c in own]
    spec = GeneralizeSpec("generalize_mask", "t", names, types, [c.name for c in others], 5, None, "frequency")
    told: dict[str, Any] = {"drop": (), "group_id": False} | parts
    return Generalization(spec, Source("t", '"t"', COLUMNS), own, others, **told).plan()


def written(plan: Plan, stage: str) -> str:
    return sql.render(plan.stage(stage).tree)


def test_the_stages() -> None:
    assert [line.partition(":")[0] for line in str(planned()).splitlines()] == [
        "_pp_source", "_pp_counted", "_pp_cells", "_pp_asked", "_pp_grouped", "_pp_levels", "_pp_boxes", "_pp_released",
        "_pp_answer",
    ]  # fmt: skip


def test_cells_have_the_sensitive_value_where_it_counts() -> None:
    assert written(planned(), "_pp_counted").endswith("GROUP BY 1")
    assert '"disease" AS "_pp_s"' in written(planned(sensitive=(3,)), "_pp_counted")
    assert '"disease" = "_pp_grouped"."_pp_s"' in written(planned(sensitive=(3,)), "_pp_released").replace(
        '"_pp_source".', ""
    )


@pytest.mark.parametrize(("qi", "place"), [(0, 'TRY_CAST("_pp_q0" AS DOUBLE)'), (1, 'epoch("_pp_q0")'), (2, "NULL")])
def test_a_value_has_the_place_that_its_type_gives(qi: int, place: str) -> None:
    assert f'list_value("_pp_code0", {place}, 1, "_pp_n")' in written(planned((qi,)), "_pp_asked")


def test_one_cell_too_many_is_shown_to_be_refused() -> None:
    assert f'"_pp_cell" <= {MOST_CELLS + 1}' in written(planned(), "_pp_asked")


def test_the_order_of_rows_is_made_of_what_is_released() -> None:
    plan = planned(drop=("born",), group_id=True)
    assert sql.render(plan.answer.tree).endswith('ORDER BY hash("_pp_released") ASC NULLS LAST')
    released = written(plan, "_pp_released")
    assert 'EXCLUDE ("born")' in released
    assert released.split(" FROM ")[0].endswith('"_pp_group" AS "group_id"')
