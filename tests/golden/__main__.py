"""Writes what all statements give now."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from ppduck.errors import PpduckWarning
from tests.golden.answers import answer, opened
from tests.golden.statements import MASKS, OTHERS

if __name__ == "__main__":
    warnings.simplefilter("ignore", PpduckWarning)
    with opened() as con:
        found = {name: answer(con, name) for name in [*MASKS, *OTHERS]}
    lines = (f"{json.dumps(name)}: {json.dumps(told, ensure_ascii=False)}" for name, told in found.items())
    Path(__file__).with_name("answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
