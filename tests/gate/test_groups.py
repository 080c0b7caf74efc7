"""Which columns a release hides in groups, and which rules then ask about them."""

from __future__ import annotations

import pytest

from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.gate._groups import RULES, hidden_in
from ppduck.pairs.columns import Compared, ConfCall
from tests.pairs.catalogue import NoReader

pytestmark = pytest.mark.core
ORIGINAL = (Column("id", "BIGINT"), Column("age", "BIGINT"), Column("sex", "VARCHAR"), Column("disease", "VARCHAR"))


class Groups(Catalog):
    """A table, its ranges, and its groups."""

    def source(self, function: str, given: str) -> Source:
        ranges = (Column("id", "BIGINT"), Column("AGE", "VARCHAR"), Column("sex", "VARCHAR"))
        groups = (Column("id", "BIGINT"), Column("age", "BIGINT"), Column("group_id", "BIGINT"))
        columns = {"t": ORIGINAL, "ranges": ranges, "groups": groups}[given]
        return Source(given, f'"{given}"', columns)


def found(release: str, conf: list[str]) -> tuple[list[str], list[str]]:
    call = ConfCall(original="t", release=release, conf=conf, key=["id"])
    hidden = hidden_in(Compared("f", Groups(NoReader()), call), conf)
    return hidden.names, hidden.rules


def test_numbers_that_became_text_are_generalised() -> None:
    assert found("ranges", ["age", "sex"]) == (["AGE"], ["group_risk", "ungeneralised"])


def test_what_a_release_with_groups_lacks_is_anatomized() -> None:
    assert found("groups", ["disease", "age"]) == (["disease"], ["attribute_risk"])


def test_what_it_lacks_without_groups_is_not_hidden() -> None:
    assert found("ranges", ["disease"]) == ([], [])


def test_every_rule_allows_a_share_and_says_which_way_is_safer() -> None:
    for rule in RULES.values():
        assert 0 < rule.limit < 1
        assert rule.meaning.endswith("; lower is safer")
