"""python -m ppduck.compare, as it is typed: a table, a CSV file, a picture, a search, and what is wrong."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ppduck.compare.__main__ import main
from ppduck.compare.methods import Method
from ppduck.compare.scoring import Table


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 rows of four skewed numbers, a text, and a column that bears the name of the key."""
    rng = np.random.default_rng(1)
    values = np.exp(rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 4))) * 1000
    path = tmp_path_factory.mktemp("compare") / "people's.csv"
    lines = [",".join([*(f"{v:.2f}" for v in row), f"n{i}", "x"]) for i, row in enumerate(values)]
    path.write_text("\n".join(["a,b,c,d,name,row", *lines]) + "\n", encoding="utf-8")
    return path


def compare(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ppduck.compare", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_text_csv_and_picture(file: Path, tmp_path: Path) -> None:
    table, picture = tmp_path / "runs.csv", tmp_path / "risk.png"
    ran = compare(
        file,
        "--methods",
        "ONN-A,RS-14,MIC2m5",
        "--known",
        "2,4",
        "--runs",
        3,
        "--simplified",
        "--csv",
        table,
        "--plot",
        picture,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second = ran.stdout.strip().split("\n\n")
    assert first.startswith("2 known columns, ranked by score_simplified; percent, lower is better\nmethod")
    assert second.startswith("4 known columns")
    lines = [line.split() for line in first.splitlines()[1:5]]
    assert lines[0] == ["method", "runs", "IL", "DLD", "ID", "score_simplified", "sd", "DLD_own"]
    scores = [float(line[5]) for line in lines[1:]]
    assert scores == sorted(scores)
    assert {line[0]: line[1] for line in lines[1:]} == {"ONN-A": "3", "RS-14": "3", "MIC2m5": "1"}
    assert "best RS: RS-14" in first
    with table.open(encoding="utf-8") as opened:
        runs = list(csv.DictReader(opened))
    assert len(runs) == 2 * (3 + 3 + 1)
    for line in lines[1:]:
        of = [float(run["score_simplified"]) for run in runs if (run["method"], run["known"]) == (line[0], "2")]
        assert float(line[5]) == pytest.approx(np.mean(of), abs=0.005)
    for run in runs:
        loss, linked, near = (float(run[name]) for name in ("IL", "DLD", "ID"))
        assert float(run["score_simplified"]) == pytest.approx(loss / 2 + linked / 4 + near / 4)
        assert run["PLD"] == ""
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_full_score_has_probabilistic_linkage(file: Path) -> None:
    pytest.importorskip("splink")
    ran = compare(file, "--methods", "RS-30", "--known", 3, "--runs", 1)
    assert (ran.returncode, ran.stderr) == (0, "")
    titles, line = (each.split() for each in ran.stdout.splitlines()[1:3])
    found = dict(zip(titles[2:8], map(float, line[2:8]), strict=True))
    assert found["DR"] == pytest.approx(0.25 * found["DLD"] + 0.25 * found["PLD"] + 0.5 * found["ID"], abs=0.01)
    assert found["score"] == pytest.approx(0.5 * found["IL"] + 0.5 * found["DR"], abs=0.01)


def test_it_is_the_same_again(file: Path) -> None:
    one, other = (
        compare(file, "--methods", "ONN-E,RS-20", "--known", 2, "--runs", 2, "--simplified") for _ in range(2)
    )
    assert one.returncode == 0
    assert one.stdout == other.stdout


def test_printed_figures_stand_beside_census(reference_data: Path) -> None:
    ran = compare(reference_data / "census.parquet", "--methods", "MIC4m17", "--known", "7", "--simplified")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[2].split()[-3:] == ["23.98", "31.67", "27.82"]


def test_a_search_tells_which_parameters_matter(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One real release for each number of known columns; the scores of the others are made up, for time."""
    pytest.importorskip("statsmodels")
    rng = np.random.default_rng(1)
    masked: list[Method] = []
    real: dict[str, float | None] = {}
    mask, score = Table.mask, Table.score

    def counted(self: Table, method: Method, seed: int) -> None:
        masked.append(method)
        if len(masked) <= 2:
            mask(self, method, seed)

    def scored(self: Table, known: int, *, probabilistic: bool) -> dict[str, float | None]:
        if len(masked) <= 2:
            real.update(score(self, known, probabilistic=probabilistic))
        b = float(masked[-1].parameters.split("b := ")[1].split(",")[0])
        return {**real, "score_simplified": 30 + known - 10 * b + rng.normal()}

    monkeypatch.setattr(Table, "mask", counted)
    monkeypatch.setattr(Table, "score", scored)
    assert main([str(file), "--columns", "a,b", "--search", "--budget", "49", "--known", "1,2"]) == 0
    assert len(masked) == 98
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "49 combinations of P, B, E, C, H: variance of the simplified score"
    effects = [line.split()[0] for line in lines[3:] if not line.startswith(("residual", "1 known", "2 known"))]
    assert set(effects) >= {"V", "P", "B", "E", "C", "H"}
    assert effects[0] == "B"
    squares = [float(line.split()[-3]) for line in lines[3 : 3 + len(effects)]]
    assert squares == sorted(squares, reverse=True)
    assert sum(line.startswith("2 known: ") for line in lines) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--known", "5"], "--known takes numbers from 1 to 4, the columns that are compared; got '5'"),
        (["--known", "x"], "got 'x'"),
        (["--known", ","], "--known is empty"),
        (["--methods", "rank"], "there is no method 'rank'"),
        (["--methods", ","], "--methods is empty"),
        (["--methods", "RS-0", "--known", "2"], "reach must be from 1 to 100"),
        (["--methods", "MIC2m150", "--known", "2"], "k is 150, and 200 rows make no two groups of 150"),
        (["--plot", "risk.xyz"], "--plot takes a file that ends in .png, .svg, .pdf, got 'risk.xyz'"),
        (["--csv", "nowhere/runs.csv"], "there is no folder 'nowhere' to write 'runs.csv' in"),
        (["--search", "--csv", "runs.csv"], "--search prints what it finds; --csv and --plot are for comparisons"),
        (["--columns", "a,nam"], "has no numeric column 'nam'"),
        (["--columns", "a", "--known", "1"], "has 1 numeric columns; at least 2 are compared"),
        (["--runs", "0"], "--runs must be at least 1, got 0"),
        (["--search", "--budget", "5", "--known", "2"], "a search needs a budget of at least 49 combinations, got 5"),
    ],
)
def test_what_is_wrong_is_told(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file), *arguments]) == 1
    told = capsys.readouterr().err
    assert told.startswith("ppduck.compare: ")
    assert message in told


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere.csv"]) == 1
    assert "there is no file 'nowhere.csv'" in capsys.readouterr().err
