"""Importing ppduck and loading a connection leave the heavy libraries alone until something of theirs is used."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ppduck import libraries

HEAVY = (
    *("pandas", "scipy.linalg", "scipy.optimize", "scipy.special", "scipy.stats", "sklearn"),
    "sqlglot.generators.duckdb",
    "yaml",
)


def imported_after(code: str) -> set[str]:
    """The heavy modules of a fresh interpreter that has run this."""
    asked = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=300)
    return set(done.stdout.split())


def test_import_finds_all_functions_without_heavy_libraries() -> None:
    assert imported_after("import ppduck\nfrom ppduck.call import registry\nassert registry._FUNCTIONS") == set()


def test_load_without_heavy_libraries() -> None:
    code = "import duckdb, ppduck\ncon = ppduck.load(duckdb.connect())"
    # DuckDB 1.4 calls functions while macros are made, and imports pandas then.
    assert imported_after(code) <= {"pandas"}


def test_a_plan_that_calls_python_imports_what_duckdb_would_import_in_its_threads() -> None:
    code = (
        "import ppduck\ncon = ppduck.connect()\n"
        "con.execute('CREATE TABLE t AS SELECT i AS id, sin(i) AS x FROM range(100) r(i)')\n"
    )
    told = f"{code}con.sql(\"FROM mask_explain('noise_mask', 't', conf=['x'], level=0.1)\")"
    masked = f"{code}con.sql(\"FROM noise_mask('t', conf=['x'], level=0.1, key='id')\")"
    assert "scipy.stats" not in imported_after(told)
    assert "pandas" in imported_after(masked)


def test_a_module_is_imported_when_an_attribute_is_asked_for() -> None:
    later = libraries.Later("colorsys")
    assert "rgb_to_hsv" not in vars(later)
    assert later.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)
    assert "rgb_to_hsv" in vars(later)
    with pytest.raises(AttributeError, match="nothing"):
        _ = later.nothing


def test_a_module_that_is_missing_is_said_to_be() -> None:
    with pytest.raises(ImportError, match="no_such_library"):
        _ = libraries.Later("no_such_library").anything


def test_threads_import_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = threading.Semaphore(1)

    def watched(name: str) -> object:
        assert threading.current_thread() is not threading.main_thread(), "an interrupt would leave half a module"
        assert inside.acquire(blocking=False), "two threads import at once"
        threading.Event().wait(0.01)
        inside.release()
        return threading

    monkeypatch.setattr(libraries.importlib, "import_module", watched)
    monkeypatch.setattr(libraries, "_imported", {})
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(lambda i: libraries.Later(f"module{i}").Lock, range(16)))) == 16
