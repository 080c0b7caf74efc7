"""python -m ppduck.compare.categories: a table, a CSV file, a picture, section 5.3's finding, and what is wrong."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from ppduck.compare.categories import MEASURES, main, results
from ppduck.compare.releases import METHODS, Original


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3,000 people: three quasi-identifiers, one with levels that look like lists of levels, and a sensitive column."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, 3000), rng.integers(0, 2, 3000)
    s = (a + rng.integers(0, 3, 3000)) % 5
    path = tmp_path_factory.mktemp("compare") / "people's.csv"
    names = ["x|y", "*", "x", "it's"]
    lines = [f"{names[i]},{j},{k},{v}" for i, j, k, v in zip(a, b, rng.integers(0, 3, 3000), s, strict=True)]
    path.write_text("\n".join(["a,b,c,s", *lines]) + "\n", encoding="utf-8")
    return path


def test_text_csv_and_picture(file: Path, tmp_path: Path) -> None:
    table, picture = tmp_path / "measures.csv", tmp_path / "measures.png"
    command = [
        sys.executable,
        "-m",
        "ppduck.compare.categories",
        str(file),
        "--qi",
        "a,b,c",
        "--sensitive",
        "s",
        "--l",
        "2,3",
    ]
    ran = subprocess.run(
        [*command, "--runs", "2", "--csv", str(table), "--plot", str(picture)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "3,000 rows, 4 × 2 × 3 × 5 levels; s is sensitive"
    assert sum(line.startswith(("2 ", "3 ")) for line in lines) == 2 * 2 * len(METHODS)
    with table.open(encoding="utf-8") as rows:
        found = list(csv.DictReader(rows))
    first, *found = found
    assert (first["method"], first["variational"]) == ("original", "")
    assert float(first["U a-s"]) > 0
    assert [(row["l"], row["method"]) for row in found] == [(limit, method) for limit in "23" for method in METHODS]
    assert [row["runs"] for row in found[:5]] == ["2", "2", "2", "1", "1"]
    assert all(float(row[name]) >= 0 for row in found for name in MEASURES)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_estimates_are_tables(file: Path) -> None:
    """Every estimate sums to 1, and has the sensitive column's own shares where only the rest was touched."""
    original = Original(file, ["a", "b", "c"], "s")
    true = original.counts / original.n
    for name, estimate in METHODS.items():
        found = estimate(original, 2, 1)
        assert found.shape == true.shape
        assert found.sum() == pytest.approx(1), name
        if name != "RR-QI (mle)":  # which may move shares to stay inside
            np.testing.assert_allclose(found.sum(axis=(0, 1, 2)), true.sum(axis=(0, 1, 2)), atol=1e-9, err_msg=name)
    # Anatomy touches no quasi-identifier.
    np.testing.assert_allclose(METHODS["Anatomy"](original, 2, 1).sum(axis=3), true.sum(axis=3), atol=1e-12)


def test_a_box_of_one_cell_is_the_truth(tmp_path: Path) -> None:
    """Where every combination has its k rows and is diverse, generalisation loses nothing."""
    path = tmp_path / "even.csv"
    path.write_text(
        "a,b,s\n" + "\n".join(f"{a},{b},{s}" for a in "xy" for b in "pq" for s in "12" for _ in range(10)) + "\n",
        encoding="utf-8",
    )
    original = Original(path, ["a", "b"], "s")
    for name in ("Generalisation", "Generalisation (entropy)"):
        np.testing.assert_allclose(METHODS[name](original, 2, 0), original.counts / original.n)


def test_levels_have_the_order_of_another_column(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(
        "grade,years,s\n" + "\n".join(["tenth,10,x", "fifth,5,y", "doctor,20,x", "first,1,z"]) + "\n", encoding="utf-8"
    )
    assert Original(path, ["grade"], "s").levels[0] == ["doctor", "fifth", "first", "tenth"]
    assert Original(path, ["grade"], "s", {"grade": "years", "other": "years"}).levels[0] == [
        "first",
        "fifth",
        "tenth",
        "doctor",
    ]


def test_section_5_3_on_adult(reference_data: Path) -> None:
    """At equal risk randomization keeps more than Anatomy and generalisation; what its page prints comes from here."""
    original = Original(
        reference_data / "adult.parquet",
        ["education", "salary", "sex", "race"],
        "occupation",
        {"education": "education_num"},
    )
    found = {each.method: each.measures for each in results(original, list(METHODS), [3], runs=1)}
    best = found["RR-QI (mle)"]
    for rival in ("Anatomy", "Generalisation"):
        for name in ("variational", "l2", "kl", "chi2", "base_error", "cube_error"):
            assert best[name] < found[rival][name], (rival, name)
    true = original.counts / original.n
    from ppduck.compare.categories import _measured

    whole = _measured(true, true, original.n)[0]
    for rival in ("Anatomy", "Generalisation"):
        assert abs(best["U_qi_s"] - whole["U_qi_s"]) < abs(found[rival]["U_qi_s"] - whole["U_qi_s"]), rival
    # The unbiased estimate, too, but for the relative error of single cells at larger l.
    for name in ("variational", "l2", "kl", "chi2"):
        assert found["RR-QI"][name] < min(found["Anatomy"][name], found["Generalisation"][name]), name


def test_original_coefficients_of_table_5_3(con: duckdb.DuckDBPyConnection, reference_data: Path) -> None:
    """100 U on the training rows. "G vs R" is printed the other way round from its neighbours: U(sex | race)."""
    con.execute(f"CREATE TABLE adult AS FROM '{reference_data}/adult.parquet' LIMIT 30162")
    names = {"E": "education", "S": "salary", "G": "sex", "R": "race", "O": "occupation"}
    printed = {
        "ES": 11.54, "EG": 0.68, "ER": 1.92, "SG": 4.12, "SR": 1.07, "RG": 1.08,
        "EO": 9.90, "SO": 2.74, "GO": 4.40, "RO": 0.57,
    }  # fmt: skip
    for (one, other), figure in printed.items():
        [(found,)] = con.execute(
            f"SELECT value FROM association_measures('adult', '{names[one]}', '{names[other]}') WHERE measure = 'uncertainty'"
        ).fetchall()
        assert 100 * found == pytest.approx(figure, abs=0.005 + 1e-9), (one, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--qi", "a,d"], "has no column 'd'. Columns: "),
        (["--qi", "a,s"], "a column is named twice"),
        (["--l", "1"], "--l takes whole numbers of 2 or more, such as 2,3,5; got '1'"),
        (["--l", ""], "--l is empty"),
        (["--runs", "0"], "--runs must be at least 1"),
        (["--methods", "Anatomi"], "there is no method 'Anatomi'. Did you mean \"Anatomy\"?"),
        (["--methods", ","], "--methods is empty"),
        (["--plot", "x.gif"], "--plot takes a file that ends in"),
        (["--csv", "nowhere/x.csv"], "there is no folder 'nowhere'"),
        (["--l", "50"], "no parameters reach a risk of 0.02"),
        (["--l", "50"], "no method can do any of these l"),
        (["--qi", ","], "--qi is empty"),
        (["--order", "a"], "--order takes pairs such as education=education_num"),
        (["--order", "a=z"], "has no column 'z'"),
    ],
)
def test_what_is_refused(file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    given = {"--qi": "a,b,c", "--sensitive": "s", "--l": "2"} | dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert main([str(file), *(part for pair in given.items() for part in pair)]) == 1
    assert message in capsys.readouterr().err


def test_a_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.csv"]) == 1
    assert "there is no file 'nowhere.csv'" in capsys.readouterr().err
