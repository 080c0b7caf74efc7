"""What functions ask of a relation before a release."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.call.registry import function_named
from ppduck.query import tree as sql
from ppduck.runtime.check import CHECK
from ppduck.stages.masking import Masking
from ppduck.stages.relation_plan import RelationPlan

Make = Callable[..., Masking]


def test_stages_up_to_a_sample_a_model_and_moments(masking: Make) -> None:
    found = RelationPlan(masking("nm_egadp_mask"), 100)
    assert [each.name for each in found.sampling()] == ["_pp_source", "_pp_seen", "_pp_look", "_pp_training"]
    assert [each.name for each in found.training()][-1] == "_pp_models"
    assert [each.name for each in found.measuring()][-2:] == ["_pp_narrow", "_pp_moments"]


def test_rows_may_share_a_key(masking: Make) -> None:
    seen = RelationPlan(masking("nm_egadp_mask"), 100).sampling()[1]
    assert "approx_count_distinct" not in sql.render(seen.tree)
    assert CHECK in function_named("relationships").udfs
