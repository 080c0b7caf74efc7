"""BLAS on one thread: beside DuckDB's threads, BLAS threads that wait for each other take many times as long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ppduck.libraries import ensemble, linalg

# The limit is the process's: two that set it at a time would each restore what the other has set.
_turn = threading.RLock()


@cache
def _controller() -> ThreadpoolController:
    linalg.load()  # scipy brings a BLAS of its own, which would keep its threads if it came later
    return ThreadpoolController()


@cache
def _of_trees() -> ThreadpoolController:
    ensemble.load()  # brings OpenMP
    return ThreadpoolController()


@contextmanager
def one_thread_for_trees() -> Iterator[None]:
    """The same of scikit-learn's trees, which are small here: threads that wait take ten times as long."""
    with _turn, _of_trees().limit(limits=1, user_api="openmp"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    with _turn, _controller().limit(limits=1, user_api="blas"):
        yield
