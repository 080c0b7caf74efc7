"""Policies: what becomes of every column of a table, declared once and applied in one statement."""
