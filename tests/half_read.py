"""Reads results in part, one statement after the other: ``python -m tests.half_read`` is told them line by line.

A line is JSON of (rows, reading, statement); the answer is a line that is empty, or says what went wrong. Whoever asks
keeps a watch and ends this process where no answer comes.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import warnings
from collections.abc import Callable
from functools import cache

from ppduck.errors import PpduckWarning
from ppduck.guide.demo import DEMO
from ppduck.shell.dots import understood
from ppduck.shell.session import Session
from tests.conftest import SECRET


@cache
def demo(rows: int) -> Session:
    """A prompt with the demo tables, each of so many rows."""
    session = Session(":memory:", understood, secret=SECRET.encode())
    session.interactive = True
    session.con.execute("SET threads = 2")  # the more threads, the more rows would go into buffers
    session.con.execute(DEMO.replace("range(400)", f"range({rows})").replace("range(2000)", f"range({rows})"))
    return session


def limit(session: Session, statement: str) -> None:
    assert len(session.con.execute(f"{statement} LIMIT 1").fetchall()) == 1


def exists(session: Session, statement: str) -> None:
    assert session.con.execute(f"SELECT EXISTS ({statement})").fetchall() == [(True,)]


def fetchone(session: Session, statement: str) -> None:
    assert session.con.execute(statement).fetchone() is not None
    assert session.con.execute("SELECT 1").fetchall() == [(1,)]


def show(session: Session, statement: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as box:
        session.con.sql(statement).show()
    assert box.getvalue()


def arrow(session: Session, statement: str) -> None:
    relation = session.con.sql(statement)
    read = relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_record_batch
    reader = read(2048)
    assert reader.read_next_batch().num_rows
    reader.close()
    assert session.con.execute("SELECT 1").fetchall() == [(1,)]


def prompt(session: Session, statement: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as box:
        session.run([(None, statement + ";")])
    assert box.getvalue()


READINGS: dict[str, Callable[[Session, str], None]] = {
    reading.__name__: reading for reading in (limit, exists, fetchone, show, arrow, prompt)
}


def main() -> None:
    warnings.simplefilter("ignore", PpduckWarning)
    for line in sys.stdin:
        rows, reading, statement = json.loads(line)
        try:
            READINGS[reading](demo(rows), statement)
            answer = ""
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
