"""The first look of every mask of numbers: its rows are checked before anything is masked.

Two stages: aggregates of each group, then the check, in Python, which refuses or answers with the tweak that ties all
chance to this release.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.call.numeric_mask import NumericCall
from ppduck.call.parameters import parameters_of
from ppduck.call.roles import numeric
from ppduck.query import tree as sql
from ppduck.query.aggregates import count_if, rows
from ppduck.runtime.check import CHECK
from ppduck.runtime.key_check import Uniqueness
from ppduck.runtime.spec import MaskSpec
from ppduck.stages import aggregates, keys, rounding
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.key_look import release_seen
from ppduck.stages.masking import KEY, LOOK, SEEN, SOURCE, TWEAK, Masking
from ppduck.stages.plan import Groups, Totals
from ppduck.stages.release_identity import context
from ppduck.stages.terms import Terms


def specification(masking: Masking, terms: Terms) -> MaskSpec:
    """What check and solve are told: names and parameters, never a value or the secret."""
    mask, roles, call = masking.mask, masking.roles, masking.call
    categories = masking.categories
    return MaskSpec(
        mask.name,
        roles.source.label,
        conf=[column.name for column in roles.conf],
        nonconf=roles.nonconf,
        features=terms.labels,
        places=terms.places,
        key=list(roles.key),
        row=roles.source.row_type,
        measured=[f.label for f in roles.features if f.level is None]
        + [c.name for c in roles.conf],
        categories=[name for name, _ in categories],
        indicators_of=[
            [i for i, feature in enumerate(roles.features) if feature.column == name]
            for name, levels in categories
            if len(levels) > 1 or name in roles.null_levels
        ],
        bases=[f"{name} = {levels[0]}" for name, levels in categories],
        on_null=call.on_null,
        null_levels=sorted(roles.null_levels),
        nullable=[name for name in roles.nonconf if masking.is_category(name)],
        left_out=list(roles.left_out),
        steps=[rounding.step(column) for column in roles.conf],
        permutes=masking.permutes,
        exact=mask.is_exact(call),
        arguments=_arguments(call),
        context=context(mask, roles, call),
        indicators=terms.indicators,
        inputs=terms.inputs,
    )


def _arguments(call: NumericCall) -> dict[str, object]:
    return {
        each.name: getattr(call, each.name)
        for each in parameters_of(type(call))
        if each.name != "tbl"
    }


def look(
    masking: Masking, terms: Terms, told: Sequence[Aggregate] = (), *, shared_keys: bool = False
) -> list[Totals | Groups]:
    """``_pp_seen`` and ``_pp_look``: of each group its tweak, the centres of all terms, and what else is asked.

    Rows of a mask that has no chance in it may share their keys.
    """
    checked = _checked(masking, shared_keys)
    centres = [terms.centre(i, name) for i, name in enumerate(terms.centres)]
    others = [*(each for each in centres if each is not None), *terms.also, *told]
    seen = Totals(SEEN, False, masking.groups, [*checked, *others], sql.table(SOURCE))
    tells = aggregates.told(checked) | {"group": masking.label()}
    tweak = CHECK.in_sql(specification(masking, terms), tells)
    measured = [
        sql.named(sql.number(0.0), name) if each is None else each.column
        for each, name in zip(centres, terms.centres, strict=True)
    ]
    also = [each.column for each in [*terms.also, *told]]
    columns = [*masking.groups_of(), sql.named(tweak, TWEAK), *measured, *also]
    return [seen, Groups(LOOK, True, sql.query(columns, sql.table(SEEN)))]


def _checked(masking: Masking, shared_keys: bool) -> list[Aggregate]:
    """What the check is told, under the names of its fields."""
    roles = masking.roles
    raw = [sql.column(name) for name in roles.nonconf]
    conf = [sql.column(column.name) for column in roles.conf]
    numbers = [numeric(column) for column in roles.conf]
    measured = [f.value for f in roles.features if f.level is None] + numbers
    untyped = [*conf, *raw] if roles.source.columns is None else []
    return [
        *_keys(masking, shared_keys),
        aggregates.counts("_pp_nulls", [_nulls(each) for each in raw]),
        aggregates.peaks("_pp_peaks", measured),
        aggregates.constant("_pp_constant", numbers),
        aggregates.constant("_pp_truly_constant", conf),
        aggregates.counts("_pp_unread", [_no_numbers(each) for each in untyped]),
        aggregates.counts("_pp_unseen", _unseen(masking)),
        aggregates.any_value("_pp_row_type", sql.call("typeof", sql.column(SOURCE))),
    ]


def _keys(masking: Masking, shared_keys: bool) -> list[Aggregate]:
    """About how many rows have a key of their own; row numbers are known to be unique."""
    roles = masking.roles
    key = [sql.column(name) for name in roles.key]
    unique = shared_keys or (not key and roles.source.has_rowid)
    own = keys.told_apart(key) if key else sql.column(KEY)
    return release_seen(key, None if unique else own, Uniqueness.MOST)


def _nulls(column: sql.Expr) -> sql.Expr:
    return exp.Sub(this=rows(), expression=sql.call("count", column.copy()))


def _no_numbers(column: sql.Expr) -> sql.Expr:
    """Of a column whose type is not known: how many values are no numbers."""
    number = sql.tried(column.copy(), "DOUBLE")
    return exp.Sub(this=sql.call("count", column.copy()), expression=sql.call("count", number))


def _unseen(masking: Masking) -> list[sql.Expr]:
    """How many rows have a level that planning did not see, for each category."""
    found = []
    for name, levels in masking.categories:
        present = sql.column(name).is_(exp.null()).not_()
        known = [sql.text(level) for level in levels]
        strange = (
            exp.Not(this=sql.cast(sql.column(name), "VARCHAR").isin(*known)) if known else present
        )
        found.append(count_if(strange))
    return found
