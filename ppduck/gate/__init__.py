"""The gate: one verdict on a release, in SQL and in Python."""
