"""Models as users write them: 'AD,G', 'age*sex, region', or [['age', 'sex'], ['region']]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ppduck.call.arguments import reader
from ppduck.call.parameters import MisreadError
from ppduck.errors import Faults, near_miss, quoted
from ppduck.kernels.loglinear import Generators, generators_of
from ppduck.values import folded

_FACTORS = re.compile(r"[*:]")


@reader("a text such as 'AD,G' or 'age*sex, region', or lists such as [['age', 'sex'], ['region']]")
def model(value: Any) -> str | list[list[str]]:
    """Reads the parameter."""
    if isinstance(value, str) and value.strip():
        return value
    parts = value if isinstance(value, list) and value else [[]]
    if all(
        isinstance(part, list) and part and all(isinstance(name, str) for name in part)
        for part in parts
    ):
        return parts
    raise MisreadError


def generators(faults: Faults, given: str | list[list[str]], names: Sequence[str]) -> Generators:
    """The generators of a model of these columns, as places among them."""
    parts = (
        [_factors(faults, part, names) for part in given.split(",")]
        if isinstance(given, str)
        else given
    )
    faults.raise_if_any()
    place = {folded(name): i for i, name in enumerate(names)}
    terms = []
    for part in parts:
        for name in part:
            if folded(name) not in place:
                faults.add(_unknown(name, names))
        terms.append([place[folded(name)] for name in part if folded(name) in place])
        if len(set(terms[-1])) < len(terms[-1]):
            faults.add(f"model has a column twice in the term {'*'.join(part)!r}; once is enough.")
    faults.raise_if_any()
    missing = [name for i, name in enumerate(names) if not any(i in term for term in terms)]
    if missing:
        raise faults.refuse(
            f"model leaves out column {quoted(missing[0])}; add it as a term of its own, or leave it out of columns."
        )
    return generators_of(terms)


def _factors(faults: Faults, part: str, names: Sequence[str]) -> list[str]:
    """The columns of a term: apart by * or :, or together where there is one way to read it."""
    part = part.strip()
    if not part:
        raise faults.refuse("model has an empty term; write it as 'AD,G' or 'age*sex, region'.")
    if _FACTORS.search(part):
        found = [name.strip() for name in _FACTORS.split(part)]
        if not all(found):
            raise faults.refuse(f"model cannot be read at {part!r}; write a term as 'age*sex'.")
        return found
    if folded(part) in map(folded, names):
        return [part]
    ways = _ways(folded(part), [folded(name) for name in names])
    if len(ways) == 1:
        return ways[0]
    if ways:
        raise faults.refuse(
            f"model term {part!r} can be read in several ways; put * between its columns."
        )
    faults.add(_unknown(part, names))
    return []


def _ways(text: str, names: Sequence[str], most: int = 2) -> list[list[str]]:
    """How a text can be cut into names, each used once; no more than two ways are looked for."""
    if not text:
        return [[]]
    found: list[list[str]] = []
    for name in names:
        if name and text.startswith(name):
            rest = [other for other in names if other != name]
            found += [[name, *way] for way in _ways(text[len(name) :], rest, most)]
            if len(found) >= most:
                break
    return found[:most]


def _unknown(name: str, names: Sequence[str]) -> str:
    return (
        f"model names {quoted(name)}, which is none of the columns {', '.join(map(quoted, names))}."
        f"{near_miss(name, names)} A term is written as 'age*sex', or 'AD' where names are single letters."
    )


def model_text(of: Generators, names: Sequence[str]) -> str:
    """A model as a text; it can be read again where no name holds a comma, * or :."""
    between = "" if all(len(name) == 1 for name in names) else "*"
    return ",".join(between.join(names[i] for i in one) for one in of)
