"""The schema takes what policies may say and refuses what they may not, as far as a schema can tell."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from ppduck.policy.document import of_yaml
from ppduck.policy.schema import schema
from tests.pages import ROOT

VALIDATOR = jsonschema.Draft202012Validator(schema())
EXAMPLE = (ROOT / "examples/customers.release.yml").read_text(encoding="utf-8")


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_example_is_valid() -> None:
    VALIDATOR.validate(of_yaml(EXAMPLE).plain)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {}},
        {"columns": {"a": "kep"}},
        {"columns": {"a": {"randomise": 0.8}}},
        {"columns": {"a": {"randomize": 1.5}}},
        {"columns": {"a": {"mask": "egadp", "per": "id"}}},
        {"masks": {"egadp": {"nonkonf": ["a"]}}},
        {"masks": {"egadp": {"seed": 1}}},
        {"colum": {}},
        {"smallest_batch": 0},
    ],
)
def test_what_is_wrong_is_seen_while_typing(change: dict[str, Any]) -> None:
    policy = of_yaml(EXAMPLE).plain | change
    with pytest.raises(jsonschema.ValidationError, match=r"."):
        VALIDATOR.validate(policy)
