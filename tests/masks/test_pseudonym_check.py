"""What is counted before pseudonyms are made: only where something can be wrong, and told without a value."""

from __future__ import annotations

import pytest

from ppduck.call.spec import Spec
from ppduck.catalogue.source import Column
from ppduck.errors import PpduckError
from ppduck.masks._pseudonym_check import Finding, PseudonymSpec, Seen, check, look
from ppduck.masks._pseudonym_forms import Asked
from ppduck.stages.plan import Groups, Totals

pytestmark = pytest.mark.core
FINDINGS = [Finding("x", "has fewer than 6 digits", "make them NULL"), Finding("{y}", "holds NaN", "leave them out")]
SPEC = PseudonymSpec("pseudonym_mask", "t", FINDINGS, ["n", "m"])


def asked(form: str, type_: str, *, reverse: bool = False) -> Asked:
    return Asked(Column("x", type_), form, {}, "crm", reverse)


def test_what_is_right_passes() -> None:
    assert check(SPEC, Seen(10, [0, 0], [3, 4], [3, 4])) == 0


def test_every_fault_is_told_with_its_count() -> None:
    with pytest.raises(PpduckError, match=r'^pseudonym_mask on "t": ') as refused:
        check(SPEC, Seen(10, [2, 1], [3, 4], [3, 2]))
    assert str(refused.value).split("\n  also: ") == [
        'pseudonym_mask on "t": column "x" has fewer than 6 digits in 2 of 10 rows; make them NULL.',
        'column "{y}" holds NaN in 1 of 10 rows; leave them out.',
        'column "m" has 4 values, and only 2 numbers stand for them: what is no whole number goes by 63 bits of its '
        "digest, which some share. Name the form 'token'.",
    ]


def test_a_specification_comes_back_from_its_text() -> None:
    assert type(SPEC).read(SPEC.text()) == SPEC
    assert isinstance(SPEC, Spec)


@pytest.mark.parametrize(
    ("form", "type_", "reverse", "looks"),
    [
        ("token", "VARCHAR", False, False), ("token", "BIGINT", False, False), ("email", "VARCHAR", False, False),
        ("token", "DOUBLE", False, True), ("hash", "", False, True), ("integer", "BIGINT", False, False),
        ("integer", "DECIMAL(18,0)", False, False), ("integer", "DECIMAL(19,0)", False, True),
        ("integer", "DECIMAL(9,2)", False, True), ("integer", "VARCHAR", False, True), ("integer", "UBIGINT", False, True),
        ("integer", "BIGINT", True, False), ("integer", "VARCHAR", True, True), ("digits", "BIGINT", False, True),
        ("digits", "VARCHAR", True, True),
    ],
)  # fmt: skip
def test_rows_are_looked_at_where_something_can_be_wrong(form: str, type_: str, reverse: bool, looks: bool) -> None:
    found = look("pseudonym_mask", "t", [asked(form, type_, reverse=reverse)])
    assert [type(stage) for stage in found] == ([Totals, Groups] if looks else [])
