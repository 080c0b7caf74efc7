"""Imports point down only and go round nowhere; only the extension, the ways in and the studies know DuckDB."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import ppduck
from ppduck.call.registry import ROOMS

ROOT = Path(ppduck.__file__).parent
TESTS = Path(__file__).parent
# From the ground up; a module may import its own layer and those before it.
LAYERS = [
    ("errors", "frozen", "interrupts", "libraries", "notes", "progress", "secret", "values", "version"),
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
    ("attacks",),
    ("gate", "guide", "policy"),
    ("extension",),
    ("__init__",),
    ("compare", "dbt", "help", "shell", "spark", "where"),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Who may import by a name that is no import statement, and why.
BY_NAME = {
    "call/registry.py": "finds the functions of the rooms, which are above it",
    "libraries.py": "imports what takes long when it is used",
    "shell/command.py": "has subcommands that need packages which others do without",
}
# Who may ask DuckDB's catalogue beside ppduck/catalogue, and why.
CATALOGUE_FUNCTION = re.compile(r"\b(duckdb_[a-z]+|pragma_\w+)\(|\binformation_schema\.")
ASKS_CATALOGUE = {
    "shell/names.py": "completes the names that its own connection knows",
    "shell/dots.py": "lists the tables of its own connection as they are",
}
# Who writes SQL as text into a tree, and why.
RAW = {
    "catalogue/hash_function.py": "literals of every type that is hashed, as a user would write them",
    "designs/drawing.py": "up to 40,000 thresholds, a tree of which takes longer to plan than the statement to run",
    "estimators/question_table.py": "the numbers of a matrix, likewise",
    "measures/interval_disclosure.py": "a count for each width of each column, likewise",
    "query/aggregates.py": "sums of products of all pairs of columns, likewise",
    "query/normals.py": "a rational function of so many terms, made once for all plans",
    "query/tree.py": "types, of which a plan has hundreds; a recursion of one row, which has no builder",
    "query/whole_names.py": "what the user wrote means what it means to the user",
}
MOST_BY_PLACE = 8  # arguments of a call; more are given by their names
# Who has no test file of the same name, and where or why not it is tested.
TESTED_ELSEWHERE = {
    "catalogue/reader.py": "a protocol, which does nothing",
    "version.py": "test_packaging.py",
    "help.py": "test_help_command.py",
    "libraries.py": "test_light_start.py",
    "compare/releases.py": "compare/test_compare.py",
    "compare/report.py": "compare/test_compare.py",
    "compare/scoring.py": "compare/test_compare.py",
    # a program, which is tried as one
    "shell/command.py": "test_shell.py",
    "shell/dots.py": "test_shell.py",
    "shell/names.py": "shell/test_completion.py",
    "shell/results.py": "test_shell.py",
    "shell/scripts.py": "test_shell.py",
    "shell/secret_file.py": "shell/test_options.py",
    "shell/session.py": "test_shell.py",
    "shell/statements.py": "test_shell.py",
    "shell/streams.py": "test_shell.py",
    # the parts of a proposal, which are seen in all of it
    "policy/_suggestions.py": "policy/test_suggest_policy.py",
    # what needs a session, of which there is one for all
    "spark/_api.py": "spark/test_contract.py",
    "spark/_catalog.py": "spark/test_contract.py",
    "spark/_compared.py": "spark/test_contract.py",
    "spark/_counted.py": "spark/test_contract.py",
    "spark/_driver.py": "spark/test_worker.py",
    "spark/_engine.py": "spark/test_publish.py",
    "spark/_masking.py": "spark/test_publish.py",
    "spark/_ranks.py": "spark/test_contract.py",
}


def modules() -> dict[str, Path]:
    """Every file by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def layer_of(module: str) -> str:
    return "__init__" if module == "ppduck" else module.split(".")[1]


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> set[str]:
    """Every module that a file imports, by its dotted name; of ppduck, the module that a name comes from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.add(inner if inner in MODULES else module)
    return found


def own_imports(path: Path) -> set[str]:
    return {name for name in imported(path) if name.split(".")[0] == "ppduck"}


def test_every_module_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} == set(LEVEL)
    assert [layer_of(room) for room in ROOMS] == sorted(map(layer_of, ROOMS), key=LEVEL.__getitem__)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    for name in own_imports(MODULES[module]):
        assert name in MODULES, f"{module} imports {name}, which there is not"
        assert LEVEL[layer_of(name)] <= LEVEL[layer_of(module)], f"{module} imports {name}, which is above it"


def test_no_import_goes_round() -> None:
    packages = {name for name, path in MODULES.items() if path.name == "__init__.py"}
    graph = {module: own_imports(path) - {module} for module, path in MODULES.items() if module not in packages}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


@pytest.mark.parametrize("module", MODULES)
def test_private_modules_stay_in_their_package(module: str) -> None:
    assert private_imports(MODULES[module].read_text(encoding="utf-8"), package_of(module)) == []


@pytest.mark.parametrize(
    ("source", "package", "found"),
    [
        ("from ppduck.masks import _boxes", "ppduck.masks", []),
        ("from ppduck.masks import _boxes", "ppduck.measures", ["ppduck.masks._boxes"]),
        ("from ppduck.masks._boxes import Boxes", "ppduck.measures", ["ppduck.masks._boxes.Boxes"]),
        ("import ppduck.masks._boxes", "ppduck.measures", ["ppduck.masks._boxes"]),
        ("from ppduck.masks.egadp import _part", "ppduck.masks", []),
        ("from ppduck.kernels.linkage import TIE, _CELLS", "ppduck.measures", ["ppduck.kernels.linkage._CELLS"]),
        ("from ppduck.errors import _part", "ppduck.call", ["ppduck.errors._part"]),
        ("from ppduck.version import __version__", "ppduck.gate", []),
        ("from elsewhere import _part", "ppduck.gate", []),
    ],
)
def test_a_private_import_is_noticed(source: str, package: str, found: list[str]) -> None:
    assert private_imports(source, package) == found


def private_imports(source: str, package: str) -> list[str]:
    """What a file of a package imports that is the own of another one: a ``_module``, or a ``_name`` of a module."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return [name for name in names if name.startswith("ppduck.") and _owners(name) - {package}]


