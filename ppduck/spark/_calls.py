"""ppduck's calls inside a statement of Spark's: found token by token, so that texts and comments are left alone."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ppduck.call.registry import functions
from ppduck.errors import PpduckError
from ppduck.frozen import frozen


@frozen
class Found:
    """A call and where it stands in its statement."""

    text: str
    start: int
    end: int


def calls(statement: str) -> list[Found]:
    """The outermost calls; one inside the text of another's table is that table's."""
    try:
        tokens = list(sqlglot.tokenize(statement, dialect="spark"))
    except SqlglotError as error:
        raise PpduckError(f"ppduck.spark.sql: {str(error).splitlines()[0]}") from None
    return list(_outermost(statement, tokens))


def _outermost(statement: str, tokens: list[Token]) -> Iterator[Found]:
    names = {function.name for function in functions()}
    at = 0
    while at < len(tokens) - 1:
        token, opens = tokens[at], tokens[at + 1]
        qualified = at > 0 and tokens[at - 1].token_type is TokenType.DOT
        if token.text.lower() in names and opens.token_type is TokenType.L_PAREN and not qualified:
            last = _closing(tokens, at + 1)
            if last is None:
                raise PpduckError(
                    f"ppduck.spark.sql: the parenthesis behind {token.text} is not closed."
                )
            start, end = token.start, tokens[last].end + 1
            yield Found(statement[start:end], start, end)
            at = last
        at += 1


def _closing(tokens: list[Token], opening: int) -> int | None:
    depth = 0
    for place in range(opening, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[place].token_type, 0)
        if not depth:
            return place
    return None


def replaced(statement: str, found: list[Found], names: list[str]) -> str:
    """The statement for ``spark.sql``, which puts data frames in the place of names in braces."""
    parts, at = [], 0
    for each, name in zip(found, names, strict=True):
        parts += [_escaped(statement[at : each.start]), "{" + name + "}"]
        at = each.end
    return "".join([*parts, _escaped(statement[at:])])


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
