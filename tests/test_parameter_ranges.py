"""Each range that help states of a parameter is the one that its reader keeps, to the last bit, in Python and in SQL."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

import duckdb
import pytest

import ppduck
from ppduck.call.parameters import MisreadError, Parameter, Reader
from ppduck.call.ranges import Range
from ppduck.call.registry import Function, PlainMacro, functions
from ppduck.gate.rules import RULES
from ppduck.guide.demo import DEMO
from tests.conftest import SECRET

EVERY = [(function, parameter) for function in functions() for parameter in function.parameters]
RANGED = [(function, parameter) for function, parameter in EVERY if getattr(parameter.read, "within", None)]
RANGED_NAMES = [f"{function.name}.{parameter.name}" for function, parameter in RANGED]
BOUND = re.compile(r"\b(from|at least|at most|up to|above|below|between|more than|less than) -?\d|\d or (more|less)")
OF_RULES = {"release_check.limits", "assert_release.limits"}  # one range for each rule


@pytest.fixture(scope="module")
def demo() -> Iterator[duckdb.DuckDBPyConnection]:
    with ppduck.connect(secret=SECRET) as con:
        con.execute(DEMO)
        yield con


def range_of(parameter: Parameter) -> Range:
    assert isinstance(parameter.read, Reader)
    assert parameter.read.within is not None
    return parameter.read.within


def is_whole(parameter: Parameter) -> bool:
    return "a whole number" in (parameter.takes or "")


def tried(within: Range, whole: bool) -> tuple[list[float], list[float]]:
    """Numbers at the ends of a range that belong to it, and those just beyond that do not."""
    inside: list[float] = []
    outside: list[float] = [] if whole else [math.nan, math.inf, -math.inf]
    for end, out, is_open in ((within.low, -1, within.above), (within.high, 1, within.below)):
        if math.isinf(end):
            inside.append(10**30 if whole else 1e300)
        elif is_open:
            inside.append(math.nextafter(end, -out * math.inf))
            outside.append(end)
        else:
            inside.append(end)
            outside.append(end + out if whole else math.nextafter(end, out * math.inf))
    if within.also is not None:
        inside.append(within.also)
        outside += [math.nextafter(within.also, way) for way in (-math.inf, math.inf)]
    return inside, outside


@pytest.mark.parametrize(("function", "parameter"), RANGED, ids=RANGED_NAMES)
def test_the_ends_of_a_range(function: Function, parameter: Parameter) -> None:
    within = range_of(parameter)
    assert str(within) in (parameter.takes or "")
    inside, outside = tried(within, is_whole(parameter))
    per_column = "{'column': number}" in (parameter.takes or "")
    for number in inside:
        assert parameter.read(number) in (number, [number])
        if per_column:
            assert parameter.read({"x": number}) == {"x": number}
    for number in outside:
        with pytest.raises(MisreadError, match=f"^must be {re.escape(str(within))}"):
            parameter.read(number)
        if per_column:
            with pytest.raises(MisreadError, match=f"^must be {re.escape(str(within))}"):
                parameter.read({"x": number})
    for none in (True, *([within.low + 0.5] if is_whole(parameter) else [])):
        with pytest.raises(MisreadError, match=f"^takes .*{re.escape(str(within))}"):
            parameter.read(none)


def test_no_bound_is_stated_in_words_alone() -> None:
    bounded = {f"{function.name}.{each.name}" for function, each in EVERY if BOUND.search(each.takes or "")}
    assert bounded - set(RANGED_NAMES) == OF_RULES, "give the reader its range: arguments.number(Range(…))"


def test_defaults_are_among_what_is_taken() -> None:
    for _, parameter in EVERY:
        if parameter.default not in (None, "NULL"):
            text = str(parameter.default)
            parameter.read(ast.literal_eval({"true": "True", "false": "False"}.get(text, text)))


@pytest.mark.parametrize(("function", "parameter"), RANGED, ids=RANGED_NAMES)
def test_just_beyond_is_refused_in_sql(
    demo: duckdb.DuckDBPyConnection, function: Function, parameter: Parameter
) -> None:
    within = range_of(parameter)
    _, outside = tried(within, is_whole(parameter))
    plain = isinstance(function, PlainMacro)  # which no reader reads; it says the same in its own words
    said = r"must be a (whole )?number" if plain else re.escape(f"must be {within}")
    for number in outside:
        text = repr(number) if math.isfinite(number) else f"'{number}'::DOUBLE"
        with pytest.raises(duckdb.InvalidInputException, match=rf"{function.name}: {parameter.name} {said}"):
            demo.execute(with_argument(function, parameter.name, text))


@pytest.mark.parametrize("name", ["k_anonymity", "l_diversity"])
def test_the_ends_of_a_range_in_plain_sql(demo: duckdb.DuckDBPyConnection, name: str) -> None:
    [function] = [each for each in functions() if each.name == name]
    of_function = [parameter for own, parameter in RANGED if own is function]
    assert of_function
    for parameter in of_function:
        inside, _ = tried(range_of(parameter), is_whole(parameter))
        for number in inside:
            assert demo.execute(with_argument(function, parameter.name, repr(number))).fetchall()
        assert str(range_of(parameter)) in refusal(demo, with_argument(function, parameter.name, "-1"))


def with_argument(function: Function, name: str, value: str) -> str:
    """The example of a function with one argument changed, or added; = and := do not go together."""
    call = function.example
    call = call[call.index("FROM ") :]
    sign = ":=" if isinstance(function, PlainMacro) else "="
    given = re.compile(rf"\b{name} ?:?= ?(\{{[^}}]*\}}|\[[^\]]*\]|[^,)]+)")
    if given.search(call):
        return given.sub(f"{name} {sign} {value}", call)
    return f"{call.removesuffix(')')}, {name} {sign} {value})"


def refusal(con: duckdb.DuckDBPyConnection, statement: str) -> str:
    with pytest.raises(duckdb.InvalidInputException, match="must be") as refused:
        con.execute(statement)
    return str(refused.value)


@pytest.mark.parametrize("rule", RULES)
def test_limits_of_rules(rule: str) -> None:
    reader = RULES[rule].limits
    assert reader.within is not None
    limits = [parameter for function, parameter in EVERY if f"{function.name}.{parameter.name}" in OF_RULES]
    assert all(reader.takes in (parameter.takes or "") for parameter in limits)
    assert len(limits) == len(OF_RULES)
    inside, outside = tried(reader.within, whole=False)
    assert [reader(number) for number in inside] == inside
    for number in outside:
        with pytest.raises(MisreadError, match=f"^must be {re.escape(str(reader.within))}"):
            reader(number)


@pytest.mark.parametrize(
    ("function", "parameters", "words"),
    [
        ("sufficiency_mask", ("alpha", "level"), "give alpha or level, one of them"),
        ("rr_mask", ("p", "matrix"), "each column needs p or matrix, one of them"),
        ("pram_mask", ("p", "matrix"), "each column needs p or matrix, one of them"),
        ("rr_reconstruct", ("p", "matrix"), "a column has p or matrix, not both"),
        ("rr_optimize", ("l", "tau"), "give l or tau, one of them"),
    ],
)
def test_either_or_is_told(
    demo: duckdb.DuckDBPyConnection, function: str, parameters: tuple[str, ...], words: str
) -> None:
    told = demo.execute(f"SELECT name, description FROM ppduck_help('{function}') WHERE section = 'parameter'")
    docs = dict(told.fetchall())
    assert all(docs[name].endswith(words) for name in parameters)
