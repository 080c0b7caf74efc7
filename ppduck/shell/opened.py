"""What commands of their own share: a database that must be there, and errors as a user reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

import ppduck
from ppduck.errors import PpduckError, near_miss, quoted
from ppduck.query import tree as sql
from ppduck.shell.streams import can_print_blocks


@contextlib.contextmanager
def opened(
    command: str, database: str, secret: bytes | None, *, read_only: bool
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with ppduck loaded; the command is named in messages."""
    path = Path(database)
    if not path.is_file():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = near_miss(path.name, sorted(each.name for each in beside if each.is_file()))
        raise PpduckError(f"{command}: there is no database {database!r}.{hint}")
    # Attached, because a database that is opened read-only has no place beside it for a release to be judged in.
    with contextlib.closing(ppduck.connect(secret=secret)) as con:
        con.execute(f"SET enable_progress_bar = {str(can_print_blocks()).lower()}")
        before = con.execute("SHOW DATABASES").fetchall()
        place = sql.render(sql.text(database))
        try:
            con.execute(f"ATTACH {place}{' (READ_ONLY)' if read_only else ''}")
        except duckdb.Error as error:
            raise PpduckError(f"{command}: cannot open {database}: {plain(error)}") from None
        [(name,)] = set(con.execute("SHOW DATABASES").fetchall()) - set(before)
        con.execute(f"USE {quoted(name)}")
        yield con


def plain(error: Exception) -> str:
    """What was said, without the stack of what said it."""
    text = str(error)
    for before in ("PpduckError: ", "ReleaseRefused: "):
        text = text.partition(before)[2] or text
    return text.partition("\n\n")[0].strip()
