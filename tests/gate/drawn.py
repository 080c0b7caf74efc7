"""Data that are drawn anew for each release that the gate is tried on, and the masks that make releases of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt

from tests.gate.corpus import DATA

Array = npt.NDArray[np.float64]
Columns = dict[str, npt.NDArray[np.generic]]
Rng = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """A kind of data: how n rows of it are drawn, and how they are masked."""

    name: str
    draw: Callable[[Rng, int], Columns]
    conf: tuple[str, ...]
    nonconf: tuple[str, ...]
    masks: tuple[str, ...]
    more: str = ""  # further arguments of the masks
    strata: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()  # if it has not those of the others


# Of a mask, its arguments beside conf, key and seed; {known} are the open columns and what the kind says.
MASKS = {
    "egadp": "{known}",
    "ipso": "{known}",
    "sufficiency": "alpha=0, {known}",
    "gadp": "{known}",
    "shuffle": "{known}",
    "cgadp": "{known}",
    "nm_egadp": "{known}",
    "rank_swap": "reach=100, ",
}
NUMBERS = tuple(MASKS)
# These let values change places, and keep them as they are: they are not rounded.
OF_VALUES = ("shuffle", "rank_swap")


def rng_of(*what: object) -> Rng:
    """Random numbers of their own for each draw, the same from call to call."""
    return np.random.default_rng([zlib.crc32(repr(each).encode()) for each in what])


def create(con: duckdb.DuckDBPyConnection, columns: Columns) -> None:
    """The table ``original``."""
    con.register("_drawn", columns)
    con.execute("CREATE OR REPLACE TABLE original AS FROM _drawn")
    con.unregister("_drawn")


def release(con: duckdb.DuckDBPyConnection, kind: Kind, mask: str, seed: int) -> None:
    """The table ``release``: the columns of the original, conf masked."""
    if mask == "rr":
        made = f"rr_mask('original', p={{'{kind.conf[0]}': 0.4}}, key='id', seed={seed})"
    else:
        more = "" if mask in OF_VALUES and "round" in kind.more else kind.more
        within = f"strata={names(kind.strata)}, " if kind.strata else ""
        known = f"nonconf={names(kind.nonconf)}, {within}{more}"
        made = (
            f"{mask}_mask('original', conf={names(kind.conf)}, {MASKS[mask].format(known=known)}key='id', seed={seed})"
        )
    con.execute(f"CREATE OR REPLACE TABLE release AS FROM {made}")


def names(columns: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in columns) + "]"


def related(rng: Rng, n: int, r2: float, conf: int = 2) -> Columns:
    """Normal columns: two open ones, and confidential ones of which these tell r2, and which lean on each other."""
    s = rng.normal(size=(n, 2))
    shared = rng.normal(size=n)
    found: Columns = {"id": np.arange(1, n + 1), "s1": s[:, 0], "s2": s[:, 1]}
    for j in range(conf):
        own = 0.6 * shared + 0.8 * rng.normal(size=n)
        told = s @ [0.8, 0.6 * (-1) ** j]
        found[f"x{j + 1}"] = np.sqrt(r2) * told + np.sqrt(1 - r2) * own
    return found


def incomes(rng: Rng, n: int, r2: float) -> Columns:
    """Lognormal, in cents."""
    drawn = related(rng, n, r2)
    return drawn | {name: np.round(np.exp(10 + 0.5 * drawn[name].astype(float)), 2) for name in ("x1", "x2")}


def _lognormal(r2: float) -> Callable[[Rng, int], Columns]:
    return lambda rng, n: incomes(rng, n, r2)


def _normal(conf: int) -> Callable[[Rng, int], Columns]:
    return lambda rng, n: related(rng, n, 0.3, conf)


def _tent(rng: Rng, n: int) -> Columns:
    x = rng.uniform(-1, 1, n)
    return {"id": np.arange(1, n + 1), "s1": x, "x1": 1 - np.abs(x) + 0.2 * rng.normal(size=n)}


def _zeros(rng: Rng, n: int) -> Columns:
    drawn = related(rng, n, 0.2)
    none = rng.uniform(size=n) < 0.9
    return drawn | {"x1": np.where(none, 0.0, np.round(np.exp(8 + drawn["x1"].astype(float))))}


def _whole(spread: float) -> Callable[[Rng, int], Columns]:
    def draw(rng: Rng, n: int) -> Columns:
        drawn = related(rng, n, 0.3)
        return drawn | {
            name: np.round(5 * spread + spread * drawn[name].astype(float)).astype(np.int64) for name in ("x1", "x2")
        }

    return draw


def _categories(rng: Rng, n: int) -> Columns:
    """A level of 1 in 50 rows among others, each of which moves the confidential columns."""
    drawn = related(rng, n, 0.3)
    level = rng.choice(4, n, p=[0.5, 0.3, 0.18, 0.02])
    plan = rng.choice(3, n)
    found = {name: drawn[name].astype(float) + 0.4 * level + 0.2 * plan for name in ("x1", "x2")}
    labels = {"c1": np.array(["east", "north", "south", "west"])[level], "c2": np.array(["a", "b", "c"])[plan]}
    return {"id": drawn["id"], "s1": drawn["s1"], **labels, **found}


def _keyed(rng: Rng, n: int) -> Columns:
    return incomes(rng, n, 0.3) | {"id": rng.choice(10_000_000, n, replace=False)}


def _disease(rng: Rng, n: int) -> Columns:
    age = rng.integers(20, 70, n)
    place = np.floor(5 * rng.uniform(size=n) ** (1.6 - age / 100)).astype(int)
    levels = np.array(["flu", "asthma", "anemia", "cancer", "gout"])
    return {"id": np.arange(1, n + 1), "age": age, "disease": levels[place]}


def _from(file: str, columns: Sequence[str]) -> Callable[[Rng, int], Columns]:
    """Some rows of a public file."""

    def draw(rng: Rng, n: int) -> Columns:
        listed = ", ".join(columns)
        with duckdb.connect() as con:
            found = con.execute(f"SELECT {listed} FROM '{DATA}/{file}'").fetchnumpy()
        table = {name: np.ma.getdata(values) for name, values in found.items()}
        rows = rng.choice(len(table[columns[0]]), min(n, len(table[columns[0]])), replace=False)
        return {"id": np.arange(1, len(rows) + 1)} | {name: values[rows] for name, values in table.items()}

    return draw


X, S = ("x1", "x2"), ("s1", "s2")
ADULT = ("age", "education_num", "sex", "hours_per_week", "fnlwgt")
CENSUS = ("POTHVAL", "EMCONTRB", "PTOTVAL", "FEDTAX")
KINDS = (
    Kind("normal", _normal(2), X, S, NUMBERS),
    Kind("one column", _normal(1), ("x1",), S, NUMBERS),
    Kind("six columns", _normal(6), tuple(f"x{j}" for j in range(1, 7)), S, NUMBERS),
    Kind("lognormal, R² 0.1", _lognormal(0.1), X, S, NUMBERS),
    Kind("lognormal, R² 0.5", _lognormal(0.5), X, S, NUMBERS),
    Kind("lognormal, R² 0.8", _lognormal(0.8), X, S, NUMBERS),
    Kind("tent", _tent, ("x1",), ("s1",), NUMBERS),
    Kind("mostly zeros", _zeros, X, S, NUMBERS),
    Kind("whole, many values", _whole(2000), X, S, NUMBERS, "round=true, "),
    Kind("whole, few values", _whole(3), X, S, NUMBERS, "round=true, "),
    Kind("categories", _categories, X, ("s1", "c1", "c2"), NUMBERS),
    Kind("strata", _categories, X, ("s1",), tuple(m for m in NUMBERS if m != "rank_swap"), strata=("c2",)),
    Kind("random key", _keyed, X, S, NUMBERS),
    Kind("Adult", _from("adult.parquet", ADULT), ADULT[3:], ADULT[:3], NUMBERS, sizes=(300, 1000, 5000)),
    Kind("Census", _from("census.parquet", CENSUS), CENSUS[2:], CENSUS[:2], NUMBERS, sizes=(300, 1000)),
    Kind("disease", _disease, ("disease",), ("age",), ("rr",)),
)
