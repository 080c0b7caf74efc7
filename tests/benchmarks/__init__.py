"""How long masking takes, measured against a plain copy of the same table: ``python -m tests.benchmarks``."""
