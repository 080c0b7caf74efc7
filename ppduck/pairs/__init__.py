"""A table and its release side by side: which columns are compared, which rows match, their moments."""
