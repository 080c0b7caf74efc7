"""Four attributes of the Adult census extract, randomized, and their table reconstructed cell by cell.

python examples/adult.py takes the file that comes with the sources; another one (UCI Adult as Parquet, or as CSV with a
header) may be named.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ppduck

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "adult.parquet"
ATTRIBUTES = ["sex", "race", "marital_status", "workclass"]


def main(path: str) -> None:
    if not Path(path).is_file():
        sys.exit(
            f"There is no file {path}. Adult comes with the sources of ppduck; python adult.py FILE takes another."
        )
    con = ppduck.connect()
    read = "read_parquet" if path.endswith(".parquet") else "read_csv"
    con.execute(f"CREATE TABLE adult AS FROM {read}(?)", [path])
    rows = con.sql("FROM adult").count("*").fetchall()[0][0]
    # The owner's statement. Seeded, so that everybody who runs this sees the same; never seed a real release.
    con.execute(f"CREATE VIEW adult_rr AS FROM rr_mask('adult', conf={ATTRIBUTES}, p=0.9, seed=1)")
    # The analyst's statement: one call, 2 × 5 × 7 × 7 cells with their uncertainty.
    con.execute(
        f"CREATE TABLE found AS FROM rr_reconstruct('adult_rr', {ATTRIBUTES}, target='table')"
    )

    names = ", ".join(ATTRIBUTES)
    con.execute(
        f"""
        CREATE TABLE compared AS
        SELECT {names}, observed, estimate, std_error, coalesce(share, 0) AS truth
        FROM found LEFT JOIN (SELECT {names}, count(*) / {rows} AS share FROM adult GROUP BY ALL) USING ({names})
        """
    )
    print(f"{rows:,} rows, {len(con.execute('FROM compared').fetchall())} cells; the ten largest:")
    con.sql(
        f"""
        SELECT {names}, round({rows} * truth) AS truth, round({rows} * observed) AS observed,
               round({rows} * estimate) AS estimate, round({rows} * std_error) AS std_error
        FROM compared ORDER BY compared.truth DESC LIMIT 10
        """
    ).show(max_width=200)
    print(
        "All cells: error of the published and of the reconstructed table, and how it compares with what was said."
    )
    con.sql(
        """
        SELECT round(sum(abs(observed - truth)) / 2, 4) AS distance_published,
               round(sum(abs(estimate - truth)) / 2, 4) AS distance_reconstructed,
               round(max(abs(estimate - truth) / std_error), 2) AS farthest_in_errors,
               round(avg((abs(estimate - truth) <= 1.96 * std_error)::INT), 3) AS within_95_percent_range
        FROM compared
        """
    ).show(max_width=200)
    con.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(DATA))
