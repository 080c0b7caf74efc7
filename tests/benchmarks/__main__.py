"""Measures and reports; a missed target is printed, and the exit code is 0 all the same."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from tests.benchmarks import assessment, categories, masks, nonlinear, perturbation, randomized_response
from tests.benchmarks.attacks import attacks
from tests.benchmarks.gate import gate
from tests.benchmarks.large import large
from tests.benchmarks.linearity import linearity
from tests.benchmarks.numpy_side import compared
from tests.benchmarks.release import release
from tests.benchmarks.report import Report
from tests.benchmarks.sdcmicro import add_noise
from tests.benchmarks.spark import spark
from tests.benchmarks.start import start

BENCHMARKS: dict[str, Callable[[Report, int], None]] = {
    "start": start,
    "egadp": masks.egadp,
    "noise": masks.noise,
    "others": masks.others,
    "wide": masks.wide,
    "numpy": compared,
    "linearity": linearity,
    "randomized": randomized_response.masks,
    "reconstruction": randomized_response.reconstruction,
    "anonymity": categories.anonymity,
    "generalize": categories.generalize,
    "queries": categories.queries,
    "disclosure": categories.disclosure,
    "sdcmicro": add_noise,
    "shuffle": nonlinear.shuffle,
    "relations": nonlinear.relations,
    "swap": perturbation.swap,
    "group": perturbation.group,
    "networks": perturbation.networks,
    "security": assessment.security,
    "linkage": assessment.linkage,
    "measures": assessment.others,
    "gate": gate,
    "attacks": attacks,
    "release": release,
    "spark": spark,
    "large": large,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Times of masks beside a copy.")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the table (default 2,000,000)")
    parser.add_argument("--large", action="store_true", help="also 25 times the rows under a small memory limit")
    parser.add_argument("--only", choices=BENCHMARKS, metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    given = parser.parse_args(arguments)
    chosen = [given.only] if given.only else [name for name in BENCHMARKS if name != "large" or given.large]
    report = Report()
    report.start()
    for name in chosen:
        BENCHMARKS[name](report, given.rows)
    report.finish()


if __name__ == "__main__":
    main()
