"""averaging_attack(): what an intruder learns who reads a masked relation many times and takes the mean.

Noise that is drawn at every read has a mean that shrinks with 1/√reads; noise that is a function of a secret and the
row's key is the same at every read, and averaging gains nothing. The reads stand within one statement, each planned
for itself. What changes only between statements, as noise made of the clock, is not seen; nor is a Python function that
draws numbers without ``side_effects=True``: DuckDB takes it at its word, and may run it once for all reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from ppduck.call import arguments
from ppduck.call.parameters import parameter, parameters
from ppduck.call.registry import Kind, Result, register
from ppduck.call.udf import rows_type, told_udf
from ppduck.errors import listed
from ppduck.frozen import frozen
from ppduck.kernels.prediction import ROUNDING, explained
from ppduck.pairs import moments as sums
from ppduck.pairs.columns import Compared, ConfCall
from ppduck.pairs.measure import measure
from ppduck.pairs.one_to_one import MASKED
from ppduck.pairs.rows import PAIRS, PIECE, PIECES, Pairs, PairSpec, Told
from ppduck.query import aggregates
from ppduck.query import tree as sql
from ppduck.values import Array, Moments

NAME = "averaging_attack"
MOST_READS = 1000  # each is planned for itself
FEWEST_ROWS = 3  # a line goes through any two
RESULTS = (
    Result("column_name", "VARCHAR", "a conf column"),
    Result("passed", "BOOLEAN", "whether no row changes and averaging gains nothing"),
    Result("reads", "BIGINT", "how often the release was read"),
    Result("r2_one", "DOUBLE", "R² of the original by one read"),
    Result("r2_mean", "DOUBLE", "R² of the original by the mean of all reads"),
    Result("gain", "DOUBLE", "r2_mean - r2_one: what averaging reveals"),
    Result("changed", "DOUBLE", "the share of rows whose reads differ"),
    Result("rows", "BIGINT", "the pairs that it is of"),
    Result("meaning", "VARCHAR", "the figures in words"),
)
# what there are moments of, each of all columns: the original, the first read, the mean of all
SUMMED = ("_pp_x", "_pp_y", "_pp_mean")
# what the later reads say of each key; the pairs with the mean of all
AGAIN, AVERAGED = ("_pp_again", "_pp_averaged")
MEANING = (
    "R² of the original by one read and by the mean of all; gain is what averaging reveals, changed the share of "
    "rows whose reads differ: both are 0 for noise that hangs on a secret and the row's key, and above 0 for noise "
    "drawn at every read"
)


@parameters
class AveragingAttackCall(ConfCall):
    """How often the release is read."""

    reads: int = parameter(
        arguments.whole(2, MOST_READS), "how often to read; each read of a mask is planned anew", 10
    )


@frozen
class ReadsSpec(PairSpec):
    """How often the release was read."""

    reads: int


@frozen
class ReadsTold(Told):
    """Moments of [original, first read, mean of all], how many rows of each column changed; how many keys of the first
    read are not once in each other one, and how many keys these have together.
    """

    counts: Array | None
    sums: Array | None
    products: Array | None
    changed: Array | None
    unlike: int | None
    keys: int | None


def choose(columns: Compared, call: AveragingAttackCall) -> None:
    columns.use_numbers("conf", call.conf)


def answer(pairs: Pairs, call: AveragingAttackCall) -> sql.Expr:
    """Pairs of an original row with the first read of its masked row, and what the later reads give for it."""
    statement, later = pairs.statement(), range(1, call.reads)
    _read_again(pairs, statement, later)
    _average(pairs, statement, later)
    q = range(len(pairs.columns.numbers))
    names = [f"{kind}{j}" for kind in SUMMED for j in q]
    changed = sql.array((sql.call("sum", sql.column(f"_pp_changed{j}")) for j in q), "DOUBLE")
    more = {"_pp_changed": changed, "_pp_unlike": sql.call("sum", sql.column("_pp_unlike"))}
    sums.about_means(pairs, statement, names, more, AVERAGED)
    unlike = sql.query([sql.call("sum", sql.column("_pp_unlike"))], sql.table(PIECES))
    told = {
        **sums.told_counts(),
        **sums.told_sums(),
        "changed": sums.any_of("_pp_changed"),
        "unlike": sql.scalar(unlike),
        "keys": sql.scalar(sql.query([aggregates.rows()], sql.table(AGAIN))),
    }
    return pairs.answer(statement, SOLVE, pairs.spec(ReadsSpec, reads=call.reads), told, RESULTS)


def _read_again(pairs: Pairs, statement: sql.Statement, later: range) -> None:
    """For each key the sum and the range of the later reads, and a digest of which they were."""
    masked = pairs.columns.masked
    keys = [
        sql.named(key, name) for key, name in zip(pairs.keys(masked), pairs.key_names, strict=True)
    ]
    columns = [*keys, *pairs.masked_values()]
    reads = []
    for i in later:
        number = sql.named(sql.cast(sql.number(i), "BIGINT"), "_pp_read")
        reads.append(
            sql.query([number, *(each.copy() for each in columns)], sql.source(masked.sql))
        )
    told = {"_pp_digest": sql.call("sum", sql.call("hash", sql.column("_pp_read")))}
    for j in range(len(pairs.columns.numbers)):
        told |= {
            f"_pp_{part}{j}": sql.call(part, sql.column(f"_pp_y{j}"))
            for part in ("count", "sum", "min", "max")
        }
    group = [sql.column(name) for name in pairs.key_names]
    rows = sql.derived(_union(reads), "_pp_reads")
    statement.step(
        AGAIN, sql.query([*group, *sql.columns(told)], rows, group=group), materialized=True
    )


def _union(reads: Sequence[sql.Expr]) -> sql.Expr:
    """UNION ALL as a tree: in a row, a thousand would be nested deeper than DuckDB parses."""
    if len(reads) == 1:
        return reads[0]
    half = len(reads) // 2
    return sql.union_all([sql.scalar(_union(part)) for part in (reads[:half], reads[half:])])


def _average(pairs: Pairs, statement: sql.Statement, later: range) -> None:
    """The pairs with the mean of all reads, and whether it is of more than one value."""
    q = range(len(pairs.columns.numbers))
    scales = {f"_pp_scale{j}": sql.call("avg", sql.call("abs", sql.column(f"_pp_y{j}"))) for j in q}
    statement.step(
        "_pp_scale", sql.query(sql.columns(scales), sql.table(MASKED)), materialized=True
    )
    numbers = sql.call("range", sql.number(later.start), sql.number(later.stop))
    digests = sql.query([sql.named(sql.call("hash", sql.call("unnest", numbers)), "_pp_one")])
    once = sql.query([sql.call("sum", sql.column("_pp_one"))], sql.derived(digests, "_pp_each"))
    unlike = exp.NullSafeNEQ(this=sql.column("_pp_digest"), expression=sql.scalar(once))
    told = [sql.column(name) for name in (PIECE, *pairs.value_names)]
    told.append(sql.named(sql.cast(exp.paren(unlike), "INTEGER"), "_pp_unlike"))
    zero = sql.number(0)
    for j in q:
        y, total, count, low, high, scale = (
            sql.column(f"_pp_{part}{j}") for part in ("y", "sum", "count", "min", "max", "scale")
        )
        mean = (y + sql.call("coalesce", total, zero)) / (sql.call("coalesce", count, zero) + 1)
        apart = sql.call("greatest", y.copy(), high) - sql.call("least", y.copy(), low)
        # Sums of several threads make masked numbers differ in their last bits.
        far = apart > sql.number(ROUNDING) * sql.call("greatest", sql.call("abs", y.copy()), scale)
        fewer = exp.NullSafeNEQ(this=count.copy(), expression=sql.number(len(later)))
        told += [
            sql.named(mean, f"_pp_mean{j}"),
            sql.named(sql.cast(exp.paren(far | fewer), "INTEGER"), f"_pp_changed{j}"),
        ]
    rows = (
        sql.table(PAIRS)
        .using(sql.table(AGAIN), pairs.key_names, outer=True)
        .cross(sql.table("_pp_scale"))
    )
    statement.step(AVERAGED, sql.query(told, rows), materialized=True)


def solve(spec: ReadsSpec, told: ReadsTold) -> list[dict[str, Any]]:
    unlike, seen = told.unlike or 0, told.keys or 0
    if unlike or seen != told.pairs:
        raise spec.refuse(
            f"the reads of {spec.release!r} do not have the same rows: {unlike} of the {told.pairs} keys of the first "
            f"are not exactly once in each other read, which have {seen} keys together. Rows that come and go cannot "
            "be averaged; leave out what draws rows by chance."
        )
    n = int(told.counts[0]) if told.counts is not None and len(told.counts) else 0
    if n < FEWEST_ROWS or told.sums is None or told.products is None or told.changed is None:
        raise spec.refuse(
            f"{n} pairs without NULL are too few to measure by; {FEWEST_ROWS} are needed."
        )
    moments, names, q = (
        Moments.from_sums(n, told.sums, told.products),
        spec.columns,
        len(spec.columns),
    )
    finite = np.isfinite(moments.mean) & np.isfinite(np.diag(moments.cross))
    if not finite.all():
        labels = [
            *names,
            *(f"masked {name}" for name in names),
            *(f"masked {name}" for name in names),
        ]
        bad = dict.fromkeys(label for label, fine in zip(labels, finite, strict=True) if not fine)
        raise spec.refuse(
            f"NaN, infinity or a number too large to square is in {listed(bad)}; replace it by NULL."
        )
    rows, (original, *reads) = [], np.arange(len(SUMMED) * q).reshape(len(SUMMED), q)
    for j, name in enumerate(names):
        one, mean = (float(explained(moments, [original[j]], [of[j]])[0]) for of in reads)
        share = float(told.changed[j]) / n
        rows.append({
            "column_name": name, "reads": spec.reads, "r2_one": one, "r2_mean": mean, "gain": mean - one,
            "changed": share, "passed": share == 0 and mean - one <= ROUNDING, "rows": n, "meaning": MEANING,
        })  # fmt: skip
    return rows


SOLVE = told_udf("ppduck_averaging_attack", solve, ReadsSpec, ReadsTold, rows_type(RESULTS))
FUNCTION = register(
    measure(
        NAME,
        AveragingAttackCall,
        "What the mean of many reads of a masked relation reveals of conf: nothing where noise is keyed.",
        "",
        kind=Kind.CHECK,
        choose=choose,
        answer=answer,
        results=RESULTS,
        example="FROM averaging_attack('customers', 'released', conf=['x1','x2'], key='id', reads=3)",
        udfs=(SOLVE,),
    )
)
