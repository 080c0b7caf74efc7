"""The table that a run prints, line by line as it is measured."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field

import duckdb

import ppduck

_FORMAT = "{:<46} {:>9} {:>11}  {:<22} {}"


@dataclass(frozen=True)
class Line:
    """One measurement; ``ok`` is None where there is nothing to reach."""

    what: str
    seconds: float | None = None
    times: float | None = None
    target: str = ""
    ok: bool | None = None
    note: str = ""

    @classmethod
    def against(
        cls, what: str, seconds: float, copy: float, most: float | None = None, aim: float | None = None
    ) -> Line:
        """A time in units of the copy's, with the most that it may be."""
        times = seconds / copy
        target = "" if most is None else f"<= {most:g}" + ("" if aim is None else f", aim {aim:g}")
        note = "over the aim" if most is not None and aim is not None and aim < times <= most else ""
        return cls(what, seconds, times, target, None if most is None else times <= most, note)

    def __str__(self) -> str:
        seconds = "" if self.seconds is None else f"{self.seconds:.3f}"
        times = "" if self.times is None else f"{self.times:.1f}"
        verdict = {None: "", True: "ok", False: "OVER"}[self.ok]
        notes = ", ".join(part for part in (verdict, self.note) if part)
        return _FORMAT.format(self.what, seconds, times, self.target, notes).rstrip()


@dataclass
class Report:
    """Prints lines and remembers which targets were missed."""

    lines: list[tuple[str, Line]] = field(default_factory=list)
    title: str = ""

    def start(self) -> None:
        print(machine())
        print(_FORMAT.format("what", "seconds", "x the copy", "target", "").rstrip(), flush=True)

    def section(self, title: str) -> None:
        self.title = title
        print(f"\n{title}", flush=True)

    def add(self, line: Line) -> None:
        self.lines.append((self.title, line))
        print(line, flush=True)

    def finish(self) -> None:
        judged = [(title, line) for title, line in self.lines if line.ok is not None]
        missed = [(title, line) for title, line in judged if not line.ok]
        print(f"\n{len(judged) - len(missed)} of {len(judged)} targets reached")
        for title, line in missed:
            got = line.note if line.times is None else f"{line.times:.1f} times the copy"
            print(f"MISSED: {line.what} ({title}): {got}, target {line.target}")


def machine() -> str:
    """What the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (
        f"{cores} cores, {memory:.0f} GiB, duckdb {duckdb.__version__}, python {platform.python_version()}, "
        f"ppduck {ppduck.__version__}"
    )
