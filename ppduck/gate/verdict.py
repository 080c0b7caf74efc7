"""The gate for Python programs: a release that keeps every rule of release_check passes, any other stops a pipeline.

A verdict is of JSON's types, and of the form that ``verdict.schema.json`` tells (JSON Schema, draft 2020-12): programs
that read one look at ``schema`` and ``version``. The version grows where a reader of the one before could go wrong.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

from ppduck.catalogue.functions import sees_function
from ppduck.errors import PpduckError, quoted
from ppduck.gate import release_check
from ppduck.gate.assert_release import REMEDY
from ppduck.query import tree as sql
from ppduck.version import __version__

SCHEMA, VERSION = "ppduck/verdict", 2
NOT_IF_EMPTY = ("keep", "pseudonyms")
Names = str | Sequence[str]
Limits = Mapping[str, float | Literal["chance"] | None]
Matrices = Mapping[str, Sequence[Sequence[float]]]


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
    limits: Limits | None = None,
    keep: Names = (),
    qi: Names | None = None,
    p: float | Mapping[str, float] | None = None,
    matrix: Matrices | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    pseudonyms: Names | Mapping[str, str] = (),
    verdict: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Lets a release pass that keeps every rule of ``release_check``, and stops a pipeline at any other.

    Parameters
    ----------
    con:
        A connection with ppduck loaded.
    original, release:
        The two tables or views, or files, or SELECTs in parentheses.
    conf, key, nonconf:
        Those of ``release_check``: the columns that are masked or dropped; the columns that identify a row in both
        tables; the columns that an intruder may know.
    limits:
        Rules and their limits, ``{"linkage": 0.05}``, which amend the defaults; None switches a rule off, "chance"
        allows what chance makes, where a rule knows that.
    keep, qi:
        Columns that may be released as they are; quasi-identifiers, which rule ``k`` is of.
    p, matrix, levels:
        How categories of conf were randomized, as ``rr_mask`` takes it.
    pseudonyms:
        Columns of the release that have pseudonyms in place of values; ``{"token": "customer_id"}`` of one that has
        another name than what it stands for.
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
    >>> _ = con.execute("CREATE TABLE leaky AS SELECT r.*, 1.1 * t.x AS usd FROM r JOIN t USING (id)")
    >>> try:
    ...     ppduck.assert_release(con, "t", "leaky", conf="x", key="id", nonconf="s")
    ... except ppduck.ReleaseRefused as refused:
    ...     for rule in refused.verdict["rules"]:
    ...         if rule["passed"] is False:
    ...             print(rule["rule"], rule["column_name"])
    declared usd
    tells usd
    """
    found = release_verdict(
        con,
        original,
        release,
        conf=conf,
        key=key,
        nonconf=nonconf,
        limits=limits,
        keep=keep,
        qi=qi,
        p=p,
        matrix=matrix,
        levels=levels,
        pseudonyms=pseudonyms,
    )
    if verdict is not None:
        _write(Path(verdict), found)
    if not found["passed"]:
        raise ReleaseRefused(f"assert_release on {quoted(original)}: {failures(found)}", found)
    return found


