"""python -m ppduck.compare FILE: scores of masks side by side."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb

from ppduck.compare.methods import chosen
from ppduck.compare.report import draw, means_of, refuse_unwritable, write_csv, write_text
from ppduck.compare.scoring import Table, runs_of
from ppduck.compare.search import trials, write_search
from ppduck.errors import PpduckError

# The columns of the data that scores are printed of.
CENSUS = [
    "AFNLWGT", "AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC",
    "POTHVAL", "INTVAL", "PEARNVAL", "FICA", "WSALVAL", "ERNVAL",
]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ppduck.compare",
        description="Masks the numeric columns of a file by several methods and ranks them by their protection scores.",
    )
    parser.add_argument("file", type=Path, help="a file that DuckDB reads, such as census.parquet")
    parser.add_argument(
        "--methods",
        default="onn,rs,mic",
        help="onn, rs, mic, or names such as ONN-A, RS-14, MIC4m17",
    )
    parser.add_argument(
        "--known", default="7,13", help="how many columns an intruder knows, such as 7 or 7,13"
    )
    parser.add_argument(
        "--runs", type=int, default=10, help="runs of methods that have chance in them (default 10)"
    )
    parser.add_argument(
        "--columns",
        help="which columns to mask, such as AGI,FEDTAX; by default all that are numbers",
    )
    parser.add_argument(
        "--simplified",
        action="store_true",
        help="without probabilistic linkage, which takes longest",
    )
    parser.add_argument("--csv", type=Path, help="where to write every run")
    parser.add_argument(
        "--plot", type=Path, help="where to draw risk over loss, as PNG, SVG or PDF"
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="vary the parameters of ONN, and tell which of them matter",
    )
    parser.add_argument(
        "--budget", type=int, default=200, help="combinations that a search tries (default 200)"
    )
    given = parser.parse_args(arguments)
    try:
        _compare(given)
    except (PpduckError, duckdb.Error, OSError) as error:
        print(f"ppduck.compare: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(given: argparse.Namespace) -> None:
    if given.runs < 1:
        raise PpduckError(f"--runs must be at least 1, got {given.runs}.")
    methods = chosen(_parts(given.methods))
    if not methods:
        raise PpduckError("--methods is empty.")
    refuse_unwritable(given.csv, given.plot)
    if given.search and (given.csv or given.plot):
        raise PpduckError("--search prints what it finds; --csv and --plot are for comparisons.")
    table = Table(given.file, _parts(given.columns) if given.columns else None)
    known = _known(given.known, len(table.columns))
    if given.search:
        write_search(trials(table, known, given.budget, _progress), sys.stdout)
        return
    probabilistic = not given.simplified
    if probabilistic and importlib.util.find_spec("splink") is None:
        raise PpduckError(
            "probabilistic linkage needs Splink: pip install 'ppduck[compare]', or say --simplified."
        )
    found = list(
        runs_of(table, methods, known, given.runs, probabilistic=probabilistic, tell=_progress)
    )
    means = means_of(found)
    write_text(means, sys.stdout, census=table.columns == CENSUS)
    if given.csv:
        write_csv(found, given.csv)
    if given.plot:
        draw(means, given.plot)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _known(text: str, columns: int) -> list[int]:
    """Numbers of known columns; more than there are cannot be known."""
    found = []
    for part in _parts(text):
        if not part.isdecimal() or not 1 <= int(part) <= columns:
            raise PpduckError(
                f"--known takes numbers from 1 to {columns}, the columns that are compared; got {part!r}."
            )
        found.append(int(part))
    if not found:
        raise PpduckError("--known is empty.")
    return found


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
