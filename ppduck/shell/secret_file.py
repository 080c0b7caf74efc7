"""--secret-file: the secret that keys the noise, from a file that only its owner should read."""

from __future__ import annotations

import os
import stat

from ppduck.secret import SHORTEST_SECRET, secret_in
from ppduck.shell.statements import ShellError
from ppduck.shell.streams import complain

LONGEST = 65_536


def read_secret(path: str) -> bytes:
    """The secret of a file; a ShellError if it is none, a warning if others can read it."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(LONGEST + 1)
    except OSError as error:
        raise ShellError(f"cannot read the secret file {path}: {error.strerror}") from None
    secret = secret_in(content)
    if not secret.strip():
        raise ShellError(
            f"the secret file {path} is empty; write {SHORTEST_SECRET} bytes or more into it."
        )
    if len(secret) < SHORTEST_SECRET:
        raise ShellError(
            f"the secret file {path} is too short to protect anything; write {SHORTEST_SECRET} bytes or more into it."
        )
    if len(secret) > LONGEST:
        raise ShellError(
            f"the secret file {path} is longer than {LONGEST:,} bytes; is it the right one?"
        )
    # A warning and no refusal: containers mount the secrets that they are given readable for all.
    if os.name == "posix" and stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
        complain(f"other users can read the secret file {path}; chmod 600 {path}", "Warning")
    return secret
