"""What a statement calls while it runs: the checks of the first look, and the small solve."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ppduck.call.linear_mask import LinearMask, Request, flatten
from ppduck.call.registry import function_named
from ppduck.call.udf import Udf
from ppduck.errors import Faults, quoted
from ppduck.kernels.linear import Blocks
from ppduck.kernels.noise import tweak_of
from ppduck.kernels.threads import one_thread
from ppduck.runtime import digits, dominance
from ppduck.runtime.nearness import judge_form
from ppduck.values import Array, Moments

CHECK, LEVERS, SOLVE = "ppduck_check", "ppduck_levers", "ppduck_solve"
# Beyond this, or its inverse, the squares that variances are made of are no longer safe.
LARGEST = 1e140
_KEY_BEHIND = ", _pp_key UBIGINT"


@lru_cache(maxsize=64)
def _specification(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def check(
    specification: str,
    group: str | None,
    rows: int,
    nulls: Sequence[int],
    peaks: Sequence[float | None],
    constant: Sequence[bool | None],
    truly_constant: Sequence[bool | None],
    unread: Sequence[int],
    unseen: Sequence[int],
    keyless: int,
    distinct_keys: int,
    row_type: str | None,
    digest: str | None,
) -> int:
    """Refuses data that cannot be masked as promised; else the tweak for this release's noise."""
    spec = _specification(specification)
    faults = Faults(spec["function"], spec["table"])
    where = f" in the group {group}" if group else ""
    used = [*spec["conf"], *spec["nonconf"]]
    if spec["row"] and row_type is not None and not row_type.startswith(spec["row"][:-1] + _KEY_BEHIND):
        raise faults.refuse(
            "the table that is read has other columns than the one that the call was planned for: here its name stands "
            "for another table, such as a temporary one or one that an open transaction has replaced. Name it with its "
            "schema, or commit first."
        )
    if spec["on_null"] in ("error", "level"):
        for name, count in zip(spec["nonconf"], nulls, strict=True):
            if count and name not in spec["null_levels"]:
                faults.add(_null_in_nonconf(spec, name, f"{count} of {rows} rows{where}"))
    for name, count in zip(used if unread else [], unread, strict=True):
        if count:
            faults.add(f"column {quoted(name)} is not numeric: {count} of {rows} values{where} are no numbers.")
    for name, peak in zip(spec["measured"], peaks, strict=True):
        if peak is not None and (0 < peak < 1 / LARGEST or LARGEST < peak < math.inf):
            faults.add(f"column {quoted(name)} peaks at a size beyond 1e±140{where}; bring it to another scale.")
        elif peak is not None and not math.isfinite(peak):
            faults.add(
                f"column {quoted(name)} holds NaN or infinity{where}; replace such values by NULL, or leave the rows "
                "out with a SELECT in tbl."
            )
    for name, same, truly in zip(spec["conf"], constant, truly_constant, strict=True):
        if same and not truly:
            faults.add(
                f"the values of conf column {quoted(name)}{where} differ by less than a DOUBLE of their size can tell, "
                "and masks compute in DOUBLE; take a constant near them off in a SELECT."
            )
        elif same and rows > 1:
            faults.add(f"conf column {quoted(name)} is constant{where}; there is nothing to mask in it.")
    for name, count in zip(spec["categories"], unseen, strict=True):
        if count:
            faults.add(
                f"column {quoted(name)} has {count} rows{where} with a level that was not there when the call was "
                "planned; run it again, after a commit if the rows are part of an open transaction."
            )
    if keyless:
        faults.add(
            f"key {quoted(', '.join(spec['key']))} is NULL in {keyless} of {rows} rows{where}; every row needs a key."
        )
    elif rows > 3 and distinct_keys < rows / 2:
        faults.add(_shared_keys(spec["key"], rows, where))
    faults.raise_if_any()
    return tweak_of(spec["context"], int(digest or 0))


def _null_in_nonconf(spec: dict[str, Any], name: str, rows: str) -> str:
    found = f"nonconf column {quoted(name)} has NULL in {rows}."
    others = "'drop' (leave those rows out) or 'mean' (count them as average)"
    if name in spec["nullable"]:
        if spec["on_null"] == "level":
            return f"{found} They were not there when the call was planned; run it again, after a commit."
        return f"{found} Say on_null := 'level' (NULL is a level like others), {others}, or leave it out of nonconf."
    if spec["on_null"] == "level":
        return (
            f"{found} on_null := 'level' is for categories, and this is a number. Turn it into a category in tbl, "
            f"leave it out of nonconf, or say on_null := {others}."
        )
    return f"{found} Leave the column out of nonconf, or say on_null := {others}."


