"""The secret that keys all noise: given by the caller or the environment, and known again by its fingerprint."""

from __future__ import annotations

import hashlib
import os

from ppduck.errors import PpduckError

SECRET_VARIABLE = "PPDUCK_SECRET"
SHORTEST_SECRET = 16


def fingerprint(secret: bytes | None) -> bytes | None:
    """What is kept of a given secret, to know it again; None for one from the operating system."""
    return None if secret is None else hashlib.sha256(b"ppduck fingerprint\0" + secret).digest()


def secret_in(content: bytes) -> bytes:
    """The secret of a file: without the line end that editors add, as the environment variable would hold it."""
    return content.removesuffix(b"\n").removesuffix(b"\r")


def given_secret(secret: str | bytes | None) -> bytes | None:
    """The secret as bytes; None where neither the caller nor the environment gives one."""
    where = "secret"
    if secret is None:
        secret, where = os.environ.get(SECRET_VARIABLE) or None, SECRET_VARIABLE
    if secret is None:
        return None
    if not isinstance(secret, (str, bytes)):
        raise PpduckError(f"ppduck.load: secret takes text or bytes, got {type(secret).__name__}.")
    raw = secret.encode() if isinstance(secret, str) else secret
    if len(raw) < SHORTEST_SECRET:
        raise PpduckError(
            f"ppduck.load: {where} is too short to protect anything; give {SHORTEST_SECRET} bytes or more."
        )
    return raw
