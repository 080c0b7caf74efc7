"""The limit on BLAS threads holds while it should, and not after, whoever else sets it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy  # noqa: F401  the BLAS that is limited, and the other
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_info

from ppduck.kernels.threads import one_thread, one_thread_for_trees


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_one_thread_inside_and_as_before_outside() -> None:
    before = blas_threads()
    with one_thread(), one_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_two_at_a_time_restore_what_was_there_before_both() -> None:
    before = blas_threads()

    def limited(seconds: float) -> None:
        with one_thread():
            time.sleep(seconds)

    workers = [threading.Thread(target=limited, args=(seconds,)) for seconds in (0.02, 0.05, 0.01)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert blas_threads() == before


def test_every_blas_that_kernels_use_is_limited_from_the_first_call_on() -> None:
    """scipy has a BLAS beside numpy's, and is imported late: in a new process, it is not there before."""
    program = """
import ppduck
from threadpoolctl import threadpool_info
from ppduck.kernels.threads import one_thread, one_thread_for_trees
with one_thread():
    import scipy.linalg, scipy.optimize, scipy.stats
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    print(sorted({pool["num_threads"] for pool in pools}), any("scipy" in pool["filepath"] for pool in pools))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] in ("[1] True", "[1] False"), done.stdout  # False: one library serves both


def test_trees_have_one_thread_too() -> None:
    with one_thread_for_trees():
        threads = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"]
        assert set(threads) == {1}
