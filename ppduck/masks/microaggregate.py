"""Microaggregation: groups of at least k records that are near each other, each value replaced by its group's mean.

MDAV on standardised columns, all together or some at a time (MIC-vm-k takes v columns at a time). (004, section 6;
Domingo-Ferrer & Mateo-Sanz 2002.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.numeric_mask import NumericMask
from ppduck.call.parameters import MisreadError, Parameter
from ppduck.call.registry import register
from ppduck.call.roles import Roles
from ppduck.call.udf import Udf
from ppduck.errors import listed, near_miss, quoted
from ppduck.kernels import microaggregation
from ppduck.kernels.threads import one_thread
from ppduck.masks._promises import UNUSED
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.nearness import judge_values
from ppduck.stages.group_lists import GIVES, TAKES, Told, WholeFrame, flattened, whole_mask
from ppduck.values import Array, folded

SOLVE = "ppduck_microaggregate"
MOST_VALUES = 100_000_000  # 0.8 GB as doubles, and several times that on the way


_COUNT = arguments.whole(1)


@arguments.reader(f"'all', {_COUNT.takes}, or lists of columns, such as [['a','b'],['c']]", _COUNT.within)
def _variables(value: Any) -> int | str | list[list[str]]:
    if value == "all":
        return "all"
    if isinstance(value, int):
        return int(_COUNT(value))
    if isinstance(value, list) and value and all(isinstance(part, list) and part for part in value):
        return [arguments.columns(part) for part in value]
    raise MisreadError


PARAMETERS = (
    Parameter("k", arguments.whole(2), "the least number of records in a group, such as k := 3"),
    Parameter("variables", _variables, "'all', how many columns to group by at a time, or lists of columns", "'all'"),
    Parameter("method", arguments.choice("mdav"), "'mdav'", "'mdav'"),
)


class GroupFrame(WholeFrame):
    udf = SOLVE

    def __init__(self, mask: NumericMask, roles: Roles, given: dict[str, Any]) -> None:
        super().__init__(mask, roles, given)
        # Sets of columns, by their own names: what is together matters, not how it was said.
        names = [column.name for column in roles.conf]
        self.given = {name: value for name, value in given.items() if name not in ("variables", "method")}
        sets = _sets(names, given.get("variables", "all"), roles)
        if len(sets) > 1:
            self.given["variables"] = sorted(sorted(each) for each in sets)

    def _distinct_keys(self) -> sql.Expr:
        """There is no chance in it, so that rows may share a key."""
        return aggregates.rows()


def _sets(names: list[str], variables: int | str | list[list[str]], roles: Roles) -> list[list[str]]:
    """The columns that are grouped by together: consecutive ones, the last set smaller where they do not divide."""
    if variables == "all":
        return [names]
    if isinstance(variables, int):
        return [names[i : i + variables] for i in range(0, len(names), variables)]
    assert isinstance(variables, list)
    own = {folded(name): name for name in names}
    faults, seen, sets = [], set[str](), []
    for part in variables:
        for name in part:
            if folded(name) not in own:
                faults.append(f"variables names column {quoted(name)}, which is not in conf.{near_miss(name, names)}")
            elif folded(name) in seen:
                faults.append(f"variables names column {quoted(name)} twice.")
            seen.add(folded(name))
        sets.append([own[folded(name)] for name in part if folded(name) in own])
    missing = [name for name in names if folded(name) not in seen]
    if missing:
        faults.append(f"variables leaves out {listed(missing)}; every conf column is in one of its lists.")
    if faults:
        raise roles.faults("microaggregate_mask", faults)
    return sets


def solve(specification: str, group: str | None, secret: str, query: int, flat: Array | None) -> Array:
    told = Told(specification, group, secret, query, flat)
    values, k = told.values, int(told.parameters["k"])
    n = len(values)
    if values.size > MOST_VALUES:
        raise told.refuse(
            f"there are {values.size:,} values{told.where}, and {MOST_VALUES:,} at most can be looked at together; "
            "name fewer columns, or mask within groups: strata := […]."
        )
    nulls = np.isnan(values).sum(axis=0)
    faults = [
        f"conf column {quoted(name)} has NULL in {count} of {n} rows{told.where}, and a group's mean over fewer than k "
        "values would give them away; leave such rows out with a SELECT in tbl, or fill them."
        for name, count in zip(told.names, nulls, strict=True)
        if count
    ]
    if n < 2 * k:
        faults.append(
            f"k is {k}, and {n} rows{told.where} make no two groups of {k}; take a smaller k"
            + (", or merge small groups." if group else ".")
        )
    if faults:
        raise told.refuse("\n  also: ".join(faults))
    result = np.empty_like(values)
    for names in told.parameters.get("variables", [told.names]):
        of = [told.names.index(name) for name in names]
        if not microaggregation.is_exact(n, len(of)):
            _warn_of_parts(told, n, len(of))
        with one_thread():
            groups = microaggregation.grouped(microaggregation.standardised(values[:, of]), k)
        result[:, of] = microaggregation.centroids(values[:, of], groups)
    judge_values(told.judge, told.spec, told.names, values, result)
    return flattened(result)


def _warn_of_parts(told: Told, n: int, columns: int) -> None:
    told.judge.note(
        f"{n:,} rows of {columns} columns{{groups}} are grouped in parts of {microaggregation.BLOCK:,} that lie near "
        "each other; these are not the groups of the whole."
    )


MASK = register(
    whole_mask(
        "microaggregate_mask",
        frame=GroupFrame,
        summary="Microaggregation by MDAV: means of groups of at least k records that are near each other.",
        reference="Domingo-Ferrer & Mateo-Sanz 2002, IEEE TKDE 14(1); Domingo-Ferrer & Torra 2005",
        keeps=(
            "means of all conf columns exactly",
            "each combination of masked values, of columns that were grouped together, is shared by k records or more",
        ),
        loses=(
            "variances and covariances: what varies within groups is lost; information_loss() tells how much",
            "k-anonymity where columns are grouped in several sets: combinations across sets may be unique",
            "secrecy of extremes: the mean of k values of which one is very large shows about how large it is",
            "protection by k where the same record is in the table more than once",
            UNUSED,
        ),
        parameters=PARAMETERS,
        keeps_range=True,
        remedy="a larger k, shuffle_mask, or pram_mask if the column is a category",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES),),
    )
)
