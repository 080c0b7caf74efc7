"""Rows with their noise: words from the keyed function, normals from the words."""

from __future__ import annotations

from ppduck.query import normals
from ppduck.query import tree as sql
from ppduck.stages import keys
from ppduck.stages.masking import KEY, LOOK, TWEAK, Masking
from ppduck.stages.plan import Rows

NOISY = "_pp_noisy"


def noise_names(masking: Masking) -> list[str]:
    """A normal for each conf column."""
    return [f"_pp_v{j}" for j in range(masking.q)]


def noisy(masking: Masking, rows: str, *, kept: bool) -> Rows:
    """The rows of a stage with their noise, a function of key, column and release, so that it can be made again."""
    calls = normals.word_calls(masking.q, sql.column(KEY), sql.column(TWEAK), seeded=masking.seeded)
    words = [f"_pp_words{i}" for i in range(len(calls))]
    table = sql.table(rows).matched(sql.table(LOOK), masking.to_rows(rows))
    columns = [sql.named(call, name) for call, name in zip(calls, words, strict=True)]
    worded = sql.query([sql.star(rows), *columns], table)
    found = normals.normals(masking.q, [sql.column(name) for name in words])
    # Noise belongs to a column, not to its place in the list.
    in_order = [column.name for column in keys.in_order(masking.roles.conf)]
    places = [in_order.index(column.name) for column in masking.roles.conf]
    noise = [
        sql.named(found[i], name) for i, name in zip(places, noise_names(masking), strict=True)
    ]
    return Rows(
        NOISY,
        kept,
        sql.query([sql.star("_pp_worded", words), *noise], sql.derived(worded, "_pp_worded")),
    )
