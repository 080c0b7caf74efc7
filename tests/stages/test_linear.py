"""The plan of a linear mask."""

from __future__ import annotations

from collections.abc import Callable

from ppduck.stages.linear import linear_plan
from ppduck.stages.masking import Masking

Make = Callable[..., Masking]


def names(made: Masking, keep_noise: bool = True) -> list[str]:
    plan = linear_plan(made, keep_noise=keep_noise)
    return [f"{each.name}{'*' if each.kept else ''}" for each in (*plan.stages, plan.answer)]


def test_stages_in_their_order(masking: Make) -> None:
    assert names(masking()) == [
        "_pp_source", "_pp_seen", "_pp_look*", "_pp_noisy*", "_pp_moments*", "_pp_weights*", "_pp_axes*",
        "_pp_farthest*", "_pp_solved*", "_pp_form*", "_pp_answer",
    ]  # fmt: skip


def test_noise_is_kept_where_two_passes_read_it_and_it_is_small(masking: Make) -> None:
    assert "_pp_noisy" in names(masking(), keep_noise=False)
    assert "_pp_noisy" in names(masking("noise_mask", nonconf=(), level=0.1))
    assert "_pp_source*" in names(masking(has_rowid=False))
