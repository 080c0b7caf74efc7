"""The dbt-duckdb plugin: teaches ppduck's functions to every cursor that dbt opens, in whatever thread."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

import ppduck
from ppduck.dbt import answers
from ppduck.errors import PpduckError, listed, near_miss, quoted
from ppduck.secret import SECRET_VARIABLE, SHORTEST_SECRET, secret_in

SECRET_ENV, SECRET_FILE = "secret_env", "secret_file"
KEYS = (SECRET_ENV, SECRET_FILE)
WHERE = "plugin ppduck.dbt in profiles.yml"
# Who gives the secret itself must not find it on the screen and in dbt's log: no message repeats what was given.
TAKES = {
    SECRET_ENV: "It takes the name of the variable, as in secret_env: CUSTOMERS_SECRET, without env_var().",
    SECRET_FILE: "It takes the path of the file that holds the secret, not the secret.",
}
LOGGER = AdapterLogger("ppduck")


class Plugin(BasePlugin):
    """``config`` takes secret_env, the name of an environment variable, or secret_file; either holds the secret.

    Without them the secret is PPDUCK_SECRET's, or new in every run, and every run then is another release.
    """

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        # dbt-duckdb mixes the DuckDB settings of the profile into every plugin's configuration.
        settings = (self.creds.settings if self.creds else None) or {}
        own = {
            name: value
            for name, value in plugin_config.items()
            if name in KEYS or name not in settings
        }
        try:
            self._secret = secret_of(own)
        except PpduckError as error:
            raise DbtRuntimeError(str(error)) from None
        if self._secret is None and not os.environ.get(SECRET_VARIABLE):
            LOGGER.warning(
                "no secret is given, so that every run is another release of the same rows, and releases add "
                f"up; name one by {SECRET_ENV} or {SECRET_FILE} in the config of {WHERE}."
            )

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        self.configure_cursor(conn)
        answers.register(conn)

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        try:
            ppduck.load(cursor, self._secret)
        except PpduckError as error:
            raise DbtRuntimeError(str(error)) from None


def secret_of(config: Mapping[str, Any]) -> bytes | None:
    """The secret that a configuration names; None where it names none."""
    for key in config:
        if key not in KEYS:
            raise PpduckError(
                f"{WHERE}: config has key {quoted(str(key))}, which is not known.{near_miss(str(key), KEYS)} "
                f"Keys: {listed(KEYS)}."
            )
    given = {key: value for key, value in config.items() if value is not None}
    if not given:
        return None
    if len(given) > 1:
        raise PpduckError(
            f"{WHERE}: config gives both {SECRET_ENV} and {SECRET_FILE}; keep one of them."
        )
    [(key, name)] = given.items()
    if not isinstance(name, str):
        raise PpduckError(f"{WHERE}: {key} takes a text, got {type(name).__name__}. {TAKES[key]}")
    secret = _from_environment(name) if key == SECRET_ENV else _from_file(name)
    if len(secret) < SHORTEST_SECRET:
        raise PpduckError(
            f"{WHERE}: the secret that {key} names is too short to protect anything; give {SHORTEST_SECRET} bytes or "
            "more."
        )
    return secret


def _from_environment(variable: str) -> bytes:
    secret = os.environ.get(variable)
    if not secret:
        raise PpduckError(
            f"{WHERE}: {SECRET_ENV} names an environment variable that is not set or empty; set it to the secret, or "
            f"remove the key. {TAKES[SECRET_ENV]}"
        )
    return secret.encode("utf-8", "surrogateescape")


def _from_file(path: str) -> bytes:
    try:
        return secret_in(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise PpduckError(
            f"{WHERE}: {SECRET_FILE} names a file that cannot be read: {why}. {TAKES[SECRET_FILE]} A path that is not "
            "absolute starts where dbt is run."
        ) from None
