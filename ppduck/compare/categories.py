"""python -m ppduck.compare.categories FILE: randomization, Anatomy and generalisation at equal l (Guo 2010, 5.3)."""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TextIO

import duckdb

from ppduck.compare.releases import BY_CHANCE, METHODS, Original
from ppduck.compare.report import refuse_unwritable
from ppduck.errors import PpduckError, near_miss
from ppduck.frozen import frozen
from ppduck.kernels import fidelity
from ppduck.values import Array

MEASURES = (
    "variational",
    "l2",
    "kl",
    "chi2",
    "base_error",
    "cube_error",
    "U_qi_s",
    "U_qi_qi",
    "U_all",
)
PANELS = {
    "variational": "variational distance", "l2": "L2 distance", "kl": "Kullback-Leibler distance",
    "chi2": "χ² distance",
    "base_error": "error of base queries", "cube_error": "error of CUBE queries", "U_qi_s": "mean U, QI and sensitive",
    "U_qi_qi": "mean U, QI and QI",
}  # fmt: skip


@frozen
class Result:
    """A method at one l: its measures, means over its runs."""

    method: str
    l: int  # noqa: E741
    runs: int
    measures: dict[str, float]
    pairs: dict[tuple[int, int], float]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ppduck.compare.categories",
        description="Releases categories by several methods at equal l, and tells what an analyst gets back.",
    )
    parser.add_argument("file", type=Path, help="a file that DuckDB reads, such as adult.parquet")
    parser.add_argument("--qi", default="education,salary,sex,race", help="the quasi-identifiers")
    parser.add_argument("--sensitive", default="occupation", help="the sensitive column")
    parser.add_argument(
        "--l",
        default="2,3,4,5,6,7",
        help="limits: a sensitive value is learnt with 1/l at most (but under entropy l-diversity)",
    )
    parser.add_argument(
        "--order",
        default="education=education_num",
        help="columns whose levels have the order of another one, such as education=education_num (the default)",
    )
    parser.add_argument(
        "--methods", default=",".join(METHODS), help="some of " + ", ".join(METHODS)
    )
    parser.add_argument(
        "--runs", type=int, default=5, help="runs of methods that have chance in them (default 5)"
    )
    parser.add_argument("--csv", type=Path, help="where to write all measures")
    parser.add_argument("--plot", type=Path, help="where to draw them, as PNG, SVG or PDF")
    given = parser.parse_args(arguments)
    try:
        _compare(given)
    except (PpduckError, duckdb.Error, OSError) as error:
        print(f"ppduck.compare.categories: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(given: argparse.Namespace) -> None:
    limits = _limits(given.l)
    methods = _methods(given.methods)
    if given.runs < 1:
        raise PpduckError(f"--runs must be at least 1, got {given.runs}.")
    refuse_unwritable(given.csv, given.plot)
    original = Original(given.file, _parts(given.qi), given.sensitive, _order(given.order))
    found = list(results(original, methods, limits, given.runs))
    if not found:
        raise PpduckError("no method can do any of these l; see above.")
    write_text(original, found, sys.stdout)
    if given.csv:
        write_csv(original, found, given.csv)
    if given.plot:
        draw(original, found, given.plot)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _order(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in _parts(text)]
    for name, equal, by in parts:
        if not (name and equal and by):
            raise PpduckError(
                f"--order takes pairs such as education=education_num, got {name + equal + by!r}."
            )
    return {name.strip(): by.strip() for name, _, by in parts}


def _limits(text: str) -> list[int]:
    parts = _parts(text)
    for part in parts:
        if not part.isdecimal() or int(part) < 2:
            raise PpduckError(f"--l takes whole numbers of 2 or more, such as 2,3,5; got {part!r}.")
    if not parts:
        raise PpduckError("--l is empty.")
    return list(dict.fromkeys(int(part) for part in parts))


def _methods(text: str) -> list[str]:
    for part in _parts(text):
        if part not in METHODS:
            raise PpduckError(
                f"there is no method {part!r}.{near_miss(part, METHODS)} Methods: {', '.join(METHODS)}."
            )
    if not _parts(text):
        raise PpduckError("--methods is empty.")
    return list(dict.fromkeys(_parts(text)))


def results(
    original: Original, methods: Sequence[str], limits: Sequence[int], runs: int
) -> Iterable[Result]:
    true = original.counts / original.n
    for l in limits:  # noqa: E741
        for method in methods:
            try:
                tables = [
                    METHODS[method](original, l, run)
                    for run in range(runs if method in BY_CHANCE else 1)
                ]
            except duckdb.InvalidInputException as error:
                # One method that cannot do an l does not spoil what the others can.
                reason = str(error).partition("PpduckError: ")[2] or str(error)
                print(f"l = {l}, {method}: {reason.splitlines()[0]}", file=sys.stderr)
                continue
            each = [_measured(true, table, original.n) for table in tables]
            names = each[0][0]
            pairs = each[0][1]
            yield Result(
                method, l, len(tables),
                {name: statistics.fmean(measures[name] for measures, _ in each) for name in names},
                {pair: statistics.fmean(own[pair] for _, own in each) for pair in pairs},
            )  # fmt: skip


def _measured(
    true: Array, found: Array, n: float
) -> tuple[dict[str, float], dict[tuple[int, int], float]]:
    pairs = fidelity.uncertainties(found)
    return fidelity.distances(true, found, n) | {
        "base_error": fidelity.base_error(true, found),
        "cube_error": fidelity.cube_error(true, found),
        **_means(pairs, true.ndim),
    }, pairs


def _means(pairs: dict[tuple[int, int], float], columns: int) -> dict[str, float]:
    """Mean U of pairs with the sensitive column, which is last, of pairs without it, and of all."""
    last = columns - 1
    parts = {
        "U_qi_s": [value for pair, value in pairs.items() if last in pair],
        "U_qi_qi": [value for pair, value in pairs.items() if last not in pair],
        "U_all": list(pairs.values()),
    }
    return {
        name: statistics.fmean(values) if values else float("nan") for name, values in parts.items()
    }


def write_text(original: Original, found: Sequence[Result], out: TextIO) -> None:
    true = fidelity.uncertainties(original.counts / original.n)
    whole = _means(true, len(original.columns))
    shape = " × ".join(map(str, original.shape))
    print(f"{original.n:,.0f} rows, {shape} levels; {original.sensitive} is sensitive", file=out)
    print("distances and errors: lower is better; U: nearer to the original is better\n", file=out)
    lines = [["l", "method", *MEASURES]]
    lines.append(["", "original", *[""] * 6, *(f"{whole[name]:.5f}" for name in MEASURES[6:])])
    lines += [
        [str(r.l), r.method, *(f"{r.measures[name]:.5f}" for name in MEASURES)] for r in found
    ]
    _print(lines, out)
    print(
        "\nBase and CUBE errors and χ² are over cells that have rows; KL takes empty estimates for a tenth of a row.",
        file=out,
    )
    print(
        "Generalisation is strict Mondrian with uniform boxes; under entropy l-diversity the risk may exceed 1/l.",
        file=out,
    )
    print("\nU of every pair, times 100", file=out)
    names = original.columns
    pairs = list(combinations(range(len(names)), 2))
    lines = [["l", "method", *(f"{names[a]}-{names[b]}" for a, b in pairs)]]
    lines.append(["", "original", *(f"{100 * true[pair]:.2f}" for pair in pairs)])
    lines += [
        [str(r.l), r.method, *(f"{100 * r.pairs[pair]:.2f}" for pair in pairs)] for r in found
    ]
    _print(lines, out)


def _print(lines: Sequence[Sequence[str]], out: TextIO) -> None:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = [
            cell.ljust(w) if i < 2 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip(), file=out)


def write_csv(original: Original, found: Sequence[Result], path: Path) -> None:
    """All measures, and U of every pair; the original has its U alone."""
    true = fidelity.uncertainties(original.counts / original.n)
    whole = _means(true, len(original.columns))
    names = original.columns
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(
            ["l", "method", "runs", *MEASURES, *(f"U {names[a]}-{names[b]}" for a, b in true)]
        )
        out.writerow(
            ["", "original", "", *(whole.get(name, "") for name in MEASURES), *true.values()]
        )
        for each in found:
            pairs = [each.pairs[pair] for pair in true]
            out.writerow(
                [
                    each.l,
                    each.method,
                    each.runs,
                    *(each.measures[name] for name in MEASURES),
                    *pairs,
                ]
            )


def draw(original: Original, found: Sequence[Result], path: Path) -> None:
    """A panel for each measure, a line for each method, over l; of U the original's too."""
    try:
        import matplotlib
    except ImportError as error:
        raise PpduckError("a plot needs matplotlib: pip install 'ppduck[compare]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 4, figsize=(17, 8), layout="constrained")
    true = _means(fidelity.uncertainties(original.counts / original.n), len(original.columns))
    for panel, (name, title) in zip(panels.ravel(), PANELS.items(), strict=True):
        for method in dict.fromkeys(each.method for each in found):
            own = [each for each in found if each.method == method]
            panel.plot(
                [each.l for each in own],
                [each.measures[name] for each in own],
                marker="o",
                label=method,
            )
        if name in true:
            panel.axhline(true[name], color="0.4", linestyle="--", label="original")
        panel.set_title(title)
        panel.set_xlabel("l")
        panel.set_xticks(sorted({each.l for each in found}))
        panel.set_ylim(bottom=0)
    panels[1, 2].legend()
    figure.savefig(path, dpi=75)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
