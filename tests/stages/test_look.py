"""The first look: what is asked of each group, and what its check is told."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.query import tree as sql
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.look import look, specification
from ppduck.stages.masking import Masking
from ppduck.stages.plan import Totals
from ppduck.stages.terms import own_terms

Make = Callable[..., Masking]


def asked(made: Masking, *, shared_keys: bool = False) -> dict[str, Aggregate]:
    seen, _ = look(made, own_terms(made), shared_keys=shared_keys)
    assert isinstance(seen, Totals)
    return {each.name: each for each in seen.aggregates}


def test_every_group_is_checked(masking: Make) -> None:
    made = masking(strata=("g",))
    seen, checked = look(made, own_terms(made))
    assert (seen.name, seen.kept, checked.name, checked.kept) == ("_pp_seen", False, "_pp_look", True)
    written = sql.render(checked.tree)
    assert written.startswith('SELECT "_pp_by0", ppduck_check(')
    assert written.endswith(' AS "_pp_tweak", "_pp_m0", "_pp_m1" FROM "_pp_seen"')
    assert sql.render(seen.tree).endswith('FROM "_pp_source" GROUP BY "g"')


def test_keys_are_counted_where_they_could_be_shared(masking: Make) -> None:
    assert asked(masking())["_pp_distinct_keys"].merged_by == "smallest hashes"
    assert asked(masking(key=()))["_pp_distinct_keys"].merged_by == "sum"  # row numbers are unique
    assert asked(masking(), shared_keys=True)["_pp_distinct_keys"].merged_by == "sum"
    assert asked(masking(key=(), has_rowid=False))["_pp_distinct_keys"].merged_by == "smallest hashes"
    assert sql.render(asked(masking())["_pp_keyless"].whole).startswith('CAST(count_if(NOT (NOT "id" IS NULL))')
    assert sql.render(asked(masking())["_pp_distinct_keys"].whole) == 'approx_count_distinct(hash("id"))'


def test_levels_that_planning_did_not_see_are_counted(masking: Make) -> None:
    unseen = sql.render(asked(masking(nonconf=("g",)))["_pp_unseen"].whole)
    assert "NOT CAST(\"g\" AS TEXT) IN ('a', 'b')" in unseen


def test_the_specification_has_names_and_no_value(masking: Make) -> None:
    made = masking("noise_mask", nonconf=(), conf=("x", "n"), level={"x": 0.1, "n": 0.2}, round=True)
    spec = specification(made, own_terms(made))
    assert (spec.function, spec.table, spec.conf, spec.key) == ("noise_mask", "t", ["x", "n"], ["id"])
    assert spec.steps == [0.0, 1.0]
    assert spec.rounds
    assert not spec.exact
    assert spec.call.level == {"x": 0.1, "n": 0.2}
    assert type(spec).read(spec.text()).text() == spec.text()
