"""Averaging: what two masked values of the same rows tell together, given what is open."""

from __future__ import annotations

from typing import Any

from ppduck.kernels import repeated_values as repeated
from ppduck.kernels.prediction import explained
from ppduck.measures._number_sums import NumbersSpec, NumbersTold
from ppduck.measures._told_together import NO_RANGE, nothing, plural, row
from ppduck.values import Moments

ATTACK = "averaging"
FEWEST_ROWS = 10  # beside the columns of the regression


def attack(
    spec: NumbersSpec, told: NumbersTold, moments: Moments, j: int, open_: list[int]
) -> dict[str, Any]:
    """The row of one column, of the rows that both releases have."""
    name, n = spec.columns[j], moments.n
    common = int(told.common[j])
    if common and told.same[j] == common:
        says = f"{plural(common, 'row')} have the same value in both releases; nothing is gained"
        return nothing(ATTACK, name, common, says)
    if n < len(open_) + FEWEST_ROWS:
        says = f"{plural(n, 'common row')} without NULL are too few to measure by"
        return row(ATTACK, name, None, NO_RANGE, n, says)
    p, q = len(spec.features), len(spec.columns)
    first, second = p + j, p + q + j
    if not spec.has_original:
        return _guessed(name, moments, first, second, open_)
    original = p + 2 * q + j

    def r2(*by: int) -> float:
        return float(explained(moments, [original], [*open_, *by])[0])

    success, baseline = r2(first, second), max(r2(first), r2(second))
    ends = repeated.gain_range(success, baseline, n)
    says = (
        f"R² of the original by nonconf and both releases, {success:.3f}, beside {baseline:.3f} by the better one"
        + (f" and {r2():.3f} by nonconf alone" if open_ else "")
    )
    return row(ATTACK, name, (success, baseline), ends, n, says)


def _guessed(
    name: str, moments: Moments, first: int, second: int, open_: list[int]
) -> dict[str, Any]:
    """Without the original: what both have in common once nonconf is known is the value itself."""
    n = moments.n
    rho = repeated.residual_correlation(moments, first, second, open_)
    if rho <= repeated.by_chance(n, len(open_)):
        says = "given nonconf the releases have no more in common than chance gives: no value shows through both"
        return row(ATTACK, name, (0.0, 0.0), repeated.mean_gain_range(max(rho, 0.0), n), n, says)
    says = (
        f"given nonconf the releases correlate by {rho:.3f}: a value shows through both, or noise that both share. If "
        "their noise is drawn apart, that is the share of what nonconf leaves open that one release tells, and "
        f"{repeated.of_mean(rho):.3f} what their mean tells"
    )
    ends = repeated.mean_gain_range(rho, n)
    return row(ATTACK, name, (repeated.of_mean(rho), rho), ends, n, says)
