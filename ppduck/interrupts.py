"""Long work in Python that ends when its connection is interrupted.

DuckDB does not tell the functions that it calls of an interrupt, and sees it itself only when they return. So a plan's
specification carries the name by which the planner knows the connection that asks, the function is at work for that
name, and ``stop`` tells it; loops that may take long ask ``check_interrupt`` now and then.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ppduck.errors import PpduckError

ASKING = "asking"  # where a specification has the name

_thread = threading.local()
_lock = threading.Lock()
_at_work: list[tuple[str, threading.Event]] = []


@contextmanager
def planning_for(name: str) -> Iterator[None]:
    """What this thread plans is for the connection of this name."""
    before = asking()
    _thread.asking = name
    try:
        yield
    finally:
        _thread.asking = before


def asking() -> str | None:
    """The connection that this thread plans for."""
    found: str | None = getattr(_thread, "asking", None)
    return found


@contextmanager
def at_work(specification: Any) -> Iterator[None]:
    """What this thread does is for the connection that a specification names, if it names one."""
    name = _named(specification)
    if name is None:
        yield
        return
    before, work = getattr(_thread, "stopped", None), (name, threading.Event())
    with _lock:
        _at_work.append(work)
    _thread.stopped = work[1]
    try:
        yield
    finally:
        _thread.stopped = before
        with _lock:
            _at_work.remove(work)


def _named(specification: Any) -> str | None:
    if not isinstance(specification, str) or not specification.startswith("{"):
        return None
    name: str | None = json.loads(specification).get(ASKING)
    return name


def stop(name: str) -> None:
    """Stops all that is at work for a connection."""
    with _lock:
        for asked_by, stopped in _at_work:
            if asked_by == name:
                stopped.set()


def check_interrupt() -> None:
    """Raises where the work that this thread does was stopped; does nothing where nobody can stop it."""
    stopped: threading.Event | None = getattr(_thread, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise PpduckError("Interrupted: the connection was, while a function computed in Python.")
