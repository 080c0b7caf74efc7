"""The prompt: reads statements and dot commands from a terminal until the user leaves."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable

import duckdb
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import DynamicLexer, Lexer, PygmentsLexer
from pygments.lexers.sql import SqlLexer

import ppduck
from ppduck.call.registry import functions
from ppduck.shell import dots
from ppduck.shell.completion import offers
from ppduck.shell.history import history
from ppduck.shell.names import Names, as_word
from ppduck.shell.results import MODES
from ppduck.shell.scan import BARE_COMMANDS, is_complete, parts
from ppduck.shell.session import Session
from ppduck.shell.statements import ShellError
from ppduck.shell.streams import complain

PROMPT, CONTINUED = "ppduck> ", "   ...> "
INDENT = "    "
_QUOTES = "'\""
_MOST_HIGHLIGHTED = 20_000  # characters: the lexer reads all of them at each key


def converse(session: Session, database: str) -> int:
    """Answers what is typed, whatever goes wrong with it, until .quit or Ctrl-D; the exit code."""
    print(f"ppduck {ppduck.__version__} with DuckDB {duckdb.__version__}, {database}")
    print(
        "A statement ends with ; and .help tells more. Tab completes, Ctrl-C cancels, Ctrl-D leaves.",
        flush=True,
    )
    if isinstance(sys.stdin, io.TextIOWrapper) and sys.stdin.encoding in (
        "ascii",
        "ANSI_X3.4-1968",
    ):
        # which is what such a terminal sends, if it sends more than ASCII
        sys.stdin.reconfigure(encoding="utf-8")
    session.interactive = True
    names = Names(session.con)
    prompt: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        history=history(),
        completer=Suggestions(names),
        complete_while_typing=False,
        lexer=DynamicLexer(_lexer(PygmentsLexer(SqlLexer))),
        key_bindings=_keys(),
        enable_suspend=True,
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
    bare = text.strip().removesuffix(";").rstrip()
    session.run([(None, f".{bare}" if bare.casefold() in BARE_COMMANDS else text)])


def _lexer(highlighting: Lexer) -> Callable[[], Lexer | None]:
    def chosen() -> Lexer | None:
        return highlighting if len(get_app().current_buffer.text) <= _MOST_HIGHLIGHTED else None

    return chosen


def _keys() -> KeyBindings:
    keys = KeyBindings()
    typing = has_focus(DEFAULT_BUFFER)

    @Condition
    def line_is_blank() -> bool:
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

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        last = list(parts(before))[-1:]
        if last and last[0].is_dot_command and not before.endswith("\n"):
            yield from self._after_a_dot(before.rpartition("\n")[2].lstrip(), complete_event)
            return
        for offer in offers(self._names, before, document.text_after_cursor):
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
        start = word.lstrip(_QUOTES).casefold()
        for name, meaning in every:
            bare = name.strip(_QUOTES).casefold()
            if bare.startswith(start) or bare.rpartition(".")[2].startswith(start):
                yield Completion(name, -len(word), display_meta=meaning)

    def _words(self, command: str) -> list[tuple[str, str]]:
        if command == ".mode":
            return [(mode, "") for mode in MODES]
        if command == ".timer":
            return [("on", ""), ("off", "")]
        if command == ".help":
            return [(function.name, function.summary) for function in functions()]
        if command == ".schema":
            return [(as_word(relation), "") for relation in self._names.relations]
        return []
