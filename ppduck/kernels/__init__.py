"""Pure numerics: arrays in, arrays out; no DuckDB, no SQL."""
