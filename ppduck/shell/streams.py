"""What the terminal, file or pipe at the other end can show."""

from __future__ import annotations

import codecs
import io
import os
import sys
import warnings

from ppduck.errors import PpduckWarning

PLAIN = "ppduck.plain"
_DRAWN = {"─": "-", "━": "-", "═": "=", "│": "|", "┃": "|", "║": "|", "…": "~", "·": "."}


def settle() -> None:
    """Results print everywhere: files and pipes get UTF-8, a terminal what it says it takes."""
    codecs.register_error(PLAIN, _plain)
    if sys.stdout is None:  # closed by whoever started this
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty() and not is_utf8(stream.encoding):
                stream.reconfigure(errors=PLAIN)
            else:
                stream.reconfigure(encoding="utf-8", errors=stream.errors)
    warnings.simplefilter("always", PpduckWarning)
    warnings.showwarning = _show_warning


def is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        return False


def can_print_blocks() -> bool:
    """Whether the results go to a terminal that can draw DuckDB's progress bar."""
    return sys.stdout.isatty() and is_utf8(sys.stdout.encoding)


def complain(message: object, kind: str = "Error") -> None:
    print(f"{kind}: {message}", file=sys.stderr, flush=True)


def silence() -> None:
    """Lets the rest of the output go nowhere: unless it does, Python complains at exit that nobody reads it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Draws boxes with what ASCII has; a character that cannot be shown is a question mark, as wide as itself."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = ""
    for character in error.object[error.start : error.end]:
        shown += _DRAWN.get(character, "+" if "\u2500" <= character <= "\u257f" else "?")
    return shown, error.end


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(message, "Warning")
