"""release(): a whole table by one policy, judged by the gate, and only then written.

The release is made beside the data in a database in memory (DuckDB moves it to disk where it must), with the key, as
the gate wants it. What passes is written without the key under a name of its own and then takes the target's name, so
that whoever reads the target sees the release before, or all of the new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from sqlglot import exp

from ppduck.catalogue.table_names import parts_of_name
from ppduck.designs import manifest
from ppduck.errors import PpduckError, quoted
from ppduck.extension.connections import connection, in_transaction, planner_of
from ppduck.frozen import frozen
from ppduck.gate.verdict import ReleaseRefused, failures, literal, release_verdict
from ppduck.policy import document, gate, reading, release_manifest, release_table
from ppduck.policy.model import Policy, Treatment
from ppduck.query import tree as sql
from ppduck.values import folded

NAME = "ppduck.release"
FILE = ".parquet"
Explained = tuple[str | None, str, str]  # column, role, note


@frozen
class Released:
    """What was written: where, how many rows of which columns, what the gate said, and the manifest that goes along."""

    to: str
    rows: int
    columns: tuple[str, ...]
    verdict: Mapping[str, Any]
    manifest: Mapping[str, Any]


def release(
    con: Any,
    policy: str | os.PathLike[str] | Mapping[str, Any],
    *,
    to: str | os.PathLike[str],
    table: str | None = None,
) -> Released:
    """Makes the release that a policy declares, asks the gate, and writes it if every rule is passed.

    Parameters
    ----------
    con:
        A connection with ppduck loaded, under a secret, and outside a transaction.
    policy:
        The name of a YAML file, or the policy as a dictionary.
    to:
        A file that ends in .parquet, else a table, such as 'lake.customers_public'. A release that is there is
        replaced, and nothing else is.
    table:
        The table to release; by default the one that the policy names under ``from``.

    Returns
    -------
    Released
        With ``rows``, ``columns``, ``verdict`` and ``manifest``.

    Raises
    ------
    ReleaseRefused
        If a rule of the gate fails; nothing is written.
    PpduckError
        If the policy is wrong, there is no secret, or the target cannot be written.

    Example
    -------
    >>> import os, ppduck
    >>> con = ppduck.connect(secret="keep this one to yourself")
    >>> _ = con.execute("CREATE TABLE t AS SELECT i AS id, sin(i) AS s, cos(i * 3) AS x FROM range(400) r(i)")
    >>> policy = {"key": "id", "columns": {"id": "drop", "s": "drop", "x": {"mask": "egadp"}}}
    >>> ppduck.release(con, policy, to="public", table="t").rows
    400
    """
    raw = connection(con, "release")
    planner = planner_of(raw)
    if planner is None:
        raise PpduckError(f"{NAME}: this connection is not loaded; call ppduck.load(con) first.")
    if not planner.has_secret:
        raise PpduckError(
            f"{NAME}: there is no secret, so that tokens and draws would be others next time; set PPDUCK_SECRET, or "
            "give ppduck.load a secret of 16 bytes or more."
        )
    if in_transaction(raw):
        raise PpduckError(f"{NAME}: the connection is in a transaction; commit it first.")
    read, source, told, explained = _asked(raw, policy, table)
    target = _Target.of(os.fspath(to))
    _refuse_to_replace(raw, target)
    after = _newest_batch(raw, read, target)
    layout = gate.Layout.of(read, [name for name, *_ in explained if name is not None])
    gate.arguments(NAME, layout)  # which refuses what nobody can judge, before anything is made
    with _staged(raw, source, told, after) as stage:
        return _judged_and_written(raw, layout, source, told, target, stage)


def _newest_batch(con: duckdb.DuckDBPyConnection, policy: Policy, target: _Target) -> str | None:
    """The last batch that a table has already, which the next ones are added to."""
    if policy.batch is None:
        return None
    treatment = {folded(name): own for name, own in policy.columns.items()}.get(
        folded(policy.batch)
    )
    if target.file is not None or treatment is not Treatment.KEEP:
        raise PpduckError(
            f"{NAME}: batches are added to a table, and known there by their column: give to as the name of a table, "
            f"and keep column {quoted(policy.batch)}."
        )
    if not _exists(con, target.name):
        return None
    _refuse_other_policy(con, policy, target)
    newest = sql.cast(sql.call("max", sql.column(policy.batch)), "VARCHAR")
    asked = sql.render(sql.query([newest], sql.source(target.name)))
    [(found,)] = con.execute(asked).fetchall()
    return None if found is None else str(found)


def _refuse_other_policy(con: duckdb.DuckDBPyConnection, policy: Policy, target: _Target) -> None:
    """A table takes batches of the policy that it was made by, and no others."""
    if _policy_in(con, target) != policy.digest:
        raise PpduckError(
            f"{NAME}: {target.shown!r} was not made by this policy, so that nothing can be added to it; release to "
            "another table."
        )


def _refuse_to_replace(con: duckdb.DuckDBPyConnection, target: _Target) -> None:
    """Only a release is replaced by another: a name that is mistyped must not cost a table, nor the data itself."""
    there = _exists(con, target.name) if target.file is None else target.file.exists()
    if there and _policy_in(con, target) is None:
        raise PpduckError(
            f"{NAME}: {target.shown!r} is there already, and is no release that ppduck has written, so that it is not "
            "replaced; remove it first, or release under another name."
        )


def _policy_in(con: duckdb.DuckDBPyConnection, target: _Target) -> str | None:
    """The digest of the policy that a release was made by; None of what is no release."""
    told = f"{release_manifest.NAME}({literal(target.shown)})"
    try:
        found = con.execute(f"SELECT note FROM temp.main.{told} WHERE role = 'policy'").fetchall()
    except duckdb.Error:
        return None
    return str(found[0][0]) if found else None


def _exists(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    try:
        con.execute(f"SELECT 1 FROM {table} LIMIT 0")
    except duckdb.CatalogException:
        return False
    return True


def explanation(
    con: Any, policy: str | os.PathLike[str] | Mapping[str, Any], table: str | None = None
) -> list[Explained]:
    """What a policy does with every column, and what its masks promise: (column, role, note); no row is read."""
    return _asked(con, policy, table)[-1]


def _asked(
    con: duckdb.DuckDBPyConnection,
    policy: str | os.PathLike[str] | Mapping[str, Any],
    table: str | None,
) -> tuple[Policy, str, str, list[Explained]]:
    """A policy, the table that is to be released by it, the policy as SQL is told of it, and what it will do.

    All that is wrong with it is said here, before a row is read.
    """
    found, told = _document(policy)
    says = found.value.get("from") if isinstance(found.value, dict) else None
    source = table or (says.value if says is not None else None)
    if not isinstance(source, str) or not source:
        reading.read(NAME, None, found)
        raise PpduckError(
            f"{NAME}: the policy does not say from which table; give from: …, or table."
        )
    try:
        rows = con.execute(f"FROM {_explaining(source, told)}").fetchall()
    except duckdb.InvalidInputException as error:
        _, ours, said = str(error).partition("PpduckError: ")
        if not ours:
            raise
        said = said.partition("\n\n")[0].strip().removeprefix(release_table.NAME)
        raise PpduckError(f"{NAME}{said}") from None
    return reading.read(NAME, source, found), source, told, rows


def _explaining(source: str, told: str) -> str:
    given = f"'{release_table.NAME}', {literal(source)}, policy := {literal(told)}"
    return f"temp.main.mask_explain({given})"


def _document(
    policy: str | os.PathLike[str] | Mapping[str, Any],
) -> tuple[document.Node, str]:
    """A policy as it was written, and the YAML that SQL is told of it."""
    if isinstance(policy, Mapping):
        return document.of_python(policy), json.dumps(policy, default=str) + "\n"
    path = Path(os.fspath(policy))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise PpduckError(f"{NAME}: cannot read the policy {str(path)!r}: {why}.") from None
    try:
        return document.of_yaml(text), text + "\n"
    except document.UnreadableError as error:
        raise PpduckError(f"{NAME}: the policy {str(path)!r} {error}.") from None


def _call(function: str, source: str, told: Any, **more: Any) -> str:
    """A call in SQL."""
    own = {"tbl": source, "policy": told, **more}
    given = ", ".join(
        f"{name} := {literal(value)}" for name, value in own.items() if value is not None
    )
    return f"temp.main.{function}({given})"


@contextlib.contextmanager
def _staged(
    con: duckdb.DuckDBPyConnection, source: str, told: Any, after: str | None = None
) -> Iterator[str]:
    """The release with its key, in a database of its own that nobody else reads."""
    stage = f"ppduck_stage_{secrets.token_hex(4)}"
    con.execute(f"ATTACH ':memory:' AS {stage}")
    try:
        asked = _call(release_table.NAME, source, told, staged=True, after=after)
        con.execute(f"CREATE TABLE {stage}.main.release AS FROM {asked}")
        yield f"{stage}.main.release"
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute(f"DETACH {stage}")


def _judged_and_written(
    con: duckdb.DuckDBPyConnection,
    layout: gate.Layout,
    source: str,
    told: Any,
    target: _Target,
    stage: str,
) -> Released:
    policy = layout.policy
    asked = _call(release_manifest.NAME, source, told)
    rows = con.execute(f"SELECT role, note FROM {asked} WHERE role = 'manifest'").fetchall()
    carried: dict[str, Any] = json.loads(rows[0][1])
    [(count,)] = con.execute(f"SELECT count(*) FROM {stage}").fetchall()
    if policy.batch is not None and count == 0:
        return Released(target.shown, 0, tuple(layout.released), {}, carried)
    original = source if policy.batch is None else _same_rows(source, stage, layout.key)
    verdict = release_verdict(con, original, stage, **gate.arguments(NAME, layout, carried))
    if not verdict["passed"]:
        raise ReleaseRefused(
            f"{NAME} on {quoted(source)}: {failures(verdict, target.shown)}", verdict
        )
    asked_rules = [rule for rule in verdict["rules"] if rule["passed"] is not None]
    adds = policy.batch is not None and _exists(con, target.name)
    whole = count + _rows_in(con, target.name) if adds else count
    carried |= {"rows": whole, "gate": {"passed": True, "rules": len(asked_rules)}}
    own = [sql.named(sql.column(layout.staged_as(name)), name) for name in layout.released]
    rows_of = f"{sql.render(sql.query(own, sql.source(stage)))} ORDER BY {_places(layout)}"
    target.write(con, rows_of, json.dumps(carried, ensure_ascii=False), adds=adds)
    return Released(target.shown, count, tuple(layout.released), verdict, carried)


def _places(layout: gate.Layout) -> str:
    """What rows are ordered by: a hash of what is released of them.

    In the order of the table the first token would be the first customer's, and all tokens those of a list that is
    sorted by the same key. Masked numbers, whose last digits may be others on other threads, come last.
    """
    drawn = layout.treated(Treatment.MASK)
    steady = [name for name in layout.released if name not in drawn]
    staged = [[_name(layout.staged_as(name)) for name in each] for each in (steady, drawn) if each]
    return ", ".join(f"system.main.hash({', '.join(each)})" for each in staged)


def _rows_in(con: duckdb.DuckDBPyConnection, table: str) -> int:
    [(found,)] = con.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(found)


def _same_rows(source: str, stage: str, key: Sequence[str]) -> str:
    """The original rows of the batches that are released now, for the gate."""
    own = ", ".join(map(_name, key))
    return f"(SELECT * FROM {_rows(source)} AS ppduck_all SEMI JOIN {stage} USING ({own}))"


def _rows(source: str) -> str:
    """A table, a file or a SELECT as it stands behind FROM."""
    parts = parts_of_name(source)
    return source if source.startswith("(") else _name(*parts) if parts else literal(source)


@frozen
class _Target:
    """Where a release goes."""

    shown: str
    file: Path | None
    table: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return _name(*self.table)

    @classmethod
    def of(cls, to: str) -> _Target:
        if to.casefold().endswith(FILE):
            path = Path(to)
            if not path.parent.is_dir():
                raise PpduckError(
                    f"{NAME}: there is no folder {str(path.parent)!r} to write {path.name!r} into."
                )
            return cls(to, path)
        parts = parts_of_name(to)
        if not parts:
            raise PpduckError(
                f"{NAME}: to is a file that ends in {FILE}, or the name of a table; got {to!r}."
            )
        return cls(to, None, parts)

    def write(self, con: duckdb.DuckDBPyConnection, rows: str, carried: str, *, adds: bool) -> None:
        try:
            if self.file is not None:
                self._to_file(con, self.file, rows, carried)
            elif adds:
                added = f"INSERT INTO {self.name} BY NAME {rows}"
                _at_once(con, added, _commented(self.name, carried))
            else:
                self._to_table(con, rows, carried)
        except (duckdb.Error, OSError) as error:
            why = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise PpduckError(
                f"{NAME}: cannot write {self.shown!r}: {why}. Nothing was released."
            ) from None

    def _to_file(self, con: duckdb.DuckDBPyConnection, file: Path, rows: str, carried: str) -> None:
        aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            metadata = sql.render(sql.struct({manifest.NAME: sql.text(carried)}))
            place = sql.render(sql.text(str(aside)))
            con.execute(
                f"COPY ({rows}) TO {place} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {metadata})"
            )
            with open(aside, "rb") as written:
                os.fsync(written.fileno())
            os.replace(aside, file)
        finally:
            aside.unlink(missing_ok=True)

    def _to_table(self, con: duckdb.DuckDBPyConnection, rows: str, carried: str) -> None:
        *place, own = self.table
        aside = f"{own}_ppduck_{secrets.token_hex(4)}"
        at = _name(*place, aside)
        _at_once(
            con,
            f"CREATE TABLE {at} AS {rows}",
            _commented(at, carried),
            f"DROP TABLE IF EXISTS {self.name}",
            f"ALTER TABLE {at} RENAME TO {_name(own)}",
        )


def _at_once(con: duckdb.DuckDBPyConnection, *statements: str) -> None:
    """All of them, or none."""
    con.execute("BEGIN")
    try:
        for each in statements:
            con.execute(each)
        con.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise


def _commented(table: str, carried: str) -> str:
    return f"COMMENT ON TABLE {table} IS {sql.render(sql.text(carried))}"


def _name(*parts: str) -> str:
    return ".".join(sql.render(exp.to_identifier(part, quoted=True)) for part in parts)
