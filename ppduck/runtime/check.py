"""The check of the first look: refuses data that cannot be masked as promised."""

from __future__ import annotations

import math

from ppduck.call.udf import told_udf
from ppduck.errors import Faults, quoted
from ppduck.frozen import frozen
from ppduck.runtime.key_check import ReleaseSeen, Uniqueness, refuse_keys
from ppduck.runtime.spec import MaskSpec

# Beyond this, or its inverse, the squares that variances are made of are no longer safe.
LARGEST = 1e140
_KEY_BEHIND = ", _pp_key UBIGINT"


@frozen
class Seen(ReleaseSeen):
    """What the first look tells of a group."""

    group: str | None
    nulls: list[int]  # of each nonconf column
    peaks: list[float | None]  # the largest absolute value of each number
    constant: list[bool | None]  # of each conf column as a DOUBLE, and as it is
    truly_constant: list[bool | None]
    unread: list[int]  # values that are no numbers, where types are not known
    unseen: list[int]  # rows of each category with a level that planning did not see
    row_type: str | None

    @property
    def where(self) -> str:
        return f" in the group {self.group}" if self.group else ""


def check(spec: MaskSpec, seen: Seen) -> int:
    """Refuses data that cannot be masked as promised; else the tweak for this release's noise."""
    _refuse_another_table(spec, seen)
    faults = spec.faults()
    _nulls(faults, spec, seen)
    _numbers(faults, spec, seen)
    _constant(faults, spec, seen)
    for name, count in zip(spec.categories, seen.unseen, strict=True):
        if count:
            faults.add(
                f"column {quoted(name)} has {count} rows{seen.where} with a level that was not there when the call was "
                "planned; run it again, after a commit if the rows are part of an open transaction."
            )
    refuse_keys(faults, spec.key, seen, Uniqueness.MOST, seen.where)
    faults.raise_if_any()
    return seen.tweak(spec.context)


def _refuse_another_table(spec: MaskSpec, seen: Seen) -> None:
    expected = spec.row[:-1] + _KEY_BEHIND
    if spec.row and seen.row_type is not None and not seen.row_type.startswith(expected):
        raise spec.refuse(
            "the table that is read has other columns than the one that the call was planned for: here its name stands "
            "for another table, such as a temporary one or one that an open transaction has replaced. Name it with its "
            "schema, or commit first."
        )


def _nulls(faults: Faults, spec: MaskSpec, seen: Seen) -> None:
    if spec.on_null not in ("error", "level"):
        return
    for name, count in zip(spec.nonconf, seen.nulls, strict=True):
        if count and name not in spec.null_levels:
            faults.add(_null_in_nonconf(spec, name, f"{count} of {seen.rows} rows{seen.where}"))


def _numbers(faults: Faults, spec: MaskSpec, seen: Seen) -> None:
    used = [*spec.conf, *spec.nonconf] if seen.unread else []
    for name, count in zip(used, seen.unread, strict=True):
        if count:
            faults.add(
                f"column {quoted(name)} is not numeric: {count} of {seen.rows} values{seen.where} are no numbers."
            )
    for name, peak in zip(spec.measured, seen.peaks, strict=True):
        if peak is not None and (0 < peak < 1 / LARGEST or LARGEST < peak < math.inf):
            faults.add(
                f"column {quoted(name)} peaks at a size beyond 1e±140{seen.where}; bring it to another scale."
            )
        elif peak is not None and not math.isfinite(peak):
            faults.add(
                f"column {quoted(name)} holds NaN or infinity{seen.where}; replace such values by NULL, or leave the "
                "rows out with a SELECT in tbl."
            )


def _constant(faults: Faults, spec: MaskSpec, seen: Seen) -> None:
    for name, same, truly in zip(spec.conf, seen.constant, seen.truly_constant, strict=True):
        if same and not truly:
            faults.add(
                f"the values of conf column {quoted(name)}{seen.where} differ by less than a DOUBLE of their size can "
                "tell, and masks compute in DOUBLE; take a constant near them off in a SELECT."
            )
        elif same and seen.rows > 1:
            faults.add(
                f"conf column {quoted(name)} is constant{seen.where}; there is nothing to mask in it."
            )


def _null_in_nonconf(spec: MaskSpec, name: str, rows: str) -> str:
    found = f"nonconf column {quoted(name)} has NULL in {rows}."
    others = "'drop' (leave those rows out) or 'mean' (count them as average)"
    if name in spec.nullable:
        if spec.on_null == "level":
            return f"{found} They were not there when the call was planned; run it again, after a commit."
        return f"{found} Say on_null := 'level' (NULL is a level like others), {others}, or leave it out of nonconf."
    if spec.on_null == "level":
        return (
            f"{found} on_null := 'level' is for categories, and this is a number. Turn it into a category in tbl, "
            f"leave it out of nonconf, or say on_null := {others}."
        )
    return f"{found} Leave the column out of nonconf, or say on_null := {others}."


CHECK = told_udf("ppduck_check", check, MaskSpec, Seen, "UBIGINT")
