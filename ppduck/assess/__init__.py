"""What was done, and whether it held: the catalogue, the explanation of a call, the certificate."""

from ppduck.assess import catalogue, explain, moments_check
from ppduck.assess.moments_check import COMPARE, COMPARE_TYPES, compare

__all__ = ["COMPARE", "COMPARE_TYPES", "catalogue", "compare", "explain", "moments_check"]
