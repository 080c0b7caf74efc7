"""sdcMicro's addNoise, where R has it."""

from __future__ import annotations

import shutil
import subprocess

from tests.benchmarks.report import Line, Report
from tests.benchmarks.tables import NARROW, database, make, mask_call
from tests.benchmarks.timing import COPY, beside_copy

REFERENCE = "reference: 0.33 s per 1,000,000 rows x 3 columns"
# Three normal columns, to be masked by what follows.
THREE_COLUMNS = """
if (!requireNamespace("sdcMicro", quietly = TRUE)) quit(status = 3)
suppressPackageStartupMessages(library(sdcMicro))
set.seed(1)
n <- {rows}
d <- data.frame(x1 = rnorm(n), x2 = rnorm(n), x3 = rnorm(n))
"""
SCRIPT = f"""{THREE_COLUMNS}
once <- function() system.time(addNoise(d, variables = names(d), noise = 10, method = "additive"))[["elapsed"]]
invisible(once())
cat(median(replicate(5, once())))
"""


def add_noise(report: Report, rows: int) -> None:
    """addNoise and noise_mask on half of --rows and three columns, both in memory."""
    rows //= 2
    report.section(f"{rows:,} rows x 3 columns, sdcMicro beside ppduck, in memory")
    with database("memory") as con:
        make(con, "original", rows, NARROW)
        con.execute("ALTER TABLE original DROP s1; ALTER TABLE original DROP s2; ALTER TABLE original DROP s3")
        select = mask_call("noise_mask", "original", NARROW.x_names, ", level := 0.1")
        found = beside_copy(con, "original", {"noise_mask": select})
    report.add(Line("noise_mask, level 0.1", found["noise_mask"], found["noise_mask"] / found[COPY]))
    seconds = r_seconds(SCRIPT.format(rows=rows))
    if isinstance(seconds, str):
        report.add(Line("sdcMicro addNoise", note=f"{seconds}; {REFERENCE}"))
    else:
        report.add(Line("sdcMicro addNoise", seconds, seconds / found[COPY], note=REFERENCE))


def r_seconds(script: str) -> float | str:
    """What a script in R prints at last, or why there is nothing; it quits with 3 where sdcMicro is missing."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return "not here: no Rscript"
    done = subprocess.run([rscript, "--vanilla", "-e", script], capture_output=True, text=True, check=False)
    if done.returncode == 3:
        return "not here: R without sdcMicro"
    if done.returncode:
        return f"failed: {done.stderr.strip().splitlines()[-1:]}"
    return float(done.stdout.split()[-1])
