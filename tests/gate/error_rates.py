"""python -m tests.gate.error_rates --draws 100 [--only NAME] [--sizes 300 1000] [--power]

How often the gate refuses a safe release, by mask, kind of data and rule; with --power, from which size on it finds leaks.

Each draw has data, mask and seed of its own; masks take turns, and so does whether the open columns are named. What
failed is printed with what draws it again: ``once(con, kind, n, draw)``.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

import ppduck
from ppduck.errors import PpduckError, PpduckWarning
from tests.gate import power
from tests.gate.drawn import KINDS, Kind, create, names, release, rng_of

SIZES = (100, 300, 1000, 5000)


@dataclass(frozen=True)
class Outcome:
    """What the gate said of one release; None where the mask refused the data."""

    kind: str
    mask: str
    n: int
    draw: int
    failed: tuple[tuple[str, str], ...] | None  # rules, and why

    @property
    def rules(self) -> str:
        return " + ".join(sorted({rule for rule, _ in self.failed or ()}))


def once(con: duckdb.DuckDBPyConnection, kind: Kind, n: int, draw: int) -> Outcome:
    """Draws data, masks them, and asks."""
    turn, place = divmod(draw + KINDS.index(kind), len(kind.masks))
    mask = kind.masks[place]
    create(con, kind.draw(rng_of(kind.name, n, draw), n))
    try:
        release(con, kind, mask, draw)
    except (PpduckError, duckdb.Error):
        return Outcome(kind.name, mask, n, draw, None)
    named = f", nonconf={names((*kind.nonconf, *kind.strata))}" if turn % 2 else ""
    design = ", p={'disease': 0.4}" if mask == "rr" else ""
    question = f"release_check('original', 'release', conf={names(kind.conf)}, key='id'{named}{design})"
    found = con.execute(
        f"SELECT rule, coalesce(column_name, '') || ': ' || value || ' > ' || at_most || ', ' || why "
        f"FROM {question} WHERE NOT passed"
    ).fetchall()
    return Outcome(kind.name, mask, n, draw, tuple((rule, str(why)) for rule, why in found))


def connected() -> duckdb.DuckDBPyConnection:
    """What a mask advises against is no matter of the gate: its warnings are not shown."""
    warnings.simplefilter("ignore", PpduckWarning)
    con = ppduck.load(duckdb.connect(), "a secret for drawn tables")
    con.execute("SET threads = 1")
    return con


def outcomes(
    con: duckdb.DuckDBPyConnection, kinds: Sequence[Kind], sizes: Sequence[int], draws: range
) -> Iterator[Outcome]:
    """Every kind and size in turn, so that a run that is cut short has seen them all."""
    for draw in draws:
        for kind in kinds:
            yield from (once(con, kind, n, draw) for n in sizes if n in (kind.sizes or sizes))


def upper(failed: int, draws: int) -> float:
    """The rate that is exceeded once in twenty times: 3/n if none failed, else by Wilson (1927)."""
    if not draws:
        return 1.0
    if not failed:
        return min(3 / draws, 1.0)
    share, z = failed / draws, 1.645
    middle = share + z * z / (2 * draws)
    return (middle + z * math.sqrt(share * (1 - share) / draws + (z / (2 * draws)) ** 2)) / (1 + z * z / draws)


def table(found: Sequence[Outcome], by: str) -> Iterator[str]:
    """Lines of a table in Markdown: rows are masks or kinds of data, columns are sizes."""
    sizes = sorted({each.n for each in found})
    yield f"| {by} | " + " | ".join(f"n = {n:,}" for n in sizes) + " | failed by | at most |"
    yield "| --- |" + " --- |" * (len(sizes) + 2)
    for name in dict.fromkeys(getattr(each, by) for each in found):
        own = [each for each in found if getattr(each, by) == name and each.failed is not None]
        cells = []
        for n in sizes:
            some = [each for each in own if each.n == n]
            cells.append(f"{sum(bool(each.failed) for each in some)} of {len(some)}")
        rules = Counter(each.rules for each in own if each.failed and each.n >= 300)
        listed = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        large = [each for each in own if each.n >= 300]
        most = upper(sum(bool(each.failed) for each in large), len(large))
        yield f"| {name} | " + " | ".join(cells) + f" | {listed} | {most:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="of each kind of data and size, or of each leak")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--only", default="", help="kinds of data, or leaks, whose name contains this")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--power", action="store_true", help="find leaks, in place of false alarms")
    parser.add_argument("--minutes", type=float, default=math.inf, help="after which no more false alarms are sought")
    asked = parser.parse_args()
    with connected() as con:
        if asked.power:
            for line in power.table(con, asked.draws, asked.only, asked.sizes):
                print(line, flush=True)
        else:
            _false_alarms(con, asked)


def _false_alarms(con: duckdb.DuckDBPyConnection, asked: argparse.Namespace) -> None:
    found, begun = [], time.monotonic()
    kinds = [kind for kind in KINDS if asked.only.lower() in kind.name.lower()]
    for outcome in outcomes(con, kinds, asked.sizes, range(asked.first, asked.first + asked.draws)):
        found.append(outcome)
        for rule, why in outcome.failed or ():
            print(f"{outcome.kind}, n={outcome.n}, draw={outcome.draw}, {outcome.mask}: {rule} of {why}", flush=True)
        if time.monotonic() - begun > 60 * asked.minutes:
            break
    for by in ("mask", "kind"):
        print("", *table(found, by), sep="\n")
    refused = Counter((each.kind, each.mask, each.n) for each in found if each.failed is None)
    for (kind, mask, n), count in refused.items():
        print(f"{mask} refused {count} of {kind}, n={n}")


if __name__ == "__main__":
    main()
