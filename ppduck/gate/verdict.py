"""The gate for Python programs: a release that keeps every rule of release_check passes, any other stops a pipeline."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ppduck.catalogue.functions import sees_function
from ppduck.errors import PpduckError, quoted
from ppduck.gate import release_check
from ppduck.query import tree as sql
from ppduck.version import __version__

Names = str | Sequence[str]


class ReleaseRefused(PpduckError):  # noqa: N818 - a verdict, and no mistake in the call
    """A release that fails a rule: the message names each, and ``verdict`` is what release_verdict() returned."""

    def __init__(self, message: str, verdict: dict[str, Any]) -> None:
        super().__init__(message)
        self.verdict = verdict


class Connection(Protocol):
    """A DuckDB connection with ppduck loaded."""

    def execute(self, query: str, /) -> Any: ...


def assert_release(
    con: Connection,
    original: str,
    release: str,
    *,
    conf: Names,
    key: Names,
    nonconf: Names | None = None,
    limits: Mapping[str, float | None] | None = None,
    verdict: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Lets a release pass that keeps every rule of ``release_check``, and stops a pipeline at any other.

    Parameters
    ----------
    con:
        A connection with ppduck loaded.
    original, release:
        The two tables or views, or files, or SELECTs in parentheses.
    conf, key, nonconf, limits:
        Those of ``release_check``: the masked columns; the columns that identify a row in both tables; the columns
        that an intruder may know; the rules and their limits, ``{"linkage": 0.05}``, None for what chance
        allows, where a rule knows that.
    verdict:
        A file that the verdict is written to as JSON, before anything is raised.

    Returns
    -------
    dict
        The verdict, as ``release_verdict`` gives it.

    Raises
    ------
    ReleaseRefused
        If any rule fails; it names each one, its value and its limit.
    PpduckError
        If ppduck is not loaded, or if the verdict cannot be written.

    Example
    -------
    >>> import ppduck
    >>> con = ppduck.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
    >>> _ = con.execute("CREATE TABLE r AS FROM egadp_mask('t', conf=['x'], nonconf=['s'], key='id', seed=1)")
    >>> ppduck.assert_release(con, "t", "r", conf="x", key="id", nonconf="s", limits={"r2_gain": 0.01})["passed"]
    True
    >>> try:
    ...     ppduck.assert_release(con, "t", "t", conf="x", key="id", nonconf="s", limits={"linkage": 0.05})
    ... except ppduck.ReleaseRefused as refused:
    ...     print(refused)
    assert_release on "t": "t" fails 1 of 1 rules and must not be released: linkage is 1, above its limit of 0.05.
    """
    found = release_verdict(
        con, original, release, conf=conf, key=key, nonconf=nonconf, limits=limits
    )
    if verdict is not None:
        _write(Path(verdict), found)
    if not found["passed"]:
        raise ReleaseRefused(f"assert_release on {quoted(original)}: {_failures(found)}", found)
    return found


def release_verdict(
    con: Connection,
    original: str,
    release: str,
    *,
    conf: Names,
    key: Names,
    nonconf: Names | None = None,
    limits: Mapping[str, float | None] | None = None,
) -> dict[str, Any]:
    """What ``release_check`` says of a release, in JSON's types; raises nothing where a rule fails.

    Parameters
    ----------
    con, original, release, conf, key, nonconf, limits:
        Those of ``assert_release``.

    Returns
    -------
    dict
        ``passed``; ``rules``, a list of dictionaries with ``rule``, ``passed``, ``value``, ``at_most`` and ``meaning``;
        what was asked; the versions of ppduck and DuckDB; the time.

    Example
    -------
    >>> import ppduck
    >>> con = ppduck.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
    >>> verdict = ppduck.release_verdict(con, "t", "t", conf="x", key="id", nonconf="s", limits={"linkage": 0.05})
    >>> [(rule["rule"], rule["value"], rule["passed"]) for rule in verdict["rules"]]
    [('linkage', 1.0, False)]
    """
    _refuse_unloaded(con)
    given: dict[str, Any] = {"original": original, "release": release, "conf": _names(conf)}
    given |= {"nonconf": None if nonconf is None else _names(nonconf), "key": _names(key)}
    asked = given | {"limits": limits}
    arguments = ", ".join(
        f"{name} := {_literal(value)}" for name, value in asked.items() if value is not None
    )
    found = con.execute(
        f'SELECT "rule", "passed", "value", "at_most", "meaning" FROM temp.main.{release_check.NAME}({arguments})'
    )
    names = ("rule", "passed", "value", "at_most", "meaning")
    rules = [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in found.fetchall()
    ]
    [(engine,)] = con.execute("SELECT system.main.version()").fetchall()
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
    if not sees_function(con, release_check.NAME, "temp"):
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
        return (
            "{"
            + ", ".join(
                f"{_literal(str(name))}: {_literal(limit)}" for name, limit in value.items()
            )
            + "}"
        )
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
        f"{rule['rule']} is {_shown(rule['value'])}, above its limit of {_shown(rule['at_most'])}"
        if rule["value"] is not None
        else f"{rule['rule']} could not be measured, limit {_shown(rule['at_most'])}"
        for rule in failed
    )
    release = quoted(verdict["release"])
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
