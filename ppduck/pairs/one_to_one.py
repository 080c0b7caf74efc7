"""Whether two tables match one to one by their key: counted in the statement that pairs them, and refused if not.

Each side is counted once: its rows, and a digest of its keys. Keys that agree as multisets (their hashes sum to the
same) and make as many pairs as rows are unique. Only where that fails are rows without a partner and keys that occur
twice counted, for the message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from ppduck.call.spec import Spec
from ppduck.call.udf import told_udf
from ppduck.errors import listed, quoted
from ppduck.frozen import frozen
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.runtime.key_check import LEAST_SHARE
from ppduck.stages.keys import told_apart

# A table with more rows is looked at before it is joined: if its key has few values, each would meet very
# many rows, and the keys are refused without a join.
LOOK = 1_000
SIDES = ORIGINAL, MASKED = "_pp_original", "_pp_masked"
# the step that counts the original before anything is joined, and what it finds
KEY_LOOK, ROWS, REPEATED = "_pp_key_look", "_pp_rows_original", "_pp_repeated"
# the step that refuses pairs, and their number where it does not
CHECK, MATCHED = "_pp_check", "_pp_matched"
PAIRED = "_pp_pairs_counted"


@frozen
class MatchSpec(Spec):
    """The names of the release and of the key."""

    release: str
    key: list[str]


@frozen
class Counts:
    """How many rows and pairs there are; where they do not fit, how many rows are alone and how many keys twice."""

    original: int
    release: int
    pairs: int
    same: bool
    original_alone: int
    release_alone: int
    original_twice: int
    release_twice: int


@frozen
class OnlyIf:
    """Rows are read only if a step of one row, or none, lets them: ``where`` is a condition on it."""

    step: str
    where: sql.Expr | None = None

    def of(self, side: str) -> tuple[sql.Rows, list[sql.Expr]]:
        rows = sql.table(side).cross(sql.table(self.step))
        return rows, [] if self.where is None else [self.where.copy()]


def _of(what: str, side: str) -> str:
    """What is counted of one side, such as _pp_rows_original."""
    return f"_pp_{what}{side.removeprefix('_pp')}"


def look_at_keys(
    statement: sql.Statement, keys: Sequence[str], only_if: OnlyIf | None = None
) -> None:
    """The step that counts the original, and says whether its key has too few values to be joined by."""
    distinct = sql.call("approx_count_distinct", told_apart([*map(sql.column, keys)]))
    enough = sql.number(LEAST_SHARE) * aggregates.rows()
    few = (aggregates.rows() > LOOK) & (distinct < enough)
    counted = _side_counts(ORIGINAL, keys, only_if, {REPEATED: few})
    statement.step(KEY_LOOK, counted, materialized=True)


def check(
    statement: sql.Statement,
    spec: MatchSpec,
    keys: Sequence[str],
    pairs: sql.Expr,
    only_if: OnlyIf | None = None,
    beside: sql.Expr | None = None,
) -> None:
    """The step that raises where keys do not match one to one.

    ``pairs`` is a SELECT of their number as ``PAIRED``. Where rows that lie side by side may be pairs already, the
    sides are read ``only_if`` they are not, and ``beside`` is their number.
    """
    masked = sql.derived(_side_counts(MASKED, keys, only_if), "_pp_counts_masked")
    counted = sql.table(KEY_LOOK).cross(masked).cross(sql.derived(pairs, "_pp_counts_pairs"))
    n_original, n_masked = (
        sql.column(_of("rows", side))
        if beside is None
        else sql.column(_of("rows", side)) + beside.copy()
        for side in SIDES
    )
    found = {
        "_pp_original_rows": n_original,
        "_pp_release_rows": n_masked,
        PAIRED: sql.column(PAIRED),
        "_pp_same": exp.NullSafeEQ(
            this=sql.column("_pp_digest_original"), expression=sql.column("_pp_digest_masked")
        ),
    }
    original, release, paired, same = map(sql.column, found)
    fits = original.eq(release) & paired.eq(original) & same
    each = sql.derived(sql.query(sql.columns(found), counted), "_pp_counted")
    bad = sql.named(exp.paren(fits).not_(), "_pp_bad")
    statement.step("_pp_counts", sql.query([exp.Star(), bad], each), materialized=True)
    told = {"original": original, "release": release, "pairs": paired, "same": same}
    told |= {name: sql.column(f"_pp_{name}") for name in _MISFITS}
    rows = sql.table("_pp_counts").cross(sql.derived(_misfits(keys), "_pp_misfits"))
    matched_ = sql.named(MATCH.in_sql(spec, told), MATCHED)
    statement.step(CHECK, sql.query([matched_], rows), materialized=True)


def _side_counts(
    side: str,
    keys: Sequence[str],
    only_if: OnlyIf | None,
    more: Mapping[str, sql.Expr] | None = None,
) -> sql.Expr:
    """Rows and a digest of the keys of one table."""
    rows, where = only_if.of(side) if only_if else (sql.table(side), [])
    digest = aggregates.digest(told_apart([*map(sql.column, keys)]))
    counts = {_of("rows", side): aggregates.rows(), _of("digest", side): digest}
    return sql.query(sql.columns({**counts, **(more or {})}), rows, where=sql.every(where))


_MISFITS = ("original_alone", "release_alone", "original_twice", "release_twice")


def _misfits(keys: Sequence[str]) -> sql.Expr:
    """Rows of a table whose key the other does not have, and keys that one has more than once; read only if needed."""
    own = [*map(sql.column, keys)]
    sides = []
    for side in SIDES:
        rows, where = OnlyIf("_pp_counts", sql.column("_pp_bad")).of(side)
        which = sql.named(sql.text(side), "_pp_side")
        sides.append(sql.query([*own, which], rows, where=sql.every(where)))
    times = {
        _of("times", side): sql.only(aggregates.rows(), sql.column("_pp_side").eq(sql.text(side)))
        for side in SIDES
    }
    complete = sql.present(own)
    assert complete is not None
    times["_pp_complete"] = complete
    each = sql.query(sql.columns(times), sql.derived(sql.union_all(sides), "_pp_both"), group=own)
    found: dict[str, sql.Expr] = {}
    original, masked, whole = map(sql.column, times)
    # A key with NULL in it has no partner, and is not said to occur twice.
    for name, mine, other in (("original", original, masked), ("release", masked, original)):
        alone = sql.only(sql.call("sum", mine), other.eq(sql.number(0)) | whole.not_())
        found[f"_pp_{name}_alone"] = sql.call("coalesce", alone, sql.number(0))
        found[f"_pp_{name}_twice"] = sql.only(aggregates.rows(), (mine > sql.number(1)) & whole)
    return sql.query(sql.columns(found), sql.derived(each, "_pp_keys"))


def matched(spec: MatchSpec, counts: Counts) -> int:
    """The number of pairs, if every row has exactly one partner."""
    if counts.original == counts.release == counts.pairs and counts.same:
        return counts.pairs
    original, release = quoted(spec.table), quoted(spec.release)
    found = []
    if counts.original_alone:
        found.append(
            f"{counts.original_alone} of the {counts.original} rows of {original} have no partner in {release}"
        )
    if counts.release_alone:
        found.append(
            f"{counts.release_alone} of the {counts.release} rows of {release} have no partner in {original}"
        )
    for count, name in ((counts.original_twice, original), (counts.release_twice, release)):
        if count:
            found.append(f"{count} keys occur more than once in {name}")
    if not found:
        found.append("keys that count as equal are spelt in different ways")
    raise spec.refuse(
        f"rows are matched by key ({listed(spec.key)}), and they do not match one to one: {'; '.join(found)}. "
        "Name a key that is unique and never NULL, and compare tables of the same rows, such as '(SELECT … WHERE …)'."
    )


MATCH = told_udf("ppduck_matched", matched, MatchSpec, Counts, "BIGINT")
