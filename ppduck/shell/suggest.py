"""ppduck suggest: a proposal for the policy of a table, as YAML with a reason behind each line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import duckdb

from ppduck.errors import PpduckError
from ppduck.gate.verdict import literal
from ppduck.policy import suggest_policy
from ppduck.policy.proposal import page
from ppduck.shell.opened import opened, plain
from ppduck.shell.streams import complain

NAME = "ppduck suggest"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 where nothing can be proposed, 2 for a call that makes no sense."""
    asked = _parser().parse_args(argv)
    try:
        with opened(NAME, asked.database, None, read_only=True) as con:
            given = f"tbl := {literal(asked.table)}, key := {literal(asked.key)}"
            rows = con.execute(f"FROM temp.main.{suggest_policy.NAME}({given})").fetchall()
    except (PpduckError, duckdb.Error) as error:
        complain(plain(error))
        return 1
    print(page(rows), end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description="A proposal for the policy of a table: what may become of each column, and why; never applied.",
        epilog="ppduck suggest my.db customers > customers.release.yml; then read it, line by line. No value of the "
        "table is printed.",
    )
    parser.add_argument("database", metavar="DATABASE", help="where the table is; it is only read")
    parser.add_argument("table", metavar="TABLE", help="a table, a view or a file")
    parser.add_argument(
        "--key",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column that identifies a row, where it is not the one that looks like it; repeatable",
    )
    return parser
