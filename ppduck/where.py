"""ppduck where: the folder in which ppduck.sql lies, or the examples, for shells that are not ppduck's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

PLACES = {"sql": "ppduck.sql", "examples": ""}


def main(argv: Sequence[str] | None = None) -> int:
    """Prints one path; the exit code is 2 for a place that there is not."""
    parser = argparse.ArgumentParser(
        prog="ppduck where",
        description="Prints where the plain SQL macros are (to .read in any DuckDB shell), or the examples.",
    )
    parser.add_argument(
        "place", nargs="?", choices=list(PLACES), default="sql", help="default: sql"
    )
    print(path(parser.parse_args(argv).place))
    return 0


def path(place: str) -> Path:
    """The file of the plain macros, or the folder of the examples, as installed."""
    return Path(str(resources.files(f"ppduck.{place}").joinpath(PLACES[place])))
