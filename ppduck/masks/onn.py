"""Ordered Neural Networks: see the kernel for the method, and for how what its source leaves open was read."""

from __future__ import annotations

import numpy as np

from ppduck.call import arguments
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Reader, parameter, parameters
from ppduck.call.ranges import Range
from ppduck.call.registry import register
from ppduck.call.udf import told_udf
from ppduck.errors import quoted
from ppduck.kernels import onn
from ppduck.kernels.nearness import correlation
from ppduck.kernels.threads import one_thread
from ppduck.masks._promises import UNUSED
from ppduck.runtime.group_lists import Group, GroupLists, flattened
from ppduck.runtime.nearness import judge_values
from ppduck.runtime.spec import MaskSpec
from ppduck.stages.group_lists import ConfCall, group_mask, list_plan
from ppduck.stages.masking import Masking
from ppduck.stages.plan import Plan
from ppduck.values import Array

MOST_VALUES = 2_000_000  # one pattern after the other is shown to the networks, a hundred thousand in a second or two
# values x partitions x hidden neurons, each of which is gone through in every epoch
MOST_WORK = 64 * MOST_VALUES
UNCHANGED = 1e-3  # a value that changes by less than this share of itself and of the sd is as good as unmasked
LOST = 0.8  # correlation with the originals below which other weights would have given quite other values
SMALLEST_RANGE = 0.01  # of targets: smaller ones are scaled up to anything


_RANGE = arguments.number(Range(SMALLEST_RANGE, 1, below=True))


def _above(most: float) -> Reader:
    return arguments.number(Range(0, most, above=True))


_OF_THE_PAPER = onn.Design()


@parameters
class NetworkCall(ConfCall):
    partitions: int = parameter(
        arguments.whole(1, 1_000),
        "P, into how many parts the sorted values are cut",
        _OF_THE_PAPER.partitions,
    )
    b: float = parameter(
        _RANGE,
        "B, the range of the networks' targets, of the range from 0 to 1 of their outputs",
        _OF_THE_PAPER.b,
    )
    eta: float = parameter(_above(10), "η, the learning rate", _OF_THE_PAPER.eta)
    c: float = parameter(_above(100), "c, how steep the neurons are", _OF_THE_PAPER.c)
    hidden: int = parameter(
        arguments.whole(1, 1_000), "H, the neurons of a hidden layer", _OF_THE_PAPER.hidden
    )
    standardise: bool = parameter(
        arguments.flag, "bring columns to mean 0 and sd 1 before they are mixed", False
    )


def stages(masking: Masking) -> Plan:
    return list_plan(masking, SOLVE)


def solve(spec: MaskSpec, lists: GroupLists) -> Array:
    told, call = lists.of(spec), spec.call
    design = onn.Design(call.partitions, call.b, call.eta, call.c, call.hidden)
    values = told.values
    present = ~np.isnan(values)
    count = int(present.sum())
    if count > MOST_VALUES:
        raise told.refuse(
            f"there are {count:,} values{told.where}, and the networks learn {MOST_VALUES:,} at most, one after the "
            "other; name fewer columns, or mask within groups: strata := […]."
        )
    work = count * design.partitions * design.hidden
    if work > MOST_WORK:
        raise told.refuse(
            f"{count:,} values{told.where} x {design.partitions:,} partitions x {design.hidden:,} hidden neurons are "
            f"{work:,} weights to teach in every epoch, and {MOST_WORK:,} are the most; take fewer partitions or "
            "hidden neurons, name fewer columns, or mask within groups: strata := […]."
        )
    if design.partitions > count:
        raise told.refuse(
            f"partitions is {design.partitions}, and there are only {count} values{told.where}; cut them into fewer."
        )
    centre, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    if call.standardise:
        centre, scale = _scales(told)
    result = np.full(values.shape, np.nan)
    # Record by record, so that equal values of a record stand side by side whatever the number of columns.
    scaled = ((values - centre) / scale)[present]
    with one_thread():
        result[present] = onn.masked(np.ascontiguousarray(scaled), design, told.noise)
    result = result * scale + centre
    judge_values(told.judge, told.spec, told.names, values, _snapped(values, result))
    _note_lost(told, result)
    return flattened(result)


def _snapped(before: Array, after: Array) -> Array:
    """Values that hardly change as the originals, which they are as good as."""
    size = np.minimum(np.abs(before), np.nanstd(before, axis=0))
    return np.where(np.abs(after - before) <= UNCHANGED * size, before, after)


def _note_lost(told: Group, result: Array) -> None:
    """What the networks make of few large values hangs on the weights that they began with."""
    for name, before, after in zip(told.names, told.values.T, result.T, strict=True):
        found = correlation(before, after)
        if found < LOST:
            told.judge.note(
                f"the networks have not learnt {{columns}}{{groups}}: below a correlation of {LOST:g} with the "
                "originals, what is released hangs on chance, and analyses of it too. Few large values do that: take "
                "their logarithm in a SELECT, or rank_swap_mask.",
                name,
                f"correlation {found:.2f}",
                -found,
            )


def _scales(told: Group) -> tuple[Array, Array]:
    centre, scale = np.nanmean(told.values, axis=0), np.nanstd(told.values, axis=0)
    constant = [name for name, sd in zip(told.names, scale, strict=True) if not sd > 0]
    if constant:
        raise told.refuse(
            f"conf column {quoted(constant[0])} is constant{told.where} and cannot be standardised."
        )
    return centre, scale


SOLVE = told_udf("ppduck_onn", solve, MaskSpec, GroupLists, "DOUBLE[]")
MASK = register(
    group_mask(
        "onn_mask",
        NetworkCall,
        stages=stages,
        summary="Ordered Neural Networks: values as networks reproduce them that could not quite learn them.",
        reference="Pont-Tuset, Medrano-Gracia, Nin, Larriba-Pey & Muntés-Mulero 2007, IIIA-TR-2007-05",
        keeps=(
            Guarantee(
                Promise.NEARBY,
                "every value stays in the part of the sorted values that it came from, give or take (1 - b)/(2·b) of "
                "its range; where all values of a part are equal, within half of their size",
            ),
        ),
        loses=(
            Loss(
                LossKind.MOMENTS,
                "means, variances and correlations: values come out too small on average, by how much "
                "only measuring tells",
            ),
            Loss(
                LossKind.NEARNESS,
                "protection of values that repeat: where all of a part are equal they are hardly changed, and 0 "
                "stays 0",
            ),
            Loss(
                LossKind.NEARNESS,
                "secrecy of ranks: within most parts values keep their order, but often not in the part of the largest",
            ),
            Loss(
                LossKind.OTHER_KNOWLEDGE,
                "protection against an intruder who standardises each table by itself, or goes by ranks: on Census "
                "that links half of the records by seven columns, where plain distance links a tenth",
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of extremes: the largest values stay in the part of the largest, and show about how large "
                "it is",
            ),
            Loss(LossKind.RELATIONS, "relations between columns beyond what the parts keep"),
            Loss(
                LossKind.RELATIONS,
                "columns of very different scales fill parts of their own; standardise := true mixes them",
            ),
            UNUSED,
        ),
        remedy="fewer partitions, or another mask: values that repeat fill parts, and small parts are learnt",
        udfs=(SOLVE,),
        example="FROM onn_mask('customers', conf=['x1','x2'], partitions=4, key='id')",
    )
)
