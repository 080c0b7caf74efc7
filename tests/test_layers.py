"""Imports point down only, and only the extension and the ways in know DuckDB."""

from __future__ import annotations

import ast
from pathlib import Path

import ppduck

ROOT = Path(ppduck.__file__).parent
# From the ground up; a module may import its own layer and those before it.
LAYERS = [
    ("errors", "interrupts", "libraries", "notes", "secret", "values", "version"),
    ("kernels",),
    ("query",),
    ("catalogue",),
    ("call",),
    ("runtime",),
    ("stages",),
    ("pairs", "designs"),
    ("masks",),
    ("estimators",),
    ("association", "disclosure", "anonymity"),
    ("measures",),
    ("gate", "guide"),
    ("extension",),
    ("__init__",),
    ("compare", "dbt", "help", "shell", "where"),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that a file imports, by its dotted name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in modules()} == set(LEVEL)


def test_imports_point_down() -> None:
    for path in modules():
        own = LEVEL[layer_of(path)]
        for name in imported(path):
            parts = name.split(".")
            if parts[0] != "ppduck" or len(parts) < 2 or parts[1] not in LEVEL:
                continue
            assert LEVEL[parts[1]] <= own, f"{path.relative_to(ROOT)} imports {name}, which is above it"


def test_only_the_extension_and_the_ways_in_import_duckdb() -> None:
    users = {layer_of(path) for path in modules() if "duckdb" in {name.split(".")[0] for name in imported(path)}}
    assert users <= {"compare", "dbt", "extension", "shell"}


def test_kernels_know_no_sql() -> None:
    for path in (ROOT / "kernels").glob("*.py"):
        assert not {"duckdb", "sqlglot", "pyarrow"} & {name.split(".")[0] for name in imported(path)}


def test_a_room_is_not_a_hall() -> None:
    for path in modules():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, f"{path.name} should become two files"
