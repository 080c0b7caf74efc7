"""BLAS on one thread: beside DuckDB's threads, BLAS threads that wait for each other take many times as long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ppduck.libraries import linalg

# The limit is the process's: two that set it at a time would each restore what the other has set.
_turn = threading.RLock()


@cache
def _controller() -> ThreadpoolController:
    linalg.load()  # scipy brings a BLAS of its own, which would keep its threads if it came later
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    with _turn, _controller().limit(limits=1, user_api="blas"):
        yield
