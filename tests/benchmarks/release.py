"""A whole table by one policy beside its copy, and the same through the gate into a file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ppduck
from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import SECRET, database, normal, uniform
from tests.benchmarks.timing import COPY, beside_copy, once

AIM = 12.0
POLICY: dict[str, Any] = {
    "from": "original",
    "key": "id",
    "columns": {
        "id": {"pseudonym": "token"},
        "email": {"pseudonym": "email"},
        "phone": {"pseudonym": "digits"},
        "born": {"date": "shift", "per": "id", "within": 30},
        "seen": {"date": "shift", "per": "id", "within": 30},
        "x1": {"mask": "egadp"},
        "x2": {"mask": "egadp"},
        "x3": {"mask": "egadp"},
        "g": {"randomize": 0.9},
        "h": {"randomize": 0.8},
    },
    "masks": {"egadp": {"nonconf": ["g", "h"]}},
}
TABLE = f"""
CREATE TABLE original AS
SELECT i AS id, 'person' || i || '@example.com' AS email, '0' || (1000000000 + hash(i) % 9000000000) AS phone,
       DATE '1940-01-01' + (hash(i, 1) % 24000)::INTEGER AS born,
       TIMESTAMP '2015-01-01' + to_seconds((hash(i, 2) % 300000000)::BIGINT) AS seen,
       {normal(1)} AS x1, {normal(2)} AS x2, 0.5 * x1 + {normal(3)} AS x3,
       ['a', 'b', 'c'][1 + floor(3 * {uniform(9)})::INTEGER] AS g, ['u', 'v'][1 + floor(2 * {uniform(10)})::INTEGER] AS h
FROM range({{rows}}) r(i)
"""


def release(report: Report, rows: int) -> None:
    report.section(f"{rows:,} rows of 3 pseudonyms, 2 dates, 3 numbers, 2 categories, file database; x the copy")
    with database("file") as con, TemporaryDirectory() as folder:
        con.execute(TABLE.format(rows=rows))
        ppduck.load(con, SECRET)
        told = (json.dumps(POLICY) + "\n").replace("'", "''")
        call = f"SELECT * FROM release_table('original', policy='{told}')"
        seconds = beside_copy(con, "original", {"release_table": call}, repeats=1)
        report.add(Line(COPY, seconds[COPY], 1.0))
        report.add(Line.against("release_table", seconds["release_table"], seconds[COPY], AIM))
        whole = once(lambda: ppduck.release(con, POLICY, to=Path(folder) / "public.parquet"))
        report.add(Line.against("ppduck.release, with the gate, to Parquet", whole, seconds[COPY]))
