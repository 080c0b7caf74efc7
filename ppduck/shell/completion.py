"""What could follow: keywords, tables, columns, functions, and the parameters of ppduck's functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ppduck.call.parameters import ColumnNames, Parameter
from ppduck.call.registry import Function, PlainMacro, functions, masks
from ppduck.shell.names import Chain, Names, Relation, chain, in_quotes
from ppduck.shell.scan import Bracket, Place, first_statement, name_of, scan

TABLE_PARAMETERS = ("tbl", "original", "release")
_BEFORE_A_TABLE = ("from", "join", "into", "update", "table", "view", "describe", "summarize")
_TAIL = 512  # characters before the cursor, in which the word there and what owns it are looked for
_WORD = re.compile(r"([^\W\d][\w$]*|)$")
_NAME = r'(?:"(?:[^"]|"")*+"|[^\W\d][\w$]*+)'
_CHAIN = rf'(?<![\w$"]){_NAME}(?:\.{_NAME})*+'
_OWNERS = re.compile(rf"({_CHAIN})\.$")
_NAMES = re.compile(_NAME)
_MENTIONED = re.compile(rf"'(?P<literal>[^']*+(?:''[^']*+)*+)'|{_CHAIN}")
_QUOTED = re.compile(r"'(\w+)'")


class Offer(NamedTuple):
    """A way to go on: the text that takes the place of the last ``replaces`` characters, and what it is."""

    text: str
    replaces: int
    meaning: str = ""


class _Cursor(NamedTuple):
    """What stands around the cursor."""

    names: Names
    place: Place
    after: str
    quote: str  # the double quote before the word, if there is one
    word: str  # as far as it is written
    stem: str  # the end of what stands before the word
    statement: str  # all of it, on both sides

    @property
    def length(self) -> int:
        return len(self.place.within) + 1 if self.quote else len(self.word)

    def offered(self, every: Iterable[tuple[Chain, str]]) -> Iterator[Offer]:
        """Those of the names, between dots, that go on as the word begins, by their first name or their last."""
        for path, meaning in every:
            if _begins(self.word, path):
                yield Offer(self._written(path), self.length, meaning)

    def _written(self, path: Chain) -> str:
        if not self.quote:
            return self.names.written(*path)
        *first, last = path
        text = "".join(f"{in_quotes(name)}." for name in first) + in_quotes(last)
        return text[:-1] if self.after.startswith('"') else text


def offers(names: Names, before: str, after: str = "") -> Iterator[Offer]:
    """What could stand between two texts, the likeliest first, each once."""
    place = scan(before)
    if place.quote not in ("", "'", '"'):
        return
    seen = set()
    for offer in _all_offers(_cursor(names, place, after)):
        if offer.text.casefold() not in seen:
            seen.add(offer.text.casefold())
            yield offer


def _cursor(names: Names, place: Place, after: str) -> _Cursor:
    statement = first_statement(place.statement + after)
    tail = place.statement[-_TAIL:]
    if place.quote:
        word = place.within.replace(place.quote * 2, place.quote)
        stem = place.statement[: -len(place.within) - 1][-_TAIL:]
    else:
        found = _WORD.search(tail)
        word = found[1] if found else ""
        stem = tail.removesuffix(word)
    return _Cursor(names, place, after, '"' if place.quote == '"' else "", word, stem, statement)


def _all_offers(at: _Cursor) -> Iterator[Offer]:
    call = at.place.call
    function = next((each for each in functions() if call and each.name == call.function), None)
    if at.place.quote == "'":
        if call and function:
            yield from _in_a_literal(at, call, function)
        return
    if owners := _OWNERS.search(at.stem):
        yield from at.offered(_owned(at, _chain(owners[1])))
        return
    if at.quote:
        yield from at.offered([*_columns(at.names, at.statement), *_tables(at.names)])
        return
    if (
        call
        and function
        and at.place.brackets[-1] is call
        and not call.arguments[-1].removesuffix(at.word).strip()
    ):
        parameters = list(_parameters(call, function, at.word))
        yield from parameters
        if parameters:
            return  # a literal may stand here too, but no column and no keyword
    yield from at.offered(_objects(at))
    if not at.word:
        return  # the rest would be a dictionary
    yield from _words(at)


def _words(at: _Cursor) -> Iterator[Offer]:
    """Functions and keywords."""
    own = [(each.name, f"{each.name}(", each.summary) for each in functions()]
    keywords = [
        (each, each if at.word.islower() else each.upper(), "keyword") for each in at.names.keywords
    ]
    built_in = [(each, f"{each}(", "function") for each in at.names.builtins]
    for name, text, meaning in (*own, *keywords, *built_in):
        if _begins(at.word, (name,)):
            yield Offer(text, at.length, meaning)


def _objects(at: _Cursor) -> Iterator[tuple[Chain, str]]:
    """Tables only where one must stand, columns first elsewhere."""
    previous = re.search(r"(?<!\w)(\w+)\s+$", at.stem)
    if not (previous and previous[1].casefold() in _BEFORE_A_TABLE):
        yield from _columns(at.names, at.statement)
    yield from _tables(at.names)


def _tables(names: Names) -> list[tuple[Chain, str]]:
    return [(relation.path, "table") for relation in names.relations]


def _columns(names: Names, statement: str) -> Iterator[tuple[Chain, str]]:
    """The columns of all tables, those of tables that the statement mentions first."""
    mentioned = set(_mentioned(names, statement))
    for relation in sorted(names.relations, key=lambda relation: relation not in mentioned):
        yield from _columns_of(relation)


def _columns_of(relation: Relation) -> Iterator[tuple[Chain, str]]:
    return (((column,), f"column of {relation.name}") for column in relation.columns)


def _mentioned(names: Names, text: str) -> list[Relation]:
    """The tables that a text names, in a literal or not."""
    chains: set[Chain] = set()
    for found in _MENTIONED.finditer(text):
        literal = found["literal"]
        if literal is not None:
            content = literal.replace("''", "'").strip()
            chains |= {chain(content), _chain(content)}
        else:
            chains.add(_chain(found[0]))
    return [relation for relation in names.relations if not relation.spellings.isdisjoint(chains)]


def _chain(text: str) -> Chain:
    """The names between dots."""
    found = _NAMES.findall(text)
    return chain(
        *(name[1:-1].replace('""', '"') if name.startswith('"') else name for name in found)
    )


def _owned(at: _Cursor, owner: Chain) -> list[tuple[Chain, str]]:
    """What follows a database, a schema, a table or an alias, and a dot."""
    relations = at.names.relations
    tables = _aliased(at, owner[0]) if len(owner) == 1 else []
    tables = tables or [relation for relation in relations if owner in relation.spellings]
    if not tables and len(owner) == 1:
        tables = [relation for relation in relations if chain(relation.name) == owner]
    found = [each for relation in tables for each in _columns_of(relation)]
    for relation in relations:
        database, schema = chain(relation.database, relation.schema)
        if owner == (database, schema) or (owner == (schema,) and relation.is_here):
            found.append(((relation.name,), "table"))
        elif owner == (database,):
            found.append(((relation.schema, relation.name), "table"))
    return found


def _aliased(at: _Cursor, alias: str) -> list[Relation]:
    """The tables that go by this name in the statement, or that are mentioned in it and have this name."""
    name = rf'(?:{re.escape(alias)}|"{re.escape(alias.replace(chr(34), chr(34) * 2))}")'
    named = re.finditer(rf'({_CHAIN})\s+(?:as\s+)?{name}(?![\w$."])', at.statement, re.IGNORECASE)
    spelled = {_chain(found[1]) for found in named}
    found = [
        relation for relation in at.names.relations if not relation.spellings.isdisjoint(spelled)
    ]
    return found or [
        each for each in _mentioned(at.names, at.statement) if each.name.casefold() == alias
    ]


def _parameters(call: Bracket, function: Function, word: str) -> Iterator[Offer]:
    """Parameters that are not given yet, by name or by place."""
    given = _given(call, function)
    for parameter in function.parameters:
        if parameter.name not in given and parameter.name.startswith(word.casefold()):
            yield Offer(f"{parameter.name}=", len(word), _explained(parameter))


def _explained(parameter: Parameter) -> str:
    return (
        parameter.doc
        if parameter.default is None
        else f"{parameter.doc} (default {parameter.default})"
    )


def _given(call: Bracket, function: Function) -> dict[str, str]:
    """The texts of the arguments before the one at the cursor, by parameter."""
    found = {}
    for position, argument in enumerate(call.arguments[:-1]):
        named = name_of(argument)
        if named or position < len(function.parameters):
            found[named or function.parameters[position].name] = argument
    return found


def _in_a_literal(at: _Cursor, call: Bracket, function: Function) -> Iterator[Offer]:
    """What a parameter takes within single quotes: names of tables, columns or functions, or one of its options."""
    parameter = _parameter(call, function)
    if parameter is None:
        return
    closing = "" if at.after.startswith("'") else "'"
    every = _values(at, call, function, parameter)
    for text, names, meaning in every:
        if _begins(at.word, names) or text.casefold().startswith(at.word.casefold()):
            yield Offer(text.replace("'", "''") + closing, len(at.place.within), meaning)


def _parameter(call: Bracket, function: Function) -> Parameter | None:
    """The parameter at the cursor; mask_explain takes what the mask takes that it explains."""
    position = len(call.arguments) - 1
    by_place = function.parameters[position].name if position < len(function.parameters) else None
    name = call.parameter or by_place
    explained = _QUOTED.search(_given(call, function).get("mask", ""))
    mask = masks().get(explained[1]) if explained else None
    known = {each.name: each for each in (*function.parameters, *(mask.parameters if mask else ()))}
    return known.get(name) if name else None


def _values(
    at: _Cursor, call: Bracket, function: Function, parameter: Parameter
) -> Iterator[tuple[str, Chain, str]]:
    """The texts that a parameter takes, the names that they are found by, and what they are."""
    if parameter.name in TABLE_PARAMETERS:
        for relation in at.names.relations:
            argument = at.names.as_argument(relation, of_sql=isinstance(function, PlainMacro))
            yield argument, relation.path, "table"
    elif parameter.name in ("name", "mask"):
        for each in functions() if parameter.name == "name" else masks().values():
            yield each.name, (each.name,), each.summary
    elif parameter.options:
        for option in parameter.options:
            yield option, (option,), ""
    elif _is_column(call, at.place.brackets[-1], parameter.columns):
        given = _given(call, function)
        tables = _mentioned(at.names, " ".join(given.get(name, "") for name in TABLE_PARAMETERS))
        for relation in tables or at.names.relations:
            for column in relation.columns:
                yield column, (column,), f"column of {relation.name}"


def _is_column(call: Bracket, innermost: Bracket, columns: ColumnNames | None) -> bool:
    """Whether a column is named here: those that take {'column': value} take it before the colon."""
    if columns is ColumnNames.KEYED:
        return innermost.kind == "{" and ":" not in innermost.arguments[-1].rpartition("'")[0]
    return columns is ColumnNames.LISTED and (innermost is call or innermost.kind == "[")


def _begins(word: str, path: Chain) -> bool:
    """Whether a word begins names between dots, or the last of them."""
    start = word.casefold()
    return ".".join(path).casefold().startswith(start) or path[-1].casefold().startswith(start)
