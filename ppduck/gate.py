"""assert_release(): lets a release pass that keeps every rule of release_check, and stops a pipeline at any other."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ppduck.assess import release_check
from ppduck.errors import PpduckError, quoted
from ppduck.plan import sqlbuild as sql
from ppduck.version import __version__

Names = str | Sequence[str]


class ReleaseRefused(PpduckError):  # noqa: N818 - a verdict, and no mistake in the call
    """A release that fails a rule; ``verdict`` is what release_verdict() returned."""

    def __init__(self, message: str, verdict: dict[str, Any]) -> None:
        super().__init__(message)
        self.verdict = verdict


class Connection(Protocol):
    """A DuckDB connection with ppduck loaded."""

    def execute(self, query: str, /) -> Any: ...


def assert_release(
    con: Connection,
    original: str,
    masked: str,
    *,
    conf: Names,
    key: Names,
    nonconf: Names | None = None,
    limits: Mapping[str, float | None] | None = None,
    verdict: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """The verdict on a release that passes every rule; ReleaseRefused, which names each failed one, on any other.

    ``verdict`` is a file that the verdict is written to as JSON either way, before anything is raised. The other
    parameters are those of release_check.
    """
    found = release_verdict(con, original, masked, conf=conf, key=key, nonconf=nonconf, limits=limits)
    if verdict is not None:
        _write(Path(verdict), found)
    if not found["passed"]:
        raise ReleaseRefused(f"assert_release on {quoted(original)}: {_failures(found)}", found)
    return found


def release_verdict(
    con: Connection,
    original: str,
    masked: str,
    *,
    conf: Names,
    key: Names,
    nonconf: Names | None = None,
    limits: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """What release_check says of a release, as a dictionary of JSON's types: whether it passed, and every rule."""
    _refuse_unloaded(con)
    given: dict[str, Any] = {"original": original, "masked": masked, "conf": _names(conf)}
    given |= {"nonconf": None if nonconf is None else _names(nonconf), "key": _names(key)}
    asked = given | {"limits": limits}
    arguments = ", ".join(f"{name} := {_literal(value)}" for name, value in asked.items() if value is not None)
    found = con.execute(f'SELECT "rule", "limit", "value", "passed", "meaning" FROM {release_check.NAME}({arguments})')
    names = ("rule", "limit", "value", "passed", "meaning")
    rules = [{name: _plain(value) for name, value in zip(names, row, strict=True)} for row in found.fetchall()]
    [(engine,)] = con.execute("SELECT version()").fetchall()
    return {
        "passed": bool(rules) and all(rule["passed"] for rule in rules),
        **given,
        "rules": rules,
        "ppduck": __version__,
        "duckdb": engine,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _refuse_unloaded(con: Connection) -> None:
    """Looked up in the catalogue, because a call that fails would abort an open transaction."""
    query = f"SELECT count(*) FROM duckdb_functions() WHERE function_name = '{release_check.NAME}'"
    if con.execute(query).fetchall() == [(0,)]:
        raise PpduckError(
            "ppduck: this connection does not know release_check; call ppduck.load(con) first. A cursor is a "
            "connection of its own and wants loading too."
        )


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _literal(value: Any) -> str:
    """A value as SQL; what is no number, list or mapping goes as text, for release_check to judge."""
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        if not value:
            return "MAP {}"  # DuckDB 1.4 knows no empty struct
        # A struct, in which one value's type does not touch another's.
        return "{" + ", ".join(f"{_literal(str(name))}: {_literal(limit)}" for name, limit in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    try:
        number = float(value) if not isinstance(value, str) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    return sql.render(sql.number(number) if math.isfinite(number) else sql.text(str(value)))


def _plain(value: Any) -> Any:
    """JSON knows neither NaN nor infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _failures(verdict: Mapping[str, Any]) -> str:
    failed = [rule for rule in verdict["rules"] if not rule["passed"]]
    told = "; ".join(
        f"{rule['rule']} is {_shown(rule['value'])}, above its limit of {_shown(rule['limit'])}"
        if rule["value"] is not None
        else f"{rule['rule']} could not be measured, limit {_shown(rule['limit'])}"
        for rule in failed
    )
    release = quoted(verdict["masked"])
    return f"{release} fails {len(failed)} of {len(verdict['rules'])} rules and must not be released: {told}."


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"


def _write(path: Path, verdict: Mapping[str, Any]) -> None:
    text = json.dumps(verdict, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        outcome = "passed every rule" if verdict["passed"] else _failures(verdict)
        raise PpduckError(
            f"assert_release on {quoted(verdict['original'])}: cannot write the verdict to {str(path)!r}: "
            f"{error.strerror or error}. The release: {outcome}"
        ) from error
