"""ppduck where: where ppduck.sql lies, the examples, or the schema of verdicts, for programs that are not ppduck's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

PLACES = {
    "sql": ("ppduck.sql", "ppduck.sql"),
    "examples": ("ppduck.examples", ""),
    "verdict": ("ppduck.gate", "verdict.schema.json"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Prints one path; the exit code is 2 for a place that there is not."""
    parser = argparse.ArgumentParser(
        prog="ppduck where",
        description="Prints where the plain SQL macros are (to .read in any DuckDB shell), the examples, or the "
        "JSON Schema of the gate's verdicts.",
    )
    parser.add_argument(
        "place", nargs="?", choices=list(PLACES), default="sql", help="default: sql"
    )
    print(path(parser.parse_args(argv).place))
    return 0


def path(place: str) -> Path:
    """A file, or the folder of the examples, as installed."""
    package, name = PLACES[place]
    return Path(str(resources.files(package).joinpath(name)))
