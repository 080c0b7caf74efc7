"""Which masks are compared, under the names that the literature has for them, and what was printed of them.

Parameters are those of tables 3 and 4 of Pont-Tuset et al. (2007, IIIA-TR-2007-05), and so are the figures, averages
on the Census data of the CASC project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ppduck.errors import PpduckError, listed, near_miss
from ppduck.frozen import frozen

# P, B, η, c, H
NETWORKS = {
    "A": (8, 0.8, 0.4, 4.0, 8), "B": (10, 0.8, 0.1, 3.5, 8), "C": (10, 0.8, 0.1, 3.0, 8), "D": (10, 0.8, 0.1, 4.0, 8),
    "E": (8, 0.8, 0.1, 4.0, 2), "F": (8, 0.8, 0.3, 4.0, 8), "G": (8, 0.8, 0.1, 3.5, 2),
    "a": (8, 0.795, 0.4, 4.0, 8), "b": (8, 0.785, 0.3, 4.0, 8), "c": (8, 0.800, 0.4, 4.0, 8),
    "d": (10, 0.805, 0.2, 4.0, 8), "e": (8, 0.795, 0.3, 4.0, 8), "f": (8, 0.820, 0.4, 4.0, 8),
    "g": (8, 0.815, 0.4, 3.5, 8),
}  # fmt: skip
SWAPS = (12, 13, 14, 15, 17)
GROUPS = ((3, 15), (3, 20), (4, 11), (4, 17), (4, 19))  # v columns at a time, k records at least
# (IL, DR, score) with 7 and with 13 known columns; None where nothing was printed.
PUBLISHED: dict[int, dict[str, tuple[float, float, float]]] = {
    7: {
        "RS-14": (23.83, 24.21, 24.02), "RS-17": (27.40, 21.87, 24.64), "RS-12": (21.08, 27.83, 24.45),
        "RS-15": (27.44, 23.62, 25.53), "RS-13": (25.39, 26.35, 25.87), "MIC4m17": (23.98, 31.67, 27.82),
        "MIC4m19": (26.10, 31.09, 28.59), "MIC4m11": (21.27, 36.22, 28.74), "MIC3m20": (21.95, 35.85, 28.90),
        "MIC3m15": (18.98, 39.33, 29.15), "ONN-A": (20.42, 26.25, 23.33), "ONN-B": (20.59, 26.95, 23.77),
        "ONN-C": (20.31, 27.26, 23.78), "ONN-D": (20.66, 26.96, 23.81), "ONN-E": (22.38, 25.65, 24.01),
        "ONN-a": (19.70, 26.37, 23.04), "ONN-b": (19.24, 26.91, 23.17), "ONN-c": (20.42, 26.25, 23.33),
        "ONN-d": (20.00, 26.67, 23.33), "ONN-e": (21.01, 25.72, 23.37),
    },
    13: {
        "RS-14": (23.83, 31.32, 27.58), "RS-17": (27.40, 28.43, 27.92), "RS-12": (21.08, 35.83, 28.46),
        "RS-15": (27.44, 30.51, 28.98), "RS-13": (25.39, 33.79, 29.59), "MIC4m17": (23.98, 40.80, 32.39),
        "MIC4m19": (26.10, 40.10, 33.10), "MIC4m11": (21.27, 46.45, 33.86), "MIC3m20": (21.95, 46.70, 34.33),
        "MIC3m15": (18.98, 50.94, 34.96), "ONN-A": (21.45, 33.52, 27.49), "ONN-F": (22.23, 32.99, 27.61),
        "ONN-E": (22.38, 33.04, 27.71), "ONN-B": (20.59, 34.88, 27.73), "ONN-G": (22.56, 33.20, 27.88),
        "ONN-a": (19.70, 33.73, 26.72), "ONN-b": (19.24, 34.33, 26.78), "ONN-e": (21.01, 33.02, 27.01),
        "ONN-f": (23.33, 31.01, 27.17), "ONN-g": (22.86, 31.60, 27.23),
    },
}  # fmt: skip


@frozen
class Method:
    """A mask with its parameters, as SQL behind the table and its columns."""

    name: str
    family: str
    mask: str
    parameters: str
    by_chance: bool = True


def network(name: str, p: int, b: float, eta: float, c: float, h: int) -> Method:
    return Method(
        name,
        "ONN",
        "onn_mask",
        f"partitions := {p}, b := {b}, eta := {eta}, c := {c}, hidden := {h}",
    )


METHODS = {
    method.name: method
    for method in (
        *(network(f"ONN-{letter}", *told) for letter, told in NETWORKS.items()),
        *(Method(f"RS-{p}", "RS", "rank_swap_mask", f"reach := {p}") for p in SWAPS),
        *(
            Method(
                f"MIC{v}m{k}",
                "MIC",
                "microaggregate_mask",
                f"k := {k}, variables := {v}",
                by_chance=False,
            )
            for v, k in GROUPS
        ),
    )
}
FAMILIES = {
    family: [m for m in METHODS.values() if m.family == family] for family in ("ONN", "RS", "MIC")
}


def chosen(names: Iterable[str]) -> list[Method]:
    """The methods of families or single ones; RS-p and MICvmk also with other parameters than the printed ones."""
    found: dict[str, Method] = {}
    for name in names:
        if name.upper() in FAMILIES:
            found |= {method.name: method for method in FAMILIES[name.upper()]}
        elif name in METHODS:
            found[name] = METHODS[name]
        elif swap := re.fullmatch(r"RS-(\d+(?:\.\d+)?)", name):
            found[name] = Method(name, "RS", "rank_swap_mask", f"reach := {swap[1]}")
        elif group := re.fullmatch(r"MIC(\d+)m(\d+)", name):
            parameters = f"k := {group[2]}, variables := {group[1]}"
            found[name] = Method(name, "MIC", "microaggregate_mask", parameters, by_chance=False)
        else:
            known = [*(family.lower() for family in FAMILIES), *METHODS]
            raise PpduckError(
                f"there is no method {name!r}.{near_miss(name, known)} Methods: {listed(known, 40)}."
            )
    return list(found.values())
