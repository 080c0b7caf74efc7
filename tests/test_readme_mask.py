"""The mask that the README adds refuses what every mask refuses, though it has no noise that hangs on the check."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOOD = "SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(200) AS r(i)"
BAD = {
    "NULL in nonconf": f"SELECT * REPLACE (if(id = 7, NULL, s) AS s) FROM ({GOOD})",
    "NaN in nonconf": f"SELECT * REPLACE (if(id = 7, 'nan'::DOUBLE, s) AS s) FROM ({GOOD})",
    "no key": f"SELECT * REPLACE (NULL::BIGINT AS id) FROM ({GOOD})",
    "one key for all": f"SELECT * REPLACE (1 AS id) FROM ({GOOD})",
    "a constant": f"SELECT * REPLACE (3.0 AS x) FROM ({GOOD})",
}
ASKED = """
import json, sys, duckdb, ppduck
from ppduck.call.registry import discover

discover("my_masks")
con = ppduck.connect()
said = {}
for name, table in json.load(sys.stdin).items():
    con.execute(f"CREATE OR REPLACE TABLE t AS {table}")
    try:
        con.execute("SELECT count(x) FROM predicted_mask('t', conf=['x'], nonconf=['s'], key='id')").fetchall()
        said[name] = "masked"
    except duckdb.Error as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def test_data_that_cannot_be_masked_are_refused_without_noise_too(tmp_path: Path) -> None:
    [block] = re.findall(r"```python\n# my_masks/predicted.py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "my_masks").mkdir()
    (tmp_path / "my_masks" / "__init__.py").write_text("")
    (tmp_path / "my_masks" / "predicted.py").write_text(block)
    run = subprocess.run(
        [sys.executable, "-c", ASKED], cwd=tmp_path, input=json.dumps({"good": GOOD, **BAD}), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    said = json.loads(run.stdout)
    assert said.pop("good") == "masked"
    assert said.keys() == BAD.keys()
    assert {name: text for name, text in said.items() if "predicted_mask" not in text} == {}
