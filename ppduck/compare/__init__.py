"""The comparison of masks by their protection scores: ``python -m ppduck.compare FILE``."""
