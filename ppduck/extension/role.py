"""Whom a connection is for: the owner of the data, who masks, or an analyst, who reads what was released.

Randomized answers are a function of the secret, the row's key and the value, so that whoever may call the mask under
the secret can try every value and see which of them gives what was published. An analyst's connection therefore has
neither masks nor a secret nor anything that makes noise, and all the rest.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import duckdb

from ppduck.call.registry import Function, Kind
from ppduck.call.udf import Udf
from ppduck.errors import Faults, PpduckError, listed, near_miss
from ppduck.secret import SECRET_VARIABLE, given_secret

ENVIRONMENT = "/proc/self/environ"  # as Linux has it, also of variables that were removed since
_REMEDY = (
    "Read the release as a table or a file that its owner made (CREATE TABLE … AS, COPY … TO 'release.parquet'), not "
    "as a view over the mask; what estimates from it takes p := {'column': …} or matrix := {…}."
)


class Role(Enum):
    OWNER = "owner"
    ANALYST = "analyst"

    def brings(self, function: Function) -> bool:
        """Whether a connection can call it."""
        makes_noise = any(udf.noise is not None for udf in function.udfs)
        return self is Role.OWNER or not (function.kind is Kind.MASK or makes_noise)

    def udfs(self, functions: list[Function]) -> list[Udf]:
        """What the plans of the functions that it brings have DuckDB call, each once."""
        brought = {udf.name: udf for each in functions if self.brings(each) for udf in each.udfs}
        return list(brought.values())

    def refuse(self, function: Function) -> None:
        """Refuses a function that it does not bring, be it called or within a view."""
        if not self.brings(function):
            raise PpduckError(
                f"{function.name}: this connection is an analyst's (ppduck.load with role 'analyst'), which has "
                f"neither masks nor a secret, for they could simulate the noise. {_REMEDY}"
            )

    def refuse_other(self, wanted: Role) -> None:
        """Refuses to load a database, which has this role, with another one: its functions are everybody's there."""
        if self is wanted:
            return
        remedy = (
            "Give analysts a database of their own, with the releases only: a file that the owner's process has not "
            "open, or another process."
            if wanted is Role.ANALYST
            else f"Load its connections with role '{self.value}', or close all of them and load it anew."
        )
        raise PpduckError(
            f"ppduck.load: this database is loaded with role '{self.value}', not '{wanted.value}', and functions in "
            f"Python belong to all connections of a database. {remedy}"
        )


def refuse_readable_secret(con: duckdb.DuckDBPyConnection) -> None:
    """Refuses an analyst's connection whose SQL can read the secret of the process that it is in."""
    try:
        told = Path(ENVIRONMENT).read_bytes()
    except OSError:  # no such file on this system
        return
    [(reads_files,)] = con.execute("SELECT current_setting('enable_external_access')").fetchall()
    start = f"{SECRET_VARIABLE}=".encode()
    if reads_files and any(each.startswith(start) for each in told.split(b"\0")):
        raise PpduckError(
            f"ppduck.load: this process was started with {SECRET_VARIABLE}, which SQL on an analyst's connection reads "
            f"from {ENVIRONMENT}. Start it without, or SET enable_external_access = false before ppduck.load."
        )


def asked(role: object, secret: str | bytes | None) -> tuple[Role, bytes | None]:
    """The role that was asked for, and its secret: an owner's is also looked for in the environment."""
    faults, names = Faults("ppduck.load"), [each.value for each in Role]
    if role not in names:
        text = role if isinstance(role, str) else ""
        got = repr(text) if text else type(role).__name__
        near = near_miss(text, names)
        faults.add(f"role takes one of {listed(names)}, got {got}.{near}")
    elif role == Role.ANALYST.value and secret is not None:
        faults.add(
            "role 'analyst' takes no secret, with which the noise could be made again; leave secret out."
        )
    faults.raise_if_any()
    known = Role(role)
    return known, given_secret(secret) if known is Role.OWNER else None
