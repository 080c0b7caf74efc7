"""python -m tests.fuzz --calls N --seed S: exit code 1, and the statements, where a call ended in a fault."""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.fuzz.outcomes import CRASH, FAULTS, HANG

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    number: int
    function: str
    statement: str
    kind: str
    said: str


def fuzz(
    calls: int, seed: int, patience: float, worker: Sequence[str] = ("-m", "tests.fuzz.worker")
) -> Iterator[Outcome]:
    """The outcome of each call; a worker that hangs or dies is followed by another one, behind the call it died of."""
    first = 0
    while first < calls:
        command = [sys.executable, *worker, str(seed), str(first), str(calls)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            for outcome in _outcomes(process, first, patience):
                yield outcome
                first = outcome.number + 1


def _outcomes(process: subprocess.Popen[str], first: int, patience: float) -> Iterator[Outcome]:
    """The outcomes of one worker's calls, the last one maybe a hang or a crash."""
    lines, errors = _lines(process.stdout), _lines(process.stderr)
    begun: dict[str, str] = {}
    while True:
        try:
            line = lines.get(timeout=patience)
        except queue.Empty:
            process.kill()
            _rest(lines)
            kind, why = HANG, f"no answer within {patience} s"
            break
        if line is None:
            if process.wait() == 0 and not begun:
                return
            kind, why = CRASH, f"exit code {process.returncode}: {_rest(errors)}"
            break
        told = json.loads(line)
        if "statement" in told:
            begun = told
        else:
            yield Outcome(told["number"], begun["function"], begun["statement"], told["outcome"], told["said"])
            begun = {}
    if not begun:
        raise RuntimeError(f"the fuzzer itself failed behind call {first}: {why}")
    yield Outcome(int(begun["number"]), begun["function"], begun["statement"], kind, why)


def _lines(stream: IO[str] | None) -> queue.Queue[str | None]:
    """The lines of a stream as they come, and None behind them."""
    assert stream is not None
    found: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            found.put(line)
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    return found


def _rest(lines: queue.Queue[str | None]) -> str:
    return "".join(iter(lines.get, None))[-2000:]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Calls every function with odd input.")
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=60, help="seconds after which a call counts as a hang")
    parser.add_argument("--show", action="append", default=[], help="also print calls of this class")
    asked = parser.parse_args(argv)
    counts: Counter[tuple[str, str]] = Counter()
    faults = 0
    for outcome in fuzz(asked.calls, asked.seed, asked.patience):
        counts[outcome.function, outcome.kind] += 1
        faults += outcome.kind in FAULTS
        if outcome.kind in (*FAULTS, *asked.show):
            print(
                f"{outcome.kind}, call {outcome.number} of seed {asked.seed}: {outcome.statement}\n    {outcome.said}"
            )
    kinds = sorted({kind for _, kind in counts})
    print(f"{'function':24}" + "".join(f"{kind:>18}" for kind in kinds))
    for function in sorted({function for function, _ in counts}):
        print(f"{function:24}" + "".join(f"{counts[function, kind]:18}" for kind in kinds))
    total = Counter(kind for kind, count in ((k, c) for (_, k), c in counts.items()) for _ in range(count))
    print(f"{asked.calls} calls, seed {asked.seed}: " + ", ".join(f"{total[kind]} {kind}" for kind in kinds))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
