"""Random statements: a registered function with arguments that mostly make sense, and sometimes none at all."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ppduck.call.parameters import Parameter, Reader
from ppduck.call.registry import Function, functions, masks
from tests.fuzz.tables import Table, literal, quoted

NONSENSE = (
    *(
        "NULL",
        "''",
        "'nowhere'",
        "-1",
        "0",
        "1e308",
        "'nan'::DOUBLE",
        "[]",
        "['']",
        "{'x': 1}",
        "true",
        "[NULL]",
        "1.5",
    ),
    *(
        "'); DROP TABLE t; --'",
        "[[1]]",
        "DATE '2020-01-01'",
        "(SELECT 1)",
        "random()",
        "9999999999999999999",
        "'\u0000'",
    ),
)
LISTS = {"conf", "nonconf", "columns", "qi", "drop", "keep", "key", "strata", "x", "known", "given", "pseudonyms"}
USUAL = {"key", "p", "alpha", "l"}  # not required by every call, but by most
ONE_COLUMN = {"a", "b", "y", "sensitive", "count", "weight", "target_column", "class"}


@dataclass
class Call:
    """One statement, and what must be known to judge its answer."""

    function: Function
    table: Table
    statement: str
    given: dict[str, Any] = field(default_factory=dict)  # values, where the arguments make sense


def make(chance: random.Random, tables: list[Table]) -> Call:
    function = chance.choice(functions())
    table = chance.choice(tables)
    wild = chance.random()
    equals = chance.choice(("=", "=", " := ", " => "))
    arguments: list[str] = []
    given: dict[str, Any] = {}
    for parameter in function.parameters:
        required = parameter.default is None
        usual = required or parameter.name in USUAL
        if chance.random() >= (0.99 if required else 0.6 if usual else 0.1):
            continue
        if wild < 0.25 and chance.random() < 0.3:
            text, value = chance.choice(NONSENSE), None
        else:
            text, value = _argument(chance, function, parameter, table, given)
        given[parameter.name] = value
        arguments.append(f"{parameter.name}{equals}{text}")
    chance.shuffle(arguments)
    call = f"{function.name}({', '.join(arguments)})"
    forms = ("FROM {}", "FROM {}", "FROM {}", "SELECT count(*) FROM {}", "FROM {} LIMIT 2", "EXPLAIN FROM {}")
    form = chance.choice(forms)
    return Call(function, table, form.format(call), given if form == "FROM {}" else {})


def _argument(
    chance: random.Random, function: Function, parameter: Parameter, table: Table, given: dict[str, Any]
) -> tuple[str, Any]:
    name = parameter.name
    if name in ("tbl", "original"):
        text = chance.choice(table.anywhere) if name == "tbl" else quoted(table.name)
        return literal(text), text
    if name in ("release", "masked", "first", "second"):
        text = chance.choice([*table.releases, *table.anywhere])
        return literal(text), text
    if name == "mask":
        return literal(chance.choice([*masks()])), None
    if name == "name":
        return literal(chance.choice([*(each.name for each in functions()), "nothing"])), None
    if name == "query":
        return literal(_query(chance, table)), None
    if name == "key":
        return literal(table.key), [table.key]
    if name in ONE_COLUMN:
        free = [each for each in table.categories if each not in map(_first, given.values())] or table.columns
        column = chance.choice(free if chance.random() < 0.9 else table.columns)
        return literal(column), [column]
    if name in LISTS:
        taken = [column for value in given.values() if isinstance(value, list | str) for column in value]
        return _columns(chance, function, name, table, taken)
    if name == "p" and chance.random() < 0.8:
        named = [column for each in ("columns", "a", "b", "qi", "conf") for column in given.get(each) or ()]
        return _by_column(dict.fromkeys(named, "0.8"))
    return _by_reader(chance, parameter, table)


def _columns(
    chance: random.Random, function: Function, name: str, table: Table, taken: list[str]
) -> tuple[str, list[str]]:
    """Some columns; those that another parameter names already are mostly left to it."""
    of_categories = function.name in ("rr_mask", "pram_mask") or name in ("columns", "qi", "given", "strata")
    pool = table.categories if of_categories else table.numbers
    if name in ("nonconf", "drop", "keep", "known", "pseudonyms"):
        pool = [*table.numbers, *table.categories]
    if chance.random() < 0.9:
        pool = [column for column in pool if column not in taken]
    if chance.random() < 0.05 or not pool:
        pool = table.columns
    chosen = chance.sample(pool, min(len(pool), chance.choice((1, 1, 2, 2, 3))))
    if chance.random() < 0.03:
        chosen.append(chance.choice((chosen[0], "no such column", chosen[0].upper())))
    return f"[{', '.join(map(literal, chosen))}]", chosen


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _query(chance: random.Random, table: Table) -> str:
    column = quoted(chance.choice(table.categories or table.columns))
    source = table.views[-1] if chance.random() < 0.8 else chance.choice(table.anywhere)
    where = chance.choice(("", "", "", f" WHERE {column} IS NOT NULL", f" WHERE {column} = 'east'", " WHERE 1 / 0"))
    return f"SELECT {column}, count(*) AS n FROM {source}{where} GROUP BY {column}"


def _by_reader(chance: random.Random, parameter: Parameter, table: Table) -> tuple[str, Any]:
    takes = parameter.takes or ""
    if parameter.name == "levels":
        column = chance.choice(table.categories or table.columns)
        return f"{{{literal(column)}: {chance.choice(('2', '3', _strings('east', 'north', 'south', 'west')))}}}", None
    if parameter.name == "recode":
        return _recoding(chance, table), None
    if parameter.name == "matrix":
        column = chance.choice(table.categories or table.columns)
        return f"{{{literal(column)}: [[0.8, 0.3], [0.2, 0.7]]}}", None
    if takes == "a whole number":
        return str(chance.randrange(100)), None
    if parameter.name in ("p", "limits", "alpha", "level", "extra_noise") and "{" in takes and chance.random() < 0.4:
        columns = table.categories if parameter.name == "p" else table.numbers
        keys = ["linkage", "interval", "left_out"] if parameter.name == "limits" else columns or table.columns
        return _by_column({key: chance.choice(("0.2", "0.8", "0.5", "1")) for key in keys})
    if takes.startswith("one of "):
        return chance.choice(takes.removeprefix("one of ").split(", ")), None
    if takes == "true or false":
        value = chance.random() < 0.5
        return str(value).lower(), value
    if isinstance(parameter.read, Reader) and parameter.read.within is not None:
        return _number(chance, parameter.read, whole="whole number" in takes)
    if parameter.name == "pieces":
        return f"[{literal(quoted(chance.choice(table.numbers)) + ' > 1')}]", None
    return chance.choice(("1", "2", "'both'", "0.5", "true", "['a']", literal(chance.choice(table.columns)))), None


def _recoding(chance: random.Random, table: Table) -> str:
    """Rules for some columns, most of them fit for its type."""
    of_numbers = ("'width': 5", "'width': 0.5", "'breaks': [-1, 0, 7]", "'top': 'p90'", "'bottom': -1, 'top': 1")
    of_categories = ("'keep': 2", "'rare_below': 5", "'rare_below': 3, 'as': '-1'", "'keep': 1, 'rare_below': 2")
    columns = chance.sample(table.columns, min(len(table.columns), chance.choice((1, 1, 2, 3))))
    rules = []
    for column in columns:
        fit = of_numbers if column in table.numbers else of_categories
        own = fit if chance.random() < 0.9 else (*of_numbers, *of_categories)
        rules.append(f"{literal(column)}: {{{chance.choice(own)}}}")
    return f"{{{', '.join(rules)}}}"


def _by_column(values: dict[str, str]) -> tuple[str, dict[str, float]]:
    text = "{" + ", ".join(f"{literal(name)}: {value}" for name, value in values.items()) + "}"
    return text, {name: float(value) for name, value in values.items()}


def _strings(*values: str) -> str:
    return f"[{', '.join(map(literal, values))}]"


def _number(chance: random.Random, reader: Reader, *, whole: bool) -> tuple[str, Any]:
    within = reader.within
    assert within is not None
    high = within.high if math.isfinite(within.high) else within.low + chance.choice((1, 10, 1000))
    draw: Callable[[], float] = lambda: within.low + (high - within.low) * chance.random() ** 2  # noqa: E731
    ends: tuple[Callable[[], float], ...] = (lambda: within.low, lambda: high, lambda: within.low - 1)
    value = draw() if chance.random() < 0.9 else chance.choice(ends)()
    value = round(value) if whole else round(value, chance.choice((1, 3, 8)))
    return repr(value), value