def release_verdict(
    con: Connection,
    original: str,
    release: str,
    *,
    conf: Names,
    key: Names,
    nonconf: Names | None = None,
    limits: Limits | None = None,
    keep: Names = (),
    qi: Names | None = None,
    p: float | Mapping[str, float] | None = None,
    matrix: Matrices | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    pseudonyms: Names | Mapping[str, str] = (),
) -> dict[str, Any]:
    """What ``release_check`` says of a release, in JSON's types; raises nothing where a rule fails.

    Parameters
    ----------
    con, original, release, conf, key, nonconf, limits, keep, qi, p, matrix, levels, pseudonyms:
        Those of ``assert_release``.

    Returns
    -------
    dict
        ``schema`` and ``version``, by which a program knows what it reads; ``passed``, whether any rule was asked and
        none that was failed; what was asked; ``rules``, a list of dictionaries with ``rule``, ``column_name``,
        ``passed`` (None where the rule was not asked), ``value``, ``at_most`` and ``why``, those that fail first; the
        versions of ppduck and DuckDB; the time.

    Example
    -------
    >>> import ppduck
    >>> con = ppduck.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(100) r(i)")
    >>> verdict = ppduck.release_verdict(con, "t", "t", conf="x", key="id", nonconf="s")
    >>> verdict["passed"]
    False
    >>> [(rule["rule"], rule["column_name"], rule["value"]) for rule in verdict["rules"] if rule["rule"] == "copy"]
    [('copy', 'x', 1.0), ('copy', 's', 0.0)]
    """
    _refuse_unloaded(con)
    given: dict[str, Any] = {
        "original": original,
        "release": release,
        "conf": _names(conf),
        "key": _names(key),
        "nonconf": None if nonconf is None else _names(nonconf),
        "limits": limits,
        "keep": _names(keep),
        "qi": None if qi is None else _names(qi),
        "p": p,
        "matrix": matrix,
        "levels": levels,
        "pseudonyms": pseudonyms if isinstance(pseudonyms, Mapping) else _names(pseudonyms),
    }
    arguments = ", ".join(
        f"{name} := {literal(value)}"
        for name, value in given.items()
        if value is not None and (name not in NOT_IF_EMPTY or value)
    )
    names = [result.name for result in release_check.RESULTS]
    columns = ", ".join(map(quoted, names))
    found = con.execute(f"SELECT {columns} FROM temp.main.{release_check.NAME}({arguments})")
    rules = [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in found.fetchall()
    ]
    [(engine,)] = con.execute("SELECT system.main.version()").fetchall()
    judged = [rule["passed"] for rule in rules if rule["passed"] is not None]
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "passed": bool(judged) and all(judged),
        **{name: _plain(value) for name, value in given.items()},
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


def literal(value: Any) -> str:
    """A value as SQL; what is no number, list or mapping goes as text, for release_check to judge."""
    value = _of_python(value)
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        if not value:
            return "MAP {}"  # DuckDB 1.4 knows no empty struct
        # A struct, in which one value's type does not touch another's.
        return (
            "{"
            + ", ".join(f"{literal(str(name))}: {literal(v)}" for name, v in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, Decimal)) and math.isfinite(value):
        return sql.render(sql.number(float(value) if isinstance(value, Decimal) else value))
    return sql.render(sql.text(str(value)))


def _plain(value: Any) -> Any:
    """A value of JSON's types, which know neither NaN nor infinity."""
    value = _of_python(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)]
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _of_python(value: Any) -> Any:
    """What numpy has, in Python's own types."""
    return value.tolist() if hasattr(value, "tolist") else value


def failures(verdict: Mapping[str, Any], shown: str | None = None) -> str:
    """As the SQL function says it; ``shown`` where the release has another name to its user."""
    asked = [rule for rule in verdict["rules"] if rule["passed"] is not None]
    failed = [rule for rule in asked if not rule["passed"]]
    told = "; ".join(map(_failure, failed))
    release = quoted(verdict["release"] if shown is None else shown)
    return f"{release} fails {len(failed)} of {len(asked)} rules and must not be released: {told}{REMEDY}"


def _failure(rule: Mapping[str, Any]) -> str:
    of = "" if rule["column_name"] is None else f" of {rule['column_name']}"
    most = _shown(rule["at_most"])
    if rule["value"] is None:
        return f"{rule['rule']}{of} could not be measured, limit {most}"
    return f"{rule['rule']}{of} is {_shown(rule['value'])}, above its limit of {most}"


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.10g}"


def _write(path: Path, verdict: Mapping[str, Any]) -> None:
    text = json.dumps(verdict, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        outcome = "passed every rule" if verdict["passed"] else failures(verdict)
        raise PpduckError(
            f"assert_release on {quoted(verdict['original'])}: cannot write the verdict to {str(path)!r}: "
            f"{error.strerror or error}. The release: {outcome}"
        ) from error
