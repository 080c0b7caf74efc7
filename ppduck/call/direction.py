"""Which way a figure is good, in the same few words wherever a number alone does not say it."""

from __future__ import annotations

LOWER_IS_SAFER = "lower is safer"
HIGHER_IS_SAFER = "higher is safer"
LOWER_IS_BETTER = "lower is better"
# The column "direction" says one of these; sql/ppduck.sql, which needs no Python, spells them itself.
DIRECTIONS = (LOWER_IS_SAFER, HIGHER_IS_SAFER, LOWER_IS_BETTER)
