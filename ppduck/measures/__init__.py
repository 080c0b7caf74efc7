"""Measures of a release beside its original: what it gives away, and what it keeps; and of a table before."""
