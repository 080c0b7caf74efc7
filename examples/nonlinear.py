"""A relation that goes up and down again, masked in three ways: drawn, and told in figures.

Run it (needs pip install 'ppduck[plots]'): python examples/nonlinear.py [picture.png]
"""

from __future__ import annotations

import sys
from io import BytesIO

import duckdb

import ppduck

try:
    from matplotlib.figure import Figure
    from PIL import Image  # comes with matplotlib
except ModuleNotFoundError:
    sys.exit(
        "examples/nonlinear.py draws with matplotlib, which is not installed: pip install 'ppduck[plots]'"
    )

TITLES = {"store": "Original", "egadp": "EGADP", "shuffled": "Shuffled", "nm_egadp": "NM-EGADP"}
MASKS = {"egadp": "egadp_mask", "shuffled": "shuffle_mask", "nm_egadp": "nm_egadp_mask"}
ORIGINAL, MASKED, MEANS = "#8a8a8a", "#4f8ac0", "#c0392b"


def make_store(con: duckdb.DuckDBPyConnection) -> None:
    """A store's customers, the same in every run: s1 their age, s2 their gender, x1 what they spend, x2 their debt."""
    con.execute(
        """
        CREATE MACRO uniform(i, stream) AS ((hash(i * 10 + stream) >> 11) + 0.5) / 2.0 ** 53;
        CREATE MACRO normal(i, stream) AS
            sqrt(-2 * ln(uniform(i, stream))) * cos(2 * pi() * uniform(i, stream + 1));
        CREATE TABLE store AS
        SELECT i AS id, 20 + 40 * uniform(i, 1) AS s1, (uniform(i, 2) < 0.468)::INTEGER AS s2,
               200 + 10 * (20 - abs(s1 - 40)) + 50.2 * normal(i, 3) AS x1,
               600 - 10 * (20 - abs(s1 - 40)) + 38.5 * normal(i, 5) AS x2
        FROM range(1, 1001) AS rows(i)
        """
    )


def show_figures(con: duckdb.DuckDBPyConnection) -> None:
    """r2_tent is the share of x1's variance that |s1 - 40| explains, with_original the correlation with the true x1."""
    rows = [
        f"""
        SELECT {place} AS place, '{table}' AS data, regr_r2(x1, abs(s1 - 40)) AS r2_tent, corr(x1, x2) AS corr_x1_x2,
               corr(rank1, rank2) AS rank_corr, avg(x1) AS mean_x1, stddev_samp(x1) AS sd_x1,
               corr(x1, original) AS with_original
        FROM (SELECT *, rank() OVER (ORDER BY x1) AS rank1, rank() OVER (ORDER BY x2) AS rank2 FROM {table})
        JOIN (SELECT id, x1 AS original FROM store) USING (id)
        """
        for place, table in enumerate(TITLES)
    ]
    con.execute(f"CREATE TABLE figures AS {' UNION ALL '.join(rows)}")
    con.sql(
        """
        SELECT data, round(r2_tent, 3) AS r2_tent, round(corr_x1_x2, 3) AS corr_x1_x2, round(rank_corr, 3) AS rank_corr,
               round(mean_x1, 2) AS mean_x1, round(sd_x1, 2) AS sd_x1, round(with_original, 3) AS with_original
        FROM figures ORDER BY place
        """
    ).show(max_width=200)


