"""How a call ended, and whether what it released was masked."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import duckdb

from ppduck.call.numeric_mask import NumericMask
from ppduck.designs.randomizing_mask import RandomizingMask
from tests.fuzz.calls import Call
from tests.fuzz.tables import quoted

ANSWER, REFUSED, DUCKDB = "answer", "refused", "duckdb"
RAW, HANG, CRASH, UNMASKED = "raw python error", "hang", "crash", "unmasked"
FAULTS = (RAW, HANG, CRASH, UNMASKED)

_IN_UDF = re.compile(r"executing the UDF: (\w+):")
# Beyond chance, of rows enough to tell; below it a mask that keeps values near may leave some in their place.
MOST_THAT_STAY, FEWEST_ROWS = 0.1, 30


def of_error(error: BaseException) -> str:
    """The class of an exception that a call ended with."""
    raised = _IN_UDF.search(str(error))
    if raised:
        kind = raised[1]
        if kind == "PpduckError":
            return REFUSED
        return DUCKDB if isinstance(getattr(duckdb, kind, None), type) else RAW
    if "Python exception" in str(error):
        return RAW
    internal = isinstance(error, duckdb.InternalException | duckdb.FatalException)
    return CRASH if internal else DUCKDB if isinstance(error, duckdb.Error) else RAW


def of_answer(con: duckdb.DuckDBPyConnection, call: Call, names: list[str], rows: list[Any], warned: bool) -> str:
    """ANSWER, or UNMASKED where a mask gave values back as they were, beyond chance and without a warning."""
    table, function = call.table, call.function
    if not isinstance(function, NumericMask | RandomizingMask) or warned or len(rows) < FEWEST_ROWS:
        return ANSWER
    p, key = call.given.get("p"), table.key
    conf = call.given.get("conf") or (list(p) if isinstance(p, dict) else None)
    if not table.unique_key or not conf or key not in names or key in conf:
        return ANSWER
    wanted = [column for column in table.columns if column in conf and column in names]
    query = f"SELECT {', '.join(quoted(column) for column in [key, *wanted])} FROM {quoted(table.name)}"
    original = {row[0]: row[1:] for row in con.execute(query).fetchall()}
    for place, column in enumerate(wanted):
        pairs = [(original[row[names.index(key)]][place], row[names.index(column)]) for row in rows]
        shown = [(before, after) for before, after in pairs if before is not None and not _is_nan(before)]
        if len(shown) < FEWEST_ROWS:
            continue
        stay = sum(_same(before, after) for before, after in shown) / len(shown)
        counts = Counter(before for before, _ in shown)
        chance = sum((count / len(shown)) ** 2 for count in counts.values())
        most = _expected(function, call.given, column, chance, len(shown))
        if stay > most:
            return UNMASKED
    return ANSWER


def _expected(function: object, given: dict[str, Any], column: str, chance: float, rows: int) -> float:
    """The largest share that may stay."""
    if isinstance(function, NumericMask):
        return chance + MOST_THAT_STAY
    p = given.get("p")
    p = p.get(column) if isinstance(p, dict) else p
    if not isinstance(p, float | int) or given.get("invariant"):
        return 1.0  # a matrix, and the invariant one that is made of p, may keep what it likes
    return float(p) + 5 * math.sqrt(max(p * (1 - p), 0) / rows) + 1e-9


def _same(before: Any, after: Any) -> bool:
    if after is None:
        return False
    try:
        return math.isclose(before, after, rel_tol=1e-12, abs_tol=0)
    except TypeError:
        return bool(before == after)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
