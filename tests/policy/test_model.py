"""A policy as a value: which columns are treated how, which are only read, and one text for what says the same."""

from __future__ import annotations

import json

import pytest

from ppduck.policy.model import ROLES, Policy, Step, Treatment


def policy(**given: object) -> Policy:
    of = {
        "source": "t",
        "key": ("Id",),
        "columns": {"Id": Treatment.DROP, "x": Treatment.MASK, "g": Treatment.KEEP},
        "steps": (Step("egadp_mask", {"conf": ["x"], "key": ["Id"], "nonconf": ["S", "g"]}, ("x",), Treatment.MASK),),
        "limits": {},
        "qi": None,
        "batch": None,
        "smallest_batch": None,
        "said": {},
        "places": {},
        "named": {"Id": "key", "S": "nonconf of masks.egadp", "g": "nonconf of masks.egadp"},
    }
    return Policy(**(of | given))  # type: ignore[arg-type]


def test_every_treatment_has_a_role() -> None:
    assert set(ROLES) == set(Treatment)
    assert len(set(ROLES.values())) == len(ROLES)


def test_columns_that_only_masks_name_are_read_and_not_released() -> None:
    assert policy().used == ["S"]
    assert policy().treated(Treatment.KEEP, Treatment.DROP) == ["Id", "g"]


def test_the_canonical_text_knows_names_as_duckdb_does() -> None:
    text = json.loads(policy().canonical())
    assert text["key"] == ["id"]
    assert text["steps"][0]["arguments"] == {"conf": ["x"], "key": ["id"], "nonconf": ["g", "s"]}
    step = Step("egadp_mask", {"conf": ["X"], "key": ["id"], "nonconf": ["g", "s"]}, ("x",), Treatment.MASK)
    assert policy(steps=(step,), key=("ID",)).digest == policy().digest


@pytest.mark.parametrize(
    "change", [{"limits": {"k": 4}}, {"qi": ("g",)}, {"batch": "d"}, {"key": ("g",)}, {"source": "u"}]
)
def test_whatever_changes_the_release_changes_the_digest(change: dict[str, object]) -> None:
    assert policy(**change).digest != policy().digest
    assert len(policy().digest) == 32
