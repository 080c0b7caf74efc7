"""The forms of pseudonyms: which types each takes, what its keys go by, and what is wrong with a call."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ppduck.catalogue.source import Column
from ppduck.errors import Faults, PpduckError
from ppduck.masks import _pseudonym_forms as forms
from ppduck.masks._pseudonym_forms import FORMS, Asked

pytestmark = pytest.mark.core
TYPES = [
    "BIGINT", "UTINYINT", "HUGEINT", "DECIMAL(9,0)", "DECIMAL(9,2)", "DOUBLE", "VARCHAR", "ENUM('a', 'b)')", "DATE",
    "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIME", "UUID", "BLOB", "BOOLEAN", '"NULL"',
]  # fmt: skip
NESTED = [
    "INTEGER[]", "VARCHAR[3]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(a INTEGER)", "ENUM('a')[]", "JSON",
    "VARIANT", "STRUCT(a ENUM('x'))", "DECIMAL(9,0)[]",
]  # fmt: skip
TAKES = {
    "email": ["VARCHAR", "ENUM('a', 'b)')"],
    "digits": ["BIGINT", "UTINYINT", "HUGEINT", "DECIMAL(9,0)", "VARCHAR", "ENUM('a', 'b)')"],
}


def read(given: dict[str, Any], type_: str = "VARCHAR", *, reverse: bool = False) -> Asked:
    faults = Faults("pseudonym_mask", "t")
    found = forms.asked(faults, Column("x", type_), given, domain="crm", reverse=reverse)
    faults.raise_if_any()
    assert found is not None
    return found


@pytest.mark.parametrize("form", FORMS)
def test_the_types_of_each_form(form: str) -> None:
    def fit(type_: str) -> bool:
        try:
            return bool(read({"as": form}, type_))
        except PpduckError:
            return False

    assert [type_ for type_ in TYPES if fit(type_)] == TAKES.get(form, TYPES)
    assert [type_ for type_ in NESTED if fit(type_)] == []


def test_what_keys_go_by() -> None:
    plain = read({"as": "hash"}).context
    salted = read({"as": "hash", "salt": "s"}).context
    assert (plain, salted) == ('["hash", "crm"]', '["hash", "crm", "s"]')
    every = {read({"as": form}).context for form in FORMS}
    assert len(every | {salted}) == len(FORMS) + 1, "no form tells of another"
    kept = read({"as": "email", "domain": "keep"})
    assert kept.context == read({"as": "email"}).context, "the token is the same, whatever stands behind it"


def test_a_text_cannot_imitate_a_context() -> None:
    domain, salt = 'crm", "s', "s"
    one = Asked(Column("x", ""), "hash", {}, domain, False)
    other = Asked(Column("x", ""), "hash", {"salt": salt}, "crm", False)
    assert one.context != other.context


def test_reverse_is_for_what_leads_back() -> None:
    assert read({"as": "integer"}, "BIGINT", reverse=True).reverse
    with pytest.raises(PpduckError, match=r"'token' for column \"x\", and reverse is for 'integer' and 'digits' only"):
        read({"as": "token"}, reverse=True)
    with pytest.raises(PpduckError, match="of type DATE, and it is for whole numbers, as numbers or texts"):
        read({"as": "integer"}, "DATE", reverse=True)


def test_faults_are_gathered() -> None:
    with pytest.raises(PpduckError, match=r"the option 'a', which it has not") as refused:
        read({"as": "email", "a": 1, "domain": "x"}, "DATE")
    assert len(str(refused.value).split("also:")) == 3


@pytest.mark.parametrize("type_", ["VARCHAR", "ENUM('a')", ""])
def test_digits_are_a_text_where_the_column_is_one(type_: str) -> None:
    assert read({"as": "digits"}, type_).is_text
    assert not read({"as": "digits"}, "BIGINT").is_text


def test_the_types_that_an_unseen_column_may_have() -> None:
    assert re.fullmatch(read({"as": "token"}, "").fits, "DATE")
    assert not re.fullmatch(read({"as": "digits"}, "").fits, "BIGINT")
    assert not re.fullmatch(read({"as": "integer"}, "", reverse=True).fits, "DATE")
