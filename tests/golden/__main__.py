"""Pins what statements give now, and writes what pages tell of every function."""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

from ppduck.errors import PpduckWarning
from tests.golden import pages
from tests.golden.answers import ANSWERS, answer, opened
from tests.golden.statements import statements


def pin(anew: bool) -> None:
    asked, pinned = statements(), json.loads(ANSWERS.read_text(encoding="utf-8"))
    found: dict[str, Any] = {name: told for name, told in pinned.items() if name in asked}
    missing = [name for name in asked if name not in found]
    warnings.simplefilter("ignore", PpduckWarning)
    with opened() as con:
        found |= {name: answer(con, asked[name]) for name in (asked if anew else missing)}
    lines = (f"{json.dumps(name)}: {json.dumps(told, ensure_ascii=False)}" for name, told in found.items())
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--anew", action="store_true", help="pin all statements, not only those that are not pinned")
    pin(parser.parse_args().anew)
    pages.write()
