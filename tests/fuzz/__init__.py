"""A fuzzer of every registered function: ``python -m tests.fuzz --calls N --seed S``.

Each call is made on random tables with random arguments and classed by how it ends. An answer, an error of ppduck's
and an error of DuckDB's are what a user may meet; a raw Python error, a hang, a crash and values that stay what they
were, beyond chance and without a word, are faults. Call i of a seed is always the same statement.
"""
