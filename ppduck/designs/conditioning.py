"""Whether what is published still tells of the original: singular designs are refused, nearly singular ones warn."""

from __future__ import annotations

import warnings

from ppduck.errors import Faults, PpduckWarning, quoted
from ppduck.kernels.distortion import SINGULAR, condition
from ppduck.values import Array

WARN_ABOVE = 100.0


def is_invertible(name: str, matrix: Array, p: float | None, faults: Faults) -> bool:
    """Whether a column's matrix can be inverted; else a fault, and a warning where it hardly can."""
    kappa = condition(matrix)
    if kappa > SINGULAR:
        reason = f"p = 1/{len(matrix)} makes" if p is not None else "its matrix makes"
        faults.add(
            f"column {quoted(name)} cannot be reconstructed: {reason} what is published independent of the original "
            "(its matrix is singular)."
        )
        return False
    if kappa > WARN_ABOVE:
        warn(
            faults,
            f"the matrix of column {quoted(name)} is nearly singular (condition number {kappa:.0f}); standard errors "
            "will be large.",
        )
    return True


def warn(faults: Faults, text: str) -> None:
    warnings.warn(f"{faults.where}: {text}", PpduckWarning, stacklevel=3)