def _owners(name: str) -> set[str]:
    """The packages that the private parts of a dotted name belong to."""
    parts = name.split(".")
    private = [i for i, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")]
    return {package_of(".".join(parts[:i])) for i in private}


def package_of(module: str) -> str:
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def test_who_imports_by_name() -> None:
    users = {place(path) for path in MODULES.values() if any(_calls(path, {"import_module", "__import__", "exec"}))}
    assert users == set(BY_NAME)


def _calls(path: Path, names: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in names:
                yield called


def test_who_writes_sql_as_text() -> None:
    users = {place(path) for path in MODULES.values() if any(_calls(path, {"raw"}))}
    assert users == set(RAW)


def test_no_call_has_more_arguments_than_can_be_told_apart() -> None:
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                assert len(node.args) <= MOST_BY_PLACE, f"{place(path)}:{node.lineno}: name the arguments"


def test_who_asks_duckdbs_catalogue() -> None:
    users = {place(path) for path in MODULES.values() if any(map(CATALOGUE_FUNCTION.search, _texts(path)))}
    assert {user for user in users if not user.startswith("catalogue/")} == set(ASKS_CATALOGUE)


def _texts(path: Path) -> Iterator[str]:
    """The strings of a file that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


def test_only_the_extension_and_the_ways_in_import_duckdb() -> None:
    users = {layer_of(module) for module, path in MODULES.items() if _packages(path) & {"duckdb"}}
    assert users <= {"compare", "dbt", "extension", "shell", "spark"}


def test_kernels_know_no_sql() -> None:
    for module, path in MODULES.items():
        assert layer_of(module) != "kernels" or not _packages(path) & {"duckdb", "sqlglot", "pyarrow"}, module


def _packages(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def test_a_room_is_not_a_hall() -> None:
    for module, path in MODULES.items():
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, f"{module} should become two files"


def test_every_module_has_its_tests() -> None:
    """Those of masks/egadp.py are in tests/masks/test_egadp.py, those of masks/_boxes.py in tests/masks/test_boxes.py."""
    without = {place(path) for path in MODULES.values() if _wants_tests(path) and not _has_tests(_mirrored(path))}
    assert without == set(TESTED_ELSEWHERE)
    named = {where for where in TESTED_ELSEWHERE.values() if where.endswith(".py")}
    assert {where for where in named if not (TESTS / where).exists()} == set()


def _wants_tests(path: Path) -> bool:
    return path.name not in ("__init__.py", "__main__.py")


def _has_tests(path: Path) -> bool:
    return path.exists() and "\ndef test_" in path.read_text(encoding="utf-8")


def _mirrored(path: Path) -> Path:
    return TESTS / path.relative_to(ROOT).parent / f"test_{path.stem.lstrip('_')}.py"


def test_values_are_frozen_by_the_way_that_is_quick_to_import() -> None:
    slow = [name for name, path in MODULES.items() if "\n@dataclass(frozen=True" in path.read_text(encoding="utf-8")]
    assert slow == [], "write @frozen, of ppduck.frozen"
