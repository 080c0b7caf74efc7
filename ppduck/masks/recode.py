"""recode_mask(): global recoding, column by column: ranges, top and bottom codes, first characters, rare levels merged.

    width w from o      a number x becomes the range [o + kw, o + (k + 1)w) that it lies in, k = ⌊(x - o)/w⌋
    breaks b_1 < … < b_m    the range [b_i, b_{i+1}) that it lies in, or below b_1, or b_m and above
    top t, bottom b     by themselves max(b, min(x, t)); 'p99' is the least value that 99 % of the values do not exceed
    keep n              the first n characters of a text
    rare_below n        levels that fewer than n rows have become one, and if that is rare still, the next rarest joins

A range is a level of an ENUM, in the order of the values. Of whole numbers it is called by its first and its last one,
'20-24' (with a negative one '-5 to -1'), of others '[0, 2.5)', from 0 to before 2.5; '85+' is 85 and more, '<18' below
18. Rows keep their order, and there is no chance in it: what a value becomes hangs on the value, the options and, for
quantiles, rare levels and the ends of ranges, on the values of its column.

What it does not do: no row need be like another one when its columns are coarser (``k_anonymity`` tells). The bound
that a quantile gives is a value of the table, which stands in its own row as it was, like all others that are not
beyond. (Hundepool et al. 2012, chapter 3.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ppduck.call import arguments
from ppduck.call.guarantees import Guarantee, Loss, LossKind, Promise
from ppduck.call.parameters import Call, parameter, parameters
from ppduck.call.registry import Function, Kind, register
from ppduck.call.roles import refuse_overlap, refuse_reserved, resolve_columns
from ppduck.catalogue.source import Column, Source
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults
from ppduck.frozen import frozen
from ppduck.masks import _recode_rules
from ppduck.masks._number_ranges import text
from ppduck.masks._recode_check import CHECK, LEAST_BEYOND
from ppduck.masks._recode_rules import (
    Bound,
    Classed,
    Coded,
    Merged,
    Quantile,
    Recoding,
    RuleReader,
    Rules,
    Shortened,
    rules_by_column,
)
from ppduck.masks._recoding import Recodings
from ppduck.query import tree as sql
from ppduck.stages.explain import Row, promised, table
from ppduck.stages.plan import Plan
from ppduck.values import folded

NAME = "recode_mask"
DEFAULTS = {"as": _recode_rules.OTHER, "label": _recode_rules.RANGE, "from": 0}


@parameters
class RecodeCall(Call):
    tbl: str = arguments.TABLE
    recode: Rules = parameter(
        rules_by_column,
        "for each column what becomes of it: width (with from, bottom, top) or breaks make ranges, with label 'lower' "
        "their lower bounds; top and bottom alone are the values beyond which all become that value, numbers or "
        "quantiles such as 'p99'; keep the first characters of a text; rare_below the levels that fewer rows have "
        "become one, which is called 'other' unless as says otherwise",
    )
    drop: Sequence[str] = parameter(arguments.columns, "columns to leave out of the output", ())


@frozen
class _Resolved:
    """A call read against the catalogue."""

    source: Source
    recodings: list[Recoding]
    drop: list[str]


def _resolve(catalog: Catalog, call: RecodeCall) -> _Resolved:
    source = catalog.source(NAME, call.tbl)
    faults = Faults(NAME, source.label)
    if source.columns is None:
        raise faults.refuse(
            catalog.unseen(
                source, "make it a table or a view, and commit: recoding goes by its types."
            )
        )
    refuse_reserved(faults, source)
    columns = resolve_columns(faults, source, "recode", list(call.recode))
    drop = resolve_columns(faults, source, "drop", call.drop)
    refuse_overlap(faults, {"recode": columns, "drop": drop}, "recode")
    if not call.recode:
        faults.add("recode is empty; name at least one column, such as {'age': {'width': 5}}.")
    of_column = {folded(name): rule for name, rule in call.recode.items()}
    rules = [(column, of_column[folded(column.name)]) for column in columns]
    found = RuleReader(catalog, source, faults).read(rules)
    return _Resolved(source, found, [column.name for column in drop])


def misread(rules: Rules) -> list[str]:
    """What is wrong with rules, as far as no table is needed to tell."""
    return [
        fault for column, given in rules.items() for fault in _recode_rules.misread(column, given)
    ]


def plan(catalog: Catalog, call: RecodeCall) -> Plan:
    found = _resolve(catalog, call)
    return Recodings(NAME, found.source, found.recodings, found.drop).plan()


def explained(mask: Function, catalog: Catalog, call: RecodeCall) -> sql.Expr:
    found = _resolve(catalog, call)
    of_column = {recoding.column.name: recoding for recoding in found.recodings}
    rows = [
        _explained(column, of_column.get(column.name), found.drop)
        for column in found.source.columns or ()
    ]
    return table([*rows, *promised(mask, call)])


def _explained(column: Column, recoding: Recoding | None, drop: Sequence[str]) -> Row:
    if recoding is not None:
        return column.name, "recoded", f"{_becomes(recoding)}; NULL stays NULL"
    if column.name in drop:
        return column.name, "dropped", "left out of the output"
    return column.name, "not used", "released as it is: drop it if it tells who somebody is"


def _becomes(recoding: Recoding) -> str:
    if isinstance(recoding, Classed):
        return _ranges(recoding)
    if isinstance(recoding, Coded):
        bounds = (("below", recoding.bottom), ("above", recoding.top))
        parts = [
            f"values {beyond} {_said(at)} become it" for beyond, at in bounds if at is not None
        ]
        return f"{' and '.join(parts)}, all others stay"
    if isinstance(recoding, Merged):
        first = "" if recoding.keep is None else f"replaced by its {_characters(recoding.keep)}; "
        return f"{first}levels that fewer than {recoding.rare_below} rows have become {recoding.called!r}"
    assert isinstance(recoding, Shortened)
    return f"replaced by its {_characters(recoding.keep)}"


def _ranges(classed: Classed) -> str:
    labels = classed.ranges.labels
    ends = f"from {labels[0]!r} to {labels[-1]!r}" if len(labels) > 1 else f"which is {labels[0]!r}"
    what = "the lower bound of its range" if classed.lower else "its range"
    asked = ", whose ends were asked of the data" if classed.asked else ""
    return f"replaced by {what}, one of {len(labels)}, {ends}{asked}"


def _characters(count: int) -> str:
    return "first character" if count == 1 else f"first {count} characters"


def _said(bound: Bound) -> str:
    return f"the quantile {bound}" if isinstance(bound, Quantile) else text(bound)


def _has(*options: str) -> Any:
    """Whether a rule of a call has one of these options."""
    return lambda call: any(option in rule for rule in call.recode.values() for option in options)


def _asks_ends(call: RecodeCall) -> bool:
    return any(
        "width" in rule and not {"bottom", "top"} <= rule.keys() for rule in call.recode.values()
    )


def _goes_by_data(call: RecodeCall) -> bool:
    quantile = any(
        isinstance(rule.get(end), str) for rule in call.recode.values() for end in ("bottom", "top")
    )
    return quantile or _asks_ends(call) or bool(_has("rare_below")(call))


FUNCTION = register(
    Function(
        NAME,
        RecodeCall,
        plan,
        "Global recoding: numbers as ranges, top and bottom codes, first characters of texts, rare levels as one.",
        "Hundepool et al. (2012), Statistical Disclosure Control, chapter 3",
        kind=Kind.MASK,
        example="FROM recode_mask('customers', recode={'x1': {'width': 5, 'bottom': 45, 'top': 55}, "
        "'x2': {'top': 'p95'}, 'region': {'keep': 1}}, drop=['id'])",
        keeps=(
            Guarantee(
                Promise.TRUTH,
                "a range holds the value that it stands for, and a text begins with the characters that are kept: less "
                "is said, and nothing false",
                _has("width", "breaks", "keep"),
            ),
            Guarantee(
                Promise.COMMON_LEVELS,
                "no level of a column with rare_below is had by fewer rows than it says",
                _has("rare_below"),
            ),
        ),
        loses=(
            Loss(
                LossKind.GROUPS,
                "that a row is like others: coarser columns may still tell one person from all others together; ask "
                "k_anonymity of the result, or take generalize_mask",
            ),
            Loss(LossKind.OTHER_COLUMNS, "protection by columns that are not recoded"),
            Loss(
                LossKind.DISTRIBUTION,
                "values within their range, beyond top and bottom, and behind the characters that are kept; levels "
                "that few rows have",
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of about where the least and the greatest value lie: the names of the ranges show it; give "
                "bottom and top",
                _asks_ends,
            ),
            Loss(
                LossKind.EXTREMES,
                "secrecy of who is at the ends: how many rows have a code for the extreme values is not looked at (of "
                f"a quantile, {LEAST_BEYOND} have at least)",
                _has("top", "bottom"),
            ),
            Loss(
                LossKind.NEARNESS,
                "protection of numbers that are not beyond top or bottom: they stay as they are",
                lambda call: any(
                    not {"width", "breaks"} & rule.keys() and {"top", "bottom"} & rule.keys()
                    for rule in call.recode.values()
                ),
            ),
            Loss(
                LossKind.PRESENCE, "secrecy of who has no value: NULL stays NULL, however few have"
            ),
            Loss(
                LossKind.SEVERAL_RELEASES,
                "safety of a second release with other ranges, other characters or another rare_below: what both say "
                "of a person is finer than either",
            ),
            Loss(
                LossKind.STABILITY,
                "the same ranges, quantiles and levels once the table has changed, unless numbers say all of them",
                _goes_by_data,
            ),
        ),
        udfs=(CHECK,),
        explain=explained,
    )
)
