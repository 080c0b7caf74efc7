"""The masks: one file a method, holding its parameters, its solve, its promises and its reference."""

from ppduck.masks import egadp, gadp, ipso, kim, noise, sufficiency

__all__ = ["egadp", "gadp", "ipso", "kim", "noise", "sufficiency"]