def _shared_keys(key: list[str], rows: int, where: str) -> str:
    if key:
        return (
            f"key {quoted(', '.join(key))} does not identify the {rows} rows{where}: most of them share it. "
            "Name a unique column."
        )
    return f"most of the {rows} rows{where} are copies of each other and would get the same noise; name a unique key."


def levers(
    specification: str, group: str | None, n: int, sums: Array, products: Array, alone: Array
) -> list[float] | None:
    """What the leverage of a row is computed with: the limit, then axis by axis its weights and where it begins.

    None where the farthest values show that no row can reach the limit, so that none needs to be looked at.
    """
    mask, request, blocks = _read(specification, group, n, sums, products)
    with one_thread(), np.errstate(all="raise", under="ignore"):
        return dominance.levers(dominance.Judged.of(mask, request, blocks, _specification(specification), alone))


def solve(
    specification: str,
    group: str | None,
    n: int,
    sums: Array,
    products: Array,
    alone: Array,
    apart: Array | None,
    ranks: Array,
    sample: Array | None,
    looked: Array,
    query: int,
) -> list[float]:
    """The coefficients of a call's linear form, from the sums that the statement has taken."""
    mask, request, blocks = _read(specification, group, n, sums, products, ranks, sample, query)
    spec = _specification(specification)
    with one_thread(), np.errstate(all="raise", under="ignore"):
        judged = dominance.Judged.of(mask, request, blocks, spec, alone, looked)
        dominance.refuse(judged, apart)
        if spec["exact"]:
            digits.refuse_far_from_zero(request, blocks, alone[len(alone) - blocks.q :])
        form = mask.solve(blocks, replace(request, heavy=judged.heavy))
        dominance.warn(judged, apart)
        judge_form(mask, request, blocks, form, mask.explaining(blocks), spec, looked)
    return flatten(mask, form)


def _read(
    specification: str, group: str | None, n: int, sums: Array, products: Array, ranks: Array | None = None,
    sample: Array | None = None, query: int = 0,
) -> tuple[LinearMask, Request, Blocks]:  # fmt: skip
    """The mask, what it has to know of the call, and the moments; refused where these say nothing."""
    spec = _specification(specification)
    mask = function_named(spec["function"])
    assert isinstance(mask, LinearMask)
    nothing = np.empty(0)
    request = Request(
        spec["function"], spec["table"], group, spec["conf"], spec["features"], spec["parameters"],
        spec["measured"], nothing if ranks is None else ranks, nothing if sample is None else sample, query=query,
    )  # fmt: skip
    p, q = len(spec["features"]), len(spec["conf"])
    moments = Moments.from_sums(n, sums, products)
    _refuse_few_or_constant(request, moments, p, q)
    return mask, request, Blocks.from_moments(moments, p, q)


def _refuse_few_or_constant(request: Request, moments: Moments, p: int, q: int) -> None:
    """What is left to refuse once rows that lack a conf column are out."""
    if moments.n < 3:
        raise request.refuse(
            f"only {moments.n} rows{request.where} have every conf column present; at least 3 are needed."
        )
    faults = request.faults()
    for name, sd, mean in zip(request.conf, moments.sd[p : p + q], moments.mean[p : p + q], strict=True):
        # Equal values leave only the rounding of their sums, which shows against how far they lie from the centre.
        if not sd > 1e-5 * abs(mean):
            faults.add(
                f"conf column {quoted(name)} is constant{request.where} over the rows that have every conf column; "
                "there is nothing to mask in it."
            )
    faults.raise_if_any()


_TOLD = ("VARCHAR", "VARCHAR", "BIGINT", *("DOUBLE[]",) * 6)
UDFS = (
    Udf(
        CHECK,
        check,
        (
            *("VARCHAR", "VARCHAR", "BIGINT", "BIGINT[]", "DOUBLE[]", "BOOLEAN[]", "BOOLEAN[]"),
            *("BIGINT[]", "BIGINT[]", "BIGINT", "BIGINT", "VARCHAR", "VARCHAR"),
        ),
        "UBIGINT",
        by="values",
    ),
    Udf(LEVERS, levers, _TOLD[:6], "DOUBLE[]"),
    Udf(SOLVE, solve, (*_TOLD, "DOUBLE[]", "UBIGINT"), "DOUBLE[]"),
)
