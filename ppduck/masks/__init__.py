"""The masks: one file a method, holding its parameters, its solve, its promises and its reference."""

from ppduck.masks import cgadp, egadp, gadp, ipso, kim, nm_egadp, noise, shuffle, sufficiency

__all__ = ["cgadp", "egadp", "gadp", "ipso", "kim", "nm_egadp", "noise", "shuffle", "sufficiency"]
