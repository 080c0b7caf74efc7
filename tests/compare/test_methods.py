"""The methods that are compared, by the names of the literature."""

from __future__ import annotations

import pytest

from ppduck.compare.methods import METHODS, PUBLISHED, chosen
from ppduck.errors import PpduckError


def test_families_names_and_other_parameters() -> None:
    assert len(chosen(["onn", "rs", "mic"])) == len(METHODS) == 24
    assert [method.name for method in chosen(["RS-14", "rs"])] == ["RS-14", "RS-12", "RS-13", "RS-15", "RS-17"]
    [swap, group] = chosen(["RS-2.5", "MIC2m7"])
    assert (swap.mask, swap.parameters, swap.by_chance) == ("rank_swap_mask", "reach := 2.5", True)
    assert (group.mask, group.parameters, group.by_chance) == ("microaggregate_mask", "k := 7, variables := 2", False)


def test_every_printed_method_is_there_and_scores_are_what_they_are_made_of() -> None:
    for known, figures in PUBLISHED.items():
        assert len(figures) == 20, known
        for name, (loss, risk, score) in figures.items():
            assert name in METHODS
            # As printed ONN-b is off by 0.095.
            assert score == pytest.approx((loss + risk) / 2, abs=0.0101 if name != "ONN-b" else 0.1)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(PpduckError, match=r"there is no method 'ONN-Z'. Did you mean \"ONN-"):
        chosen(["ONN-Z"])
