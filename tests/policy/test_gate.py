"""What the gate is asked follows from what became of every column."""

from __future__ import annotations

from typing import Any

import pytest

from ppduck.errors import PpduckError
from ppduck.policy.document import of_python, of_yaml
from ppduck.policy.gate import Layout, arguments
from ppduck.policy.reading import read
from tests.pages import ROOT

EXAMPLE = (ROOT / "examples/customers.release.yml").read_text(encoding="utf-8")
NAMES = [
    "customer_id", "full_name", "email", "phone", "birth_date", "signup_ts", "zip", "city", "gender", "segment",
    "age_band", "income", "debt", "n_orders", "churned",
]  # fmt: skip


def asked(policy: Any, names: list[str]) -> dict[str, Any]:
    return arguments("test", Layout.of(read("test", None, of_python(policy)), names))


def test_the_example() -> None:
    layout = Layout.of(read("test", None, of_yaml(EXAMPLE)), NAMES)
    assert layout.released == [name for name in NAMES if name not in ("full_name", "age_band")]
    assert arguments("test", layout) == {
        "conf": ["gender", "segment", "income", "debt", "n_orders"],
        "key": ["customer_id"],
        "keep": ["birth_date", "signup_ts", "zip", "city", "churned"],
        "limits": {"left_out": 0.05, "linkage": 0.05, "k": 5},
        "nonconf": ["segment", "age_band"],
        "pseudonyms": {"released_customer_id": "customer_id", "email": "email", "phone": "phone"},
        "qi": ["zip", "city", "churned"],
        "p": {"gender": 0.9, "segment": 0.8},
    }


def test_limits_and_quasi_identifiers_that_are_named_count() -> None:
    policy = {"key": "id", "columns": {"id": "drop", "a": "keep", "B": "keep", "x": {"mask": "egadp"}}}
    found = asked(policy | {"limits": {"left_out": 0}, "qi": "b"}, ["id", "a", "B", "x"])
    assert found["limits"] == {"left_out": 0}
    assert found["qi"] == ["B"]
    assert "nonconf" not in found
    assert "qi" not in asked(policy | {"qi": []}, ["id", "a", "B", "x"])


def test_without_masked_columns_what_is_dropped_must_not_be_told() -> None:
    found = asked({"key": "id", "columns": {"id": "keep", "salary": "drop", "band": "keep"}}, ["id", "salary", "band"])
    assert found["conf"] == ["salary"]
    assert found["keep"] == ["band"]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"columns": {"a": "keep", "b": "drop"}}, "the gate matches rows by key"),
        ({"key": "a", "columns": {"a": "keep", "b": "keep"}}, "so that there is nothing to judge"),
        ({"key": "a", "columns": {"a": {"randomize": 0.8}, "b": "drop"}}, 'key column "a" is masked'),
    ],
)
def test_what_cannot_be_judged(policy: Any, said: str) -> None:
    with pytest.raises(PpduckError, match=said):
        asked(policy, ["a", "b"])
