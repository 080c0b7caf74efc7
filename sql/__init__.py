"""Plain SQL macros; a package, installed as ppduck.sql, so that ppduck finds them wherever it lies."""
