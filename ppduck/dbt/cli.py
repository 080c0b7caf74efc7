"""ppduck dbt: ``init`` puts the macros into a dbt project, ``rules`` lists its masking rules."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ppduck.dbt import policies
from ppduck.dbt.policies import Release
from ppduck.dbt.project import MACRO, Node, Project, calls_the_macro, has_rule
from ppduck.dbt.rules import Rule
from ppduck.errors import PpduckError, quoted
from ppduck.libraries import yaml
from ppduck.policy import release_table

MACROS = Path(__file__).with_name("macros") / "ppduck.sql"
PROJECT_FILE, PROFILES, PARSED = "dbt_project.yml", "profiles.yml", "target/partial_parse.msgpack"
HEAD = ("model", "source", "mask", "columns and parameters")
IN_SQL, LATER_ON = "in the model's SQL", "known when it runs"
CHECK = 'on-run-start: "{{ ppduck_check_rules() }}"'
NEXT_STEPS = f"""\
profiles.yml needs the plugin, in the outputs that use DuckDB:
  plugins:
    - module: ppduck.dbt
      config: {{secret_env: NAME}}  # the environment variable that holds the secret, 16 bytes or more
{PROJECT_FILE} may have every rule checked before anything is built:
  {CHECK}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 after an error or for a wrong rule, 2 for a call that makes no sense."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "init":
            return init(Path(asked.project), asked.to)
        return rules(Path(asked.project), asked.manifest)
    except PpduckError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ppduck dbt", description="Masking in a dbt project.")
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser(
        "init", help="write ppduck's macros and its release test into a project"
    )
    writing.add_argument(
        "--to", metavar="FOLDER", help="a folder of macro-paths (default: the first of them)"
    )
    listing = commands.add_parser("rules", help="list the masking rules of a project")
    listing.add_argument(
        "--manifest", metavar="FILE", help="read this manifest.json instead of running dbt parse"
    )
    for command in (writing, listing):
        command.add_argument(
            "project", nargs="?", default=".", metavar="PROJECT_DIR", help="default: here"
        )
    return parser


def init(project: Path, folder: str | None) -> int:
    """Writes the macros, over those of an earlier ppduck but over nothing else."""
    about = _text(_project_file(project))
    target, text = (
        project / (folder or _macro_folder(about)) / MACROS.name,
        MACROS.read_text(encoding="utf-8"),
    )
    try:
        if (
            target.exists()
            and target.read_bytes().splitlines()[:1] != text.encode().splitlines()[:1]
        ):
            raise PpduckError(
                f"{quoted(str(target))} is not ppduck's; move it, or choose another folder with --to."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PpduckError(
            f"cannot write {quoted(str(target))}: {error.strerror or error}"
        ) from None
    print(
        f"Wrote {target}: {MACRO}, {policies.MACRO}, ppduck_check_rules, ppduck_comment and the test ppduck_release."
    )
    if "ppduck_check_rules" not in about:
        print(NEXT_STEPS)
    return 0


def rules(project: Path, manifest: str | None) -> int:
    """Prints the rules, a line each; what is wrong with them goes to standard error."""
    found = _read(Path(manifest)) if manifest else _parsed(project)
    nodes = Project({**found["nodes"], **found["sources"]}, project)
    lines, wrong = [HEAD], 0
    for _, node in nodes.models():
        place = (str(node["name"]), _sources(nodes, node))
        try:
            told = [_line(rule) for rule in nodes.check(node)] if has_rule(node) else []
        except PpduckError as error:
            wrong += 1
            print(f"Error: {error}", file=sys.stderr)
            continue
        if not told and calls_the_macro(node):
            told = [(IN_SQL, "")]
        lines += [(*place, *each) for each in told]
    for warning in _warnings(found, nodes):
        print(f"Warning: {warning}", file=sys.stderr)
    if len(lines) == 1 and not wrong:
        print("no masking rules: no model has meta.ppduck", file=sys.stderr)
    else:
        print("\n".join(_table(lines)))
    return 1 if wrong else 0


def _warnings(manifest: Mapping[str, Any], nodes: Project) -> list[str]:
    found, macros = nodes.warnings(), manifest.get("macros")
    if (
        found
        and macros is not None
        and not any(macro.get("name") == MACRO for macro in macros.values())
    ):
        return [
            f"the project has no macro {MACRO}, so that nothing is masked; run ppduck dbt init."
        ]
    return found


def _sources(project: Project, node: Node) -> str:
    return ", ".join(str(project.nodes[id_]["name"]) for id_ in project.sources(node))


def _line(rule: Rule | Release) -> tuple[str, str]:
    if isinstance(rule, Release):
        return release_table.NAME, rule.told
    return rule.mask.name, _told(rule)


def _told(rule: Rule) -> str:
    roles = [f"{role}: {', '.join(names)}" for role, names in {**rule.roles, **rule.gate}.items()]
    later = [f"{name}: {LATER_ON}" for name in rule.later]
    return "; ".join(
        [*roles, *(f"{name}: {json.dumps(value)}" for name, value in rule.own.items()), *later]
    )


def _table(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()


def _project_file(project: Path) -> Path:
    path = project / PROJECT_FILE
    if not path.is_file():
        raise PpduckError(
            f"there is no dbt project in {quoted(str(project))}: it has no {PROJECT_FILE}."
        )
    return path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise PpduckError(f"cannot read {quoted(str(path))}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise PpduckError(
            f"{quoted(str(path))} is not written in UTF-8, which dbt reads."
        ) from None


def _macro_folder(project_file: str) -> str:
    """The first of macro-paths, as dbt would have it; dbt will say what is wrong with the file."""
    try:
        paths = yaml.safe_load(project_file)["macro-paths"]
    except (KeyError, TypeError, yaml.YAMLError):
        return "macros"
    return str(paths[0]) if isinstance(paths, list) and paths else "macros"


def _read(manifest: Path) -> dict[str, Any]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise PpduckError(
            f"cannot read {quoted(str(manifest))}: {error.strerror or error}"
        ) from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not {"nodes", "sources"} <= set(found):
        raise PpduckError(f"{quoted(str(manifest))} is no manifest.json of dbt's.")
    return found


def _parsed(project: Path) -> dict[str, Any]:
    """What dbt makes of the project now; nothing is written into it."""
    _project_file(project)
    try:
        from dbt.cli.main import dbtRunner
    except ImportError:
        raise PpduckError(
            "this needs dbt: pip install 'ppduck[dbt]', or give --manifest."
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        command = ["--quiet", "--no-send-anonymous-usage-stats", "--log-path", folder, "parse"]
        command += ["--project-dir", str(project), "--target-path", folder]
        if (project / PROFILES).is_file() and "DBT_PROFILES_DIR" not in os.environ:
            command += ["--profiles-dir", str(project)]
        if (project / PARSED).is_file():  # dbt then reads only what has changed
            command += ["--partial-parse-file-path", str(project / PARSED)]
        with contextlib.redirect_stdout(io.StringIO()):  # errors are told below
            ran = dbtRunner().invoke(command)
        if not ran.success:
            raise PpduckError(f"dbt cannot parse the project: {ran.exception}")
        return _read(Path(folder) / "manifest.json")
