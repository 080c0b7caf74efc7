"""What a first look counts of keys, in SQL; ``ppduck.runtime.key_check`` judges the counts.

Rows that share a key would share their chance: what is released of one would tell of the other, and
ranges that count them apart would be too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppduck.query import aggregates as plain
from ppduck.query import tree as sql
from ppduck.runtime.key_check import Uniqueness
from ppduck.stages import aggregates
from ppduck.stages.aggregates import Aggregate
from ppduck.stages.masking import KEY


def keys_seen(
    key: Sequence[sql.Expr],
    own: sql.Expr | None,
    wanted: Uniqueness,
    *,
    looked_at: sql.Expr | None = None,
) -> list[Aggregate]:
    """The fields of ``KeysSeen``.

    Parameters
    ----------
    key:
        The columns that are named as key, none of which may be NULL.
    own:
        What tells the rows apart, a hash; None where every row is known to have its own, or needs none.
    wanted:
        Where every row needs its own key, keys are counted exactly.
    looked_at:
        Which rows' keys are told apart, if not all.
    """
    has_key = sql.present(key)
    keyless = sql.number(0) if has_key is None else plain.count_if(exp.Not(this=sql.paren(has_key)))
    looked = plain.rows() if looked_at is None else plain.count_if(looked_at.copy())
    return [
        aggregates.rows("_pp_rows"),
        aggregates.count("_pp_keyless", keyless),
        aggregates.count("_pp_looked", looked),
        _distinct(own, wanted, looked, looked_at),
    ]


def release_seen(
    key: Sequence[sql.Expr], own: sql.Expr | None, wanted: Uniqueness
) -> list[Aggregate]:
    """The fields of ``ReleaseSeen``, of rows whose chance goes by ``KEY``."""
    return [*keys_seen(key, own, wanted), aggregates.digest("_pp_digest", sql.column(KEY))]


def _distinct(
    own: sql.Expr | None, wanted: Uniqueness, looked: sql.Expr, looked_at: sql.Expr | None
) -> Aggregate:
    name = "_pp_distinct_keys"
    if own is None:
        return aggregates.count(name, looked.copy())
    if looked_at is not None:
        own = sql.cases((looked_at.copy(), own))
    if wanted is Uniqueness.EVERY:
        return aggregates.count_distinct(name, own)
    return aggregates.distinct(name, own)