def show_what_holds(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        CREATE MACRO tent(name) AS (SELECT r2_tent FROM figures WHERE data = name);
        CREATE MACRO ranks(name) AS (SELECT rank_corr FROM figures WHERE data = name);
        """
    )
    con.sql(
        """
        SELECT 'egadp: means and covariances are the original ones' AS what, max(abs(difference)) < 1e-9 AS passed
        FROM moments_check('store', 'egadp', conf=['s1', 's2', 'x1', 'x2'])
        UNION ALL
        SELECT 'egadp: the tent is gone', tent('egadp') < 0.02
        UNION ALL
        SELECT 'shuffled: the values are the original ones, in other rows',
               (SELECT (list(x1 ORDER BY x1), list(x2 ORDER BY x2)) FROM store)
               = (SELECT (list(x1 ORDER BY x1), list(x2 ORDER BY x2)) FROM shuffled)
        UNION ALL
        SELECT 'shuffled: the rank correlation is the original one, to 0.01',
               abs(ranks('shuffled') - ranks('store')) < 0.01
        UNION ALL
        SELECT 'shuffled: the tent is gone', tent('shuffled') < 0.02
        UNION ALL
        SELECT 'nm_egadp: means and covariances are the original ones', max(abs(difference)) < 1e-9
        FROM moments_check('store', 'nm_egadp', conf=['s1', 's2', 'x1', 'x2'])
        UNION ALL
        SELECT 'nm_egadp: the tent stands, its R² the original one to 0.02',
               abs(tent('nm_egadp') - tent('store')) < 0.02
        """
    ).show(max_width=200)


def draw(con: duckdb.DuckDBPyConnection, path: str) -> None:
    """x1 against s1 above, with the mean of x1 by four years of s1; x1 against x2 below."""
    figure = Figure(figsize=(10.6, 5.6))
    figure.set_layout_engine("constrained", w_pad=0.09, h_pad=0.09)
    panels = figure.subplots(2, len(TITLES), sharex="row", sharey=True)
    found = con.execute(
        "SELECT r2_tent, corr_x1_x2, rank_corr FROM figures ORDER BY place"
    ).fetchall()
    for (above, below), (table, title), (r2, corr, rank_corr) in zip(
        panels.T, TITLES.items(), found, strict=True
    ):
        rows = con.execute(f"SELECT s1, x1, x2 FROM {table}").fetchnumpy()
        means = con.execute(
            f"SELECT 4 * floor(s1 / 4) + 2 AS years, avg(x1) AS mean FROM {table} GROUP BY ALL ORDER BY ALL"
        ).fetchnumpy()
        points = {
            "s": 7,
            "linewidths": 0,
            "alpha": 0.6,
            "color": ORIGINAL if table == "store" else MASKED,
        }
        above.scatter(rows["s1"], rows["x1"], **points)
        above.plot(
            means["years"], means["mean"], color=MEANS, linewidth=2.2, label="mean X1 by age"
        )
        below.scatter(rows["x2"], rows["x1"], **points)
        above.text(
            0.5, 1.15, title, transform=above.transAxes, ha="center", fontsize=14, fontweight="bold"
        )
        above.set_title(f"R² of X1 given S1: {r2:.2f}", fontsize=9.5)
        below.set_title(
            f"correlation {corr:.2f}, of ranks {rank_corr:.2f}".replace("-", "−"), fontsize=9.5
        )
        above.set_xlabel("S1 (age)")
        below.set_xlabel("X2 (debt)")
    for panel in panels[:, 0]:
        panel.set_ylabel("X1 (expenditure)")
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9)
    panels[0, 0].legend(
        loc="lower center", fontsize=8.5, frameon=False, handlelength=1.5, borderaxespad=0.1
    )
    drawn = BytesIO()
    figure.savefig(drawn, dpi=110)
    # A palette is enough for three colours on white, and a third of the size.
    Image.open(drawn).convert("RGB").quantize(64).save(path, format="PNG", optimize=True)


def main(path: str = "nonlinear.png") -> None:
    con = ppduck.connect()
    make_store(con)
    # Seeded, so that everybody who runs this sees the same; never seed a real release. nm_egadp_mask warns, and
    # rightly: s1 predicts x2 so well that its masked values stay near the originals.
    for table, mask in MASKS.items():
        call = f"{mask}('store', conf=['x1', 'x2'], nonconf=['s1', 's2'], key='id', seed=1)"
        con.execute(f"CREATE TABLE {table} AS FROM {call}")
    print(
        "1,000 customers: x1 rises with s1 up to 40 and falls again. The original, and three masks of it:"
    )
    show_figures(con)
    show_what_holds(con)
    draw(con, path)
    print(f"The picture is in {path}.")
    con.close()


if __name__ == "__main__":
    main(*sys.argv[1:2])
