"""What a comparison found: as a text to read, as CSV to go on with, and as a picture."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

from ppduck.compare.methods import PUBLISHED, Method
from ppduck.compare.scoring import MEASURES, OWN, Run
from ppduck.errors import PpduckError
from ppduck.frozen import frozen

PICTURES = (".png", ".svg", ".pdf")


def refuse_unwritable(table: Path | None, picture: Path | None) -> None:
    """Before hours of runs, not after them: files that could not be written."""
    for path in (table, picture):
        if path is not None and not path.absolute().parent.is_dir():
            raise PpduckError(f"there is no folder {str(path.parent)!r} to write {path.name!r} in.")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise PpduckError(
            f"--plot takes a file that ends in {', '.join(PICTURES)}, got {picture.name!r}."
        )


@frozen
class Mean:
    """A method's measures over its runs, for so many known columns."""

    method: Method
    known: int
    runs: int
    measures: dict[str, float]
    spread: float | None  # sd of what it is ranked by

    @property
    def ranked_by(self) -> str:
        return "score" if "score" in self.measures else "score_simplified"

    @property
    def score(self) -> float:
        return self.measures[self.ranked_by]


def means_of(runs: Iterable[Run]) -> list[Mean]:
    """Best first, for each number of known columns."""
    grouped: dict[tuple[int, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.known, run.method.name), []).append(run)
    found = []
    for (known, _), of in grouped.items():
        values = {name: [run.measures[name] for run in of] for name in MEASURES}
        means = {
            name: statistics.fmean(value for value in each if value is not None)
            for name, each in values.items()
            if None not in each
        }
        ranked = values["score" if "score" in means else "score_simplified"]
        spread = (
            statistics.stdev(value for value in ranked if value is not None)
            if len(of) > 1
            else None
        )
        found.append(Mean(of[0].method, known, len(of), means, spread))
    return sorted(found, key=lambda each: (each.known, each.score))


def write_text(means: Sequence[Mean], out: TextIO, *, census: bool) -> None:
    """A table for each number of known columns; on Census beside what was printed, which is an average of ten runs."""
    for known in sorted({each.known for each in means}):
        rows = [each for each in means if each.known == known]
        ranked_by = rows[0].ranked_by
        shown = [
            name
            for name in MEASURES
            if name in rows[0].measures and name not in ("score_simplified", OWN)
        ]
        shown += [] if ranked_by in shown else [ranked_by]
        printed = PUBLISHED.get(known, {}) if census else {}
        print(f"{known} known columns, ranked by {ranked_by}; percent, lower is better", file=out)
        titles = [
            "method",
            "runs",
            *shown,
            "sd",
            OWN,
            *(["printed: IL", "DR", "score"] if printed else []),
        ]
        lines = [[each.method.name, str(each.runs), *(f"{each.measures[name]:.2f}" for name in shown),
                  "" if each.spread is None else f"{each.spread:.2f}", f"{each.measures[OWN]:.2f}",
                  *_of_print(printed.get(each.method.name), bool(printed))] for each in rows]  # fmt: skip
        widths = [max(len(line[i]) for line in [titles, *lines]) for i in range(len(titles))]
        for line in [titles, *lines]:
            cells = [
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            ]
            print("  ".join(cells).rstrip(), file=out)
        for family, best in _best(rows).items():
            print(f"best {family}: {best.method.name} {best.score:.2f}", file=out)
        print(
            f"{OWN}, in no score: DLD by an intruder who standardises each table by itself",
            file=out,
        )
        print(file=out)


def _of_print(figures: tuple[float, float, float] | None, any_printed: bool) -> list[str]:
    if not any_printed:
        return []
    return [f"{figure:.2f}" for figure in figures] if figures else ["", "", ""]


def _best(rows: Sequence[Mean]) -> dict[str, Mean]:
    """The first of each family, of rows that stand best first."""
    found: dict[str, Mean] = {}
    for each in rows:
        found.setdefault(each.method.family, each)
    return found


def write_csv(runs: Sequence[Run], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["method", "mask", "parameters", "run", "known", *MEASURES])
        for run in runs:
            measures = [
                "" if run.measures[name] is None else run.measures[name] for name in MEASURES
            ]
            out.writerow(
                [
                    run.method.name,
                    run.method.mask,
                    run.method.parameters,
                    run.run,
                    run.known,
                    *measures,
                ]
            )


def draw(means: Sequence[Mean], path: Path) -> None:
    """Risk over loss, a panel for each number of known columns, with lines of equal score."""
    try:
        import matplotlib
    except ImportError as error:
        raise PpduckError("a plot needs matplotlib: pip install 'ppduck[compare]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    known = sorted({each.known for each in means})
    figure, panels = pyplot.subplots(
        1, len(known), figsize=(6 * len(known), 5), squeeze=False, layout="constrained"
    )
    for panel, count in zip(panels[0], known, strict=True):
        rows = [each for each in means if each.known == count]
        points = {each.method.name: (each.measures["IL"], _risk(each)) for each in rows}
        for family, marker in (("ONN", "o"), ("RS", "s"), ("MIC", "^")):
            of = [each for each in rows if each.method.family == family]
            if of:
                x, y = zip(*(points[each.method.name] for each in of), strict=True)
                panel.scatter(x, y, marker=marker, label=family)
        for name, place in points.items():
            panel.annotate(name, place, xytext=(4, 3), textcoords="offset points", fontsize=7)
        low, high = panel.get_xlim()
        for score in range(10, 80, 5):
            panel.plot([0, 2 * score], [2 * score, 0], color="0.8", linewidth=0.8, zorder=0)
        panel.set_xlim(min(low, 0), high)
        panel.set_ylim(0, 1.1 * max(y for _, y in points.values()))
        panel.set_xlabel("information loss, %")
        panel.set_ylabel("disclosure risk, %")
        panel.set_title(f"{count} known columns; equal scores along the lines")
        panel.legend()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _risk(each: Mean) -> float:
    """DR, or without probabilistic linkage what stands for it in the simplified score."""
    measures = each.measures
    return measures["DR"] if "DR" in measures else (measures["DLD"] + measures["ID"]) / 2
