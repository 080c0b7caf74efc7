"""Attacks on a release, as an intruder would try them."""
