"""Microaggregation: groups of at least k records that are near each other, each value replaced by its group's mean.

MDAV on standardised columns, all together or some at a time (MIC-vm-k takes v columns at a time). (Domingo-Ferrer &
Mateo-Sanz 2002; Pont-Tuset et al. 2007, section 6.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import ColumnNames, MisreadError, parameter, parameters
from ppduck.call.registry import register
from ppduck.call.roles import Roles
from ppduck.call.udf import told_udf
from ppduck.errors import listed, near_miss, quoted
from ppduck.kernels import microaggregation
from ppduck.kernels.threads import one_thread
from ppduck.masks._promises import IN_RANGE, UNUSED
from ppduck.runtime.group_lists import Group, GroupLists, flattened
from ppduck.runtime.nearness import judge_values
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.group_lists import ConfCall, group_mask, list_plan
from ppduck.stages.masking import Masking
from ppduck.stages.plan import Plan
from ppduck.values import Array, folded

MOST_VALUES = 100_000_000  # 0.8 GB as doubles, and several times that on the way


_COUNT = arguments.whole(1)


@arguments.reader(
    f"'all', {_COUNT.takes}, or lists of columns, such as [['a','b'],['c']]",
    _COUNT.within,
    columns=ColumnNames.LISTED,
)
def _variables(value: Any) -> int | str | list[list[str]]:
    if value == "all":
        return "all"
    if isinstance(value, int):
        return int(_COUNT(value))
    if isinstance(value, list) and value and all(isinstance(part, list) and part for part in value):
        return [arguments.columns(part) for part in value]
    raise MisreadError


@parameters
class GroupCall(ConfCall):
    k: int = parameter(arguments.whole(2), "the least number of records in a group, such as k := 3")
    variables: int | str | list[list[str]] = parameter(
        _variables, "'all', how many columns to group by at a time, or lists of columns", "all"
    )
    method: str = parameter(arguments.choice("mdav"), "'mdav'", "mdav")


def stages(masking: Masking) -> Plan:
    """Sets of columns go by their own names: what is together matters, not how it was said."""
    call, roles = masking.call, masking.roles
    assert isinstance(call, GroupCall)
    sets = _sets([column.name for column in roles.conf], call.variables, roles)
    variables = sorted(sorted(each) for each in sets) if len(sets) > 1 else "all"
    # There is no chance in it, so that rows may share a key.
    own = replace(masking, call=replace(call, variables=variables))
    return list_plan(own, SOLVE, shared_keys=True)


def _sets(
    names: list[str], variables: int | str | list[list[str]], roles: Roles
) -> list[list[str]]:
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
                faults.append(
                    f"variables names column {quoted(name)}, which is not in conf.{near_miss(name, names)}"
                )
            elif folded(name) in seen:
                faults.append(f"variables names column {quoted(name)} twice.")
            seen.add(folded(name))
        sets.append([own[folded(name)] for name in part if folded(name) in own])
    missing = [name for name in names if folded(name) not in seen]
    if missing:
        faults.append(
            f"variables leaves out {listed(missing)}; every conf column is in one of its lists."
        )
    if faults:
        raise roles.faults("microaggregate_mask", faults)
    return sets


def solve(spec: MaskSpec, lists: GroupLists) -> Array:
    told, call = lists.of(spec), spec.call
    values, k = told.values, call.k
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
            + (", or merge small groups." if told.label else ".")
        )
    if faults:
        raise told.refuse("\n  also: ".join(faults))
    result = np.empty_like(values)
    for names in [told.names] if call.variables == "all" else call.variables:
        of = [told.names.index(name) for name in names]
        if not microaggregation.is_exact(n, len(of)):
            _warn_of_parts(told, n, len(of))
        with one_thread():
            groups = microaggregation.grouped(microaggregation.standardised(values[:, of]), k)
        result[:, of] = microaggregation.centroids(values[:, of], groups)
    judge_values(told.judge, told.spec, told.names, values, result)
    return flattened(result)


def _warn_of_parts(told: Group, n: int, columns: int) -> None:
    told.judge.note(
        f"{n:,} rows of {columns} columns{{groups}} are grouped in parts of {microaggregation.BLOCK:,} that lie near "
        "each other; these are not the groups of the whole."
    )


SOLVE = told_udf("ppduck_microaggregate", solve, MaskSpec, GroupLists, "DOUBLE[]")
MASK = register(
    group_mask(
        "microaggregate_mask",
        GroupCall,
        stages=stages,
        summary="Microaggregation by MDAV: means of groups of at least k records that are near each other.",
        reference="Domingo-Ferrer & Mateo-Sanz 2002, IEEE TKDE 14(1); Domingo-Ferrer & Torra 2005",
        keeps=(
            Guarantee(Promise.MEANS, "means of all conf columns exactly"),
            IN_RANGE,
            Guarantee(
                Promise.ALIKE_ROWS,
                "each combination of masked values, of columns that were grouped together, is shared by k records or "
                "more",
            ),
        ),
        loses=(
            Loss(
                LossKind.MOMENTS,
                "variances and covariances: what varies within groups is lost; information_loss() tells how much",
            ),
            Loss(
                LossKind.GROUPS,
                "k-anonymity where columns are grouped in several sets: combinations across sets may be unique",
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of extremes: the mean of k values of which one is very large shows about how large it is",
            ),
            Loss(
                LossKind.GROUPS,
                "protection by k where the same record is in the table more than once",
            ),
            UNUSED,
        ),
        remedy="a larger k, shuffle_mask, or pram_mask if the column is a category",
        udfs=(SOLVE,),
        example="FROM microaggregate_mask('customers', conf=['x1','x2'], k=20, key='id')",
    )
)
