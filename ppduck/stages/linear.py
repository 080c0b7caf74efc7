"""The plan of a linear mask: source → look → noise → moments → leverage → solve → projection.

S and X enter as deviations from a centre that the first look has found, V as normals that are a
function of the row's key, so that a second pass can generate them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ppduck.call.linear_mask import LinearMask
from ppduck.call.numeric_mask import NumericCall, by_own_names
from ppduck.call.registry import Kind
from ppduck.call.roles import assign
from ppduck.call.udf import Udf
from ppduck.catalogue.hash_function import refuse_another_hash
from ppduck.catalogue.tables import Catalog
from ppduck.runtime.check import CHECK
from ppduck.runtime.nearness import LIMITS
from ppduck.runtime.noise import WORDS
from ppduck.runtime.solve import LEVERS, SOLVE
from ppduck.stages.explain import explained
from ppduck.stages.look import look, specification
from ppduck.stages.masking import SOURCE, Masking
from ppduck.stages.moments import Measured
from ppduck.stages.noise import noisy
from ppduck.stages.plan import Plan
from ppduck.stages.projection import projection
from ppduck.stages.solve import column_figures, solving
from ppduck.stages.source import source
from ppduck.stages.terms import own_terms

Check = Callable[[Any, list[str]], list[str]]
Planned = Callable[[Masking], Plan]


def linear_plan(masking: Masking, *, keep_noise: bool) -> Plan:
    """The stages of a call. Two passes read the noise: kept between them where that is small, else made again."""
    mask, terms = masking.mask, own_terms(masking)
    assert isinstance(mask, LinearMask)
    noise = mask.needs_noise(masking.call)
    measured = Measured(masking, terms, SOURCE, noise, mask.weighs_x(masking.call))
    stages = [
        source(masking),
        *look(masking, terms, column_figures(masking)),
        noisy(masking, SOURCE, kept=noise and keep_noise),
        *solving(measured, specification(masking, terms), masking.q),
    ]
    return Plan(tuple(stages), projection(measured))


def linear_mask(
    name: str,
    call: type[NumericCall] = NumericCall,
    *,
    check: Check | None = None,
    stages: Planned | None = None,
    udfs: tuple[Udf, ...] = (),
    **registered: Any,
) -> LinearMask:
    """A mask ready to be registered: its ``solve``, and what ``LinearMask`` else has.

    ``check`` looks at the mask's own parameters while planning; ``stages`` makes another plan than the plain one.
    """

    def plan(catalog: Catalog, call: NumericCall) -> Plan:
        refuse_another_hash(name, catalog)
        roles = assign(name, catalog, call, uses_nonconf=mask.reads_s)
        call = by_own_names(call, roles)
        faults = check(call, [column.name for column in roles.conf]) if check is not None else []
        if faults:
            raise roles.faults(name, faults)
        masking = Masking(mask, roles, call)
        if stages is not None:
            return stages(masking)
        return linear_plan(masking, keep_noise=catalog.fits_in_memory(roles.source))

    registered["loses"] = (*registered["loses"], LIMITS)
    registered.setdefault("explain", explained)
    mask = LinearMask(
        name,
        call,
        plan,
        kind=Kind.MASK,
        udfs=(CHECK, LEVERS, SOLVE, *WORDS, *udfs),
        **registered,
    )
    return mask
