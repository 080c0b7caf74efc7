"""Generalisation: quasi-identifiers as ranges and sets of values that at least k rows share, by strict Mondrian.

With l the rows that share them are l-diverse in the sensitive column, too. See the kernel for the cuts. There is no
chance in it. (LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2007, TKDD.)

What it does not hide: columns outside ``qi`` are released as they are, so that what identifies people must be dropped;
and a sensitive value that is rare in the table may still be told of a group by one who knows who cannot have it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ppduck.call import arguments
from ppduck.call.arguments import TABLE
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Kind, register
from ppduck.call.roles import refuse_overlap
from ppduck.catalogue.tables import Catalog
from ppduck.kernels import mondrian
from ppduck.masks._boxes import is_category, is_range, unfit
from ppduck.masks._cell_groups import SOLVE, GeneralizeSpec
from ppduck.masks._explain_groups import explained
from ppduck.masks._generalization import Generalization
from ppduck.masks._quasi import (
    INTERSECTED,
    OTHER_KNOWLEDGE,
    QI,
    GroupingMask,
    Named,
    at_least_two,
    names_column,
)
from ppduck.masks.groups import GROUP_ID
from ppduck.stages.plan import Plan

NAME = "generalize_mask"


@parameters
class GeneralizeCall(Call):
    tbl: str = TABLE
    qi: Sequence[str] = QI
    k: int = parameter(
        at_least_two, "the least number of rows that share all quasi-identifiers, such as k := 5"
    )
    sensitive: str | None = parameter(
        arguments.column, "the column in which rows that share them must differ; needs l", None
    )
    l: int | None = parameter(  # noqa: E741 - what the paper, and everybody, calls it
        at_least_two,
        "how diverse the sensitive values of such rows must be, such as l := 3; needs sensitive",
        None,
    )
    diversity: str | None = parameter(
        arguments.choice(mondrian.FREQUENCY, mondrian.DISTINCT, mondrian.ENTROPY),
        "what l says: at most 1/l of the rows have one value, there are l values, or their entropy is ln l; needs l; "
        "'frequency' unless said",
        None,
    )
    group_id: bool = parameter(arguments.flag, "add the number of each row's group", False)
    drop: Sequence[str] = parameter(arguments.columns, "columns to leave out of the output", ())


def plan(catalog: Catalog, call: GeneralizeCall) -> Plan:
    named = Named(NAME, catalog, call)
    sensitive = named.columns("sensitive", [] if call.sensitive is None else [call.sensitive])
    drop = named.columns("drop", call.drop)
    dropped = [column.name for column in drop]
    refuse_overlap(named.faults, {"qi": named.qi, "sensitive": sensitive, "drop": drop}, "qi")
    if call.l is not None and call.sensitive is None:
        named.faults.add("l needs the column that is to be diverse: sensitive := '…'.")
    if call.sensitive is not None and call.l is None:
        named.faults.add(
            "sensitive is given without l, which says how diverse it must be; give l, or leave it out."
        )
    if call.diversity is not None and call.l is None:
        named.faults.add(
            "diversity says what l means, and l is not given; leave it out for k-anonymity alone."
        )
    if call.group_id:
        named.refuse_called(
            [c for c in named.source.columns or () if c.name not in dropped], (GROUP_ID,)
        )
    for column in named.qi:
        if column.type and not (is_category(column.type) or is_range(column.type)):
            named.faults.add(unfit(column.name, column.type))
    named.faults.raise_if_any()
    used = sensitive if call.l is not None else []
    spec = GeneralizeSpec(
        NAME,
        named.source.label,
        qi=[column.name for column in named.qi],
        types=[column.type for column in named.qi],
        sensitive=[column.name for column in used],
        k=call.k,
        l=call.l,
        diversity=call.diversity or mondrian.FREQUENCY,
    )
    made = Generalization(spec, named.source, named.qi, used, dropped, group_id=call.group_id)
    return made.plan()


def _becomes(name: str, call: GeneralizeCall) -> tuple[str, str]:
    if names_column(call.qi, name):
        return (
            "quasi-identifier",
            f"replaced by a range or a set of values, as text, that {call.k} rows share",
        )
    if names_column(call.drop, name):
        return "dropped", "left out of the output"
    if call.sensitive is not None and names_column([call.sensitive], name):
        diversity = call.diversity or mondrian.FREQUENCY
        return (
            "sensitive",
            f"released as it is; {call.l}-diverse by {diversity} among rows that share all ranges",
        )
    return "not used", "released as it is: drop it if it tells who somebody is"


FUNCTION = register(
    GroupingMask(
        NAME,
        GeneralizeCall,
        plan,
        "Generalisation by strict Mondrian: ranges and sets that k rows share, with l also l-diverse.",
        "LeFevre, DeWitt & Ramakrishnan 2006, ICDE; Machanavajjhala et al. 2007, TKDD",
        keeps=(
            Guarantee(
                Promise.ALIKE_ROWS,
                "at least k rows share all quasi-identifiers: by these alone nobody is found with more than 1/k",
            ),
            Guarantee(
                Promise.DIVERSE_VALUES,
                "with l, rows that share them are l-diverse in the sensitive column",
                lambda call: call.l is not None,
            ),
        ),
        loses=(
            Loss(
                LossKind.OTHER_COLUMNS,
                "protection by columns outside qi, which are released as they are",
            ),
            Loss(
                LossKind.GROUPS,
                "without l, secrecy of what all rows of a group have in common",
                lambda call: call.l is None,
            ),
            Loss(
                LossKind.DISTRIBUTION,
                "values of the quasi-identifiers beyond their ranges, and the order of rows",
            ),
            INTERSECTED,
            OTHER_KNOWLEDGE,
        ),
        becomes=_becomes,
        kind=Kind.MASK,
        explain=explained,
        example="FROM generalize_mask('survey', qi=['gender','smoker'], k=5, sensitive='disease', l=2, drop=['id'])",
        udfs=(SOLVE,),
    )
)
