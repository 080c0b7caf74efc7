"""The prompt: reads statements and dot commands from a terminal until the user leaves."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

import duckdb
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

import ppduck
from ppduck.plan.registry import functions
from ppduck.shell import dots
from ppduck.shell.completion import Names, offers
from ppduck.shell.history import history
from ppduck.shell.results import MODES
from ppduck.shell.scan import BARE_COMMANDS, is_complete, parts
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError
from ppduck.shell.streams import complain

PROMPT, CONTINUED = "ppduck> ", "   ...> "
INDENT = "    "


def converse(session: Session, database: str) -> int:
    """Answers what is typed, whatever goes wrong with it, until .quit or Ctrl-D; the exit code."""
    print(f"ppduck {ppduck.__version__} with DuckDB {duckdb.__version__}, {database}")
    print("A statement ends with ; and .help tells more. Tab completes, Ctrl-C cancels, Ctrl-D leaves.", flush=True)
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.encoding in ("ascii", "ANSI_X3.4-1968"):
        sys.stdin.reconfigure(encoding="utf-8")  # which is what such a terminal sends, if it sends more than ASCII
    session.interactive = True
    names = Names(session.con)
    prompt: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        history=history(),
        completer=Suggestions(names),
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        key_bindings=_keys(),
    )
    while True:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        try:
            answer(session, text)
        except dots.Leave:
            return 0
        except (ShellError, duckdb.Error) as error:
            complain(error)
        except KeyboardInterrupt:
            complain("cancelled.")
        names.forget()


def answer(session: Session, text: str) -> None:
    """Carries out one input."""
    bare = text.strip()
    session.run([(None, f".{bare}" if bare.casefold() in BARE_COMMANDS else text)])


def _keys() -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @Condition
    def line_is_blank() -> bool:
        from prompt_toolkit.application import get_app

        document = get_app().current_buffer.document
        return document.line_count > 1 and not document.current_line_before_cursor.strip()

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # Enter takes what the menu offers
        elif is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    @keys.add("escape", "enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=False)

    @keys.add("tab", filter=typing & line_is_blank)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(INDENT)

    return keys


class Suggestions(Completer):
    """What Tab offers."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        before = document.text_before_cursor
        last = list(parts(before))[-1:]
        if last and last[0].is_dot_command and not before.endswith("\n"):
            yield from self._after_a_dot(before.rpartition("\n")[2].lstrip(), complete_event)
            return
        for offer in offers(self._names, before):
            yield Completion(offer.text, -offer.replaces, display_meta=offer.meaning)

    def _after_a_dot(self, line: str, event: CompleteEvent) -> Iterable[Completion]:
        command, space, word = line.partition(" ")
        if not space:
            every = [(f".{name}", each.summary) for name, each in dots.COMMANDS.items()]
            word = command
        elif command == ".read":
            yield from self._paths.get_completions(Document(word), event)
            return
        else:
            every = self._words(command)
        for name, meaning in every:
            if name.casefold().startswith(word.casefold()):
                yield Completion(name, -len(word), display_meta=meaning)

    def _words(self, command: str) -> list[tuple[str, str]]:
        if command == ".mode":
            return [(mode, "") for mode in MODES]
        if command == ".timer":
            return [("on", ""), ("off", "")]
        if command == ".help":
            return [(function.name, function.summary) for function in functions()]
        if command == ".schema":
            return [(table, "") for _, table in self._names.columns]
        return []
