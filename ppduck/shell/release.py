"""ppduck release: a whole table by one policy, through the gate into a file or a table; or what that would do."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

import duckdb

import ppduck
from ppduck.errors import PpduckError
from ppduck.extension.releasing import explanation
from ppduck.policy.schema import schema
from ppduck.secret import SECRET_VARIABLE, given_secret
from ppduck.shell.opened import opened, plain
from ppduck.shell.secret_file import read_secret
from ppduck.shell.streams import complain

NAME = "ppduck release"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 0, 1 where nothing was released, 2 for a call that makes no sense."""
    parser = _parser()
    asked = parser.parse_args(argv)
    if asked.schema:
        print(json.dumps(schema(), indent=2, ensure_ascii=False))
        return 0
    if asked.policy is None or asked.database is None:
        parser.error(
            "give a policy and a database, such as: customers.release.yml my.db --to public.parquet"
        )
    if asked.explain == (asked.to is not None):
        parser.error("give --to FILE.parquet, or --explain")
    try:
        return _explain(asked) if asked.explain else _release(asked)
    except ppduck.ReleaseRefused as refused:
        complain(str(refused).splitlines()[0])
        _show_failures(refused)
    except (PpduckError, duckdb.Error) as error:
        complain(plain(error))
    return 1


def _release(asked: argparse.Namespace) -> int:
    secret = given_secret(None) if asked.secret_file is None else read_secret(asked.secret_file)
    if secret is None:
        raise PpduckError(
            f"{NAME}: there is no secret, so that tokens and noise would be others next time; set "
            f"{SECRET_VARIABLE}, or give --secret-file."
        )
    to_file = asked.to.casefold().endswith(".parquet")
    with opened(NAME, asked.database, secret, read_only=to_file) as con:
        made = ppduck.release(con, asked.policy, to=asked.to, table=asked.table)
    if not made.rows:
        print(
            f"{made.to}: nothing to add; the rows that are not yet released wait for more to hide among"
        )
        return 0
    judged = made.manifest["gate"]["rules"]
    print(
        f"{made.to}: {made.rows:,} rows of {len(made.columns)} columns; {judged} rules passed; policy "
        f"{made.manifest['policy']}"
    )
    return 0


def _explain(asked: argparse.Namespace) -> int:
    with opened(NAME, asked.database, None, read_only=True) as con:
        rows = explanation(con, asked.policy, asked.table)
    width = max(len(name or "") for name, _, _ in rows)
    roles = max(len(role) for _, role, _ in rows)
    for name, role, note in rows:
        print(f"{name or '':{width}}  {role:{roles}}  {note}".rstrip())
    return 0


def _show_failures(refused: ppduck.ReleaseRefused) -> None:
    for rule in refused.verdict["rules"]:
        if rule["passed"] is False:
            complain(f"{rule['rule']}{_of(rule)}: {rule['why']}", "  failed")


def _of(rule: dict[str, object]) -> str:
    return "" if rule["column_name"] is None else f" of {rule['column_name']}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=NAME,
        description="A whole table by one policy: masked, judged by the gate, and only then written.",
    )
    parser.add_argument(
        "policy", nargs="?", metavar="POLICY.yml", help="what becomes of every column"
    )
    parser.add_argument("database", nargs="?", metavar="DATABASE", help="where the table is")
    parser.add_argument(
        "--to", metavar="TARGET", help="a file that ends in .parquet, or a table of the database"
    )
    parser.add_argument(
        "--table", metavar="NAME", help="the table, where it is not the one that the policy names"
    )
    parser.add_argument(
        "--explain", action="store_true", help="print what each column gets; reads no rows"
    )
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON schema of policies, for editors"
    )
    parser.add_argument("--secret-file", metavar="FILE", help="a file that holds the secret")
    return parser
