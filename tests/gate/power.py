"""From which size on the gate finds a leak: in 95 of 100 draws of the data, the mask and the rows that leak.

Each leak has levels, from the least to the largest; the first one that is found so often is sought by halving, as if
each were found more often than those before it. Unless said, incomes of which the open columns tell R² = 0.3 are masked
by egadp_mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np

from tests.gate.drawn import KINDS, Array, Columns, Kind, Rng, create, incomes, release, rng_of

OFTEN = 0.95
COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0)
NOISE = (20.0, 10.0, 7.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.01)
PROBABILITIES = (0.41, 0.42, 0.43, 0.44, 0.45, 0.46, 0.48, 0.5, 0.52, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Leak:
    """What leaks; ``make`` writes the table ``release``, and says what is asked beside conf and key."""

    name: str
    level: str  # what a level is, with {} for its value
    levels: Sequence[float]
    make: Callable[[duckdb.DuckDBPyConnection, Rng, int, float], str]
    conf: str = "'x1', 'x2'"


KIND = Kind("incomes", lambda rng, n: incomes(rng, n, 0.3), ("x1", "x2"), ("s1", "s2"), ("egadp", "shuffle"))
WHOLE = Kind(
    "whole incomes",
    lambda rng, n: (
        {name: np.round(values.astype(float)) for name, values in incomes(rng, n, 0.3).items() if name[0] == "x"}
        | {"id": np.arange(1, n + 1)}
    ),
    ("x1", "x2"),
    (),
    ("egadp",),
    "round=true, ",
)


def _masked(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, kind: Kind = KIND, mask: str = "egadp") -> Columns:
    """The original, which is drawn, and the table ``release`` that masks it."""
    drawn = kind.draw(rng, n)
    create(con, drawn)
    release(con, kind, mask, int(rng.integers(1 << 30)))
    return drawn


def _put(con: duckdb.DuckDBPyConnection, values: str, beside: Columns) -> None:
    """Changes the release by what stands ``beside`` it, o being the original and b the other."""
    con.register("_beside", beside)
    con.execute(
        f"CREATE OR REPLACE TABLE release AS SELECT {values} FROM release r JOIN original o USING (id) "
        "JOIN _beside b USING (id)"
    )
    con.unregister("_beside")


def _rows(kind: Kind, mask: str, value: str, *, richest: bool = False) -> Callable[..., str]:
    """So many rows as they were, any or the richest."""

    def make(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
        drawn = _masked(con, rng, n, kind, mask)
        x = drawn["x1"].astype(float)
        order = np.argsort(-x) if richest else rng.permutation(n)
        leaks = np.zeros(n, dtype=bool)
        leaks[order[: int(level)]] = True
        _put(con, f"r.* REPLACE (if(b.leaks, {value}, r.x1) AS x1)", {"id": drawn["id"], "leaks": leaks})
        return ""

    return make


def _noise(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
    create(con, KIND.draw(rng, n))
    seed = int(rng.integers(1 << 30))
    con.execute(
        f"CREATE OR REPLACE TABLE release AS FROM noise_mask('original', conf=['x1', 'x2'], level={level}, key='id', seed={seed})"
    )
    return ""


def _mixed(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
    """Of what the open columns leave, the masked columns keep a share."""
    create(con, KIND.draw(rng, n))
    seed = int(rng.integers(1 << 30))
    con.execute(
        "CREATE OR REPLACE TABLE release AS FROM sufficiency_mask('original', conf=['x1', 'x2'], nonconf=['s1', 's2'], "
        f"alpha={np.sqrt(level)}, key='id', seed={seed})"
    )
    return ""


def _left(drawn: Columns) -> Array:
    """What the open columns leave of the logarithm of x1, standardized."""
    known = np.column_stack([np.ones(len(drawn["id"])), drawn["s1"], drawn["s2"]]).astype(float)
    x = np.log(drawn["x1"].astype(float))
    rest = x - known @ np.linalg.lstsq(known, x, rcond=None)[0]
    return np.asarray(rest / rest.std())


def _beside(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
    """A new column that tells a share of what the open columns leave."""
    drawn = _masked(con, rng, n)
    told = np.sqrt(level) * _left(drawn) + np.sqrt(1 - level) * rng.normal(size=n)
    _put(con, "r.*, b.score", {"id": drawn["id"], "score": told})
    return ", keep=['score']"


def _order(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
    """Rows in an order that goes with x1."""
    drawn = _masked(con, rng, n)
    x = np.log(drawn["x1"].astype(float))
    x = (x - x.mean()) / x.std()
    place = level * x + np.sqrt(1 - level**2) * rng.normal(size=n)
    con.execute("SET preserve_insertion_order = true")
    _put(con, "r.*, b.place", {"id": drawn["id"], "place": place})
    con.execute("CREATE OR REPLACE TABLE release AS SELECT * EXCLUDE (place) FROM release ORDER BY place")
    return ""


def _design(con: duckdb.DuckDBPyConnection, rng: Rng, n: int, level: float) -> str:
    """A category that is kept more often than declared."""
    [kind] = [each for each in KINDS if each.masks == ("rr",)]
    create(con, kind.draw(rng, n))
    seed = int(rng.integers(1 << 30))
    con.execute(
        f"CREATE OR REPLACE TABLE release AS FROM rr_mask('original', p={{'disease': {level}}}, key='id', seed={seed})"
    )
    return ", p={'disease': 0.4}"


NEARLY = "o.x1 * (1 + 3e-7)"
LEAKS = (
    Leak("rows as they were", "{:g} rows", COUNTS, _rows(KIND, "egadp", "o.x1")),
    Leak("rows as they were among whole numbers", "{:g} rows", COUNTS, _rows(WHOLE, "egadp", "o.x1")),
    Leak("rows as they were in a shuffle", "{:g} rows", COUNTS, _rows(KIND, "shuffle", "o.x1")),
    Leak("rows to six digits", "{:g} rows", COUNTS, _rows(KIND, "egadp", NEARLY)),
    Leak("the richest to six digits", "{:g} rows", COUNTS, _rows(KIND, "egadp", NEARLY, richest=True)),
    Leak("the richest in a shuffle", "{:g} rows", COUNTS, _rows(KIND, "shuffle", "o.x1", richest=True)),
    Leak("noise_mask alone", "noise of {:g} times the variance", NOISE, _noise),
    Leak("masked columns beyond the open ones", "{:g} of what those leave", SHARES, _mixed),
    Leak("a new column beyond the open ones", "{:g} of what those leave", SHARES, _beside),
    Leak("a category kept beyond its design", "p {:g}, 0.4 declared", PROBABILITIES, _design, "'disease'"),
    Leak("rows in order", "correlation {:g} of place and value", SHARES, _order),
)


def found(con: duckdb.DuckDBPyConnection, leak: Leak, n: int, level: float, draws: int) -> tuple[bool, str]:
    """Whether it is found so often, and by which rule most often; too many misses end it."""
    missed, by = 0, dict[str, int]()
    for draw in range(draws):
        more = leak.make(con, rng_of(leak.name, n, level, draw), n, level)
        question = f"release_check('original', 'release', conf=[{leak.conf}], key='id'{more})"
        rules = con.execute(f"SELECT DISTINCT rule FROM {question} WHERE NOT passed").fetchall()
        missed += not rules
        for (rule,) in rules:
            by[rule] = by.get(rule, 0) + 1
        if missed > (1 - OFTEN) * draws + 1e-9:
            return False, ""
    return True, max(by, key=lambda rule: by[rule])


def threshold(con: duckdb.DuckDBPyConnection, leak: Leak, n: int, draws: int) -> str:
    """The least level that is found."""
    low, high, told = 0, len(leak.levels), ""
    while low < high:
        middle = (low + high) // 2
        enough, rule = found(con, leak, n, leak.levels[middle], draws)
        if enough:
            high, told = middle, rule
        else:
            low = middle + 1
    return f"{leak.level.format(leak.levels[low])} ({told})" if low < len(leak.levels) else "not found"


def table(con: duckdb.DuckDBPyConnection, draws: int, only: str, sizes: Sequence[int]) -> Iterator[str]:
    """Lines of a table in Markdown, as they are measured."""
    yield "| leak | " + " | ".join(f"n = {n:,}" for n in sizes) + " |"
    yield "| --- |" + " --- |" * len(sizes)
    for leak in LEAKS:
        if only.lower() in leak.name.lower():
            yield f"| {leak.name} | " + " | ".join(threshold(con, leak, n, draws) for n in sizes) + " |"
