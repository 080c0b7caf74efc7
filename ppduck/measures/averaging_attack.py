"""averaging_attack(): what an intruder learns who reads a masked relation many times and takes the mean.

Noise that is drawn at every read has a mean that shrinks with 1/√reads; noise that is a function of a secret and the
row's key is the same at every read, and averaging gains nothing. The reads stand within one statement, each planned
for itself. What changes only between statements, as noise made of the clock, is not seen; nor is a Python function that
draws numbers without ``side_effects=True``: DuckDB takes it at its word, and may run it once for all reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ppduck.call import arguments
from ppduck.call.parameters import Parameter
from ppduck.call.registry import Function, register
from ppduck.call.udf import Udf
from ppduck.catalogue.tables import Catalog
from ppduck.errors import Faults, listed
from ppduck.kernels.prediction import ROUNDING, explained
from ppduck.measures.relation_frame import row_types
from ppduck.pairs import rows as row_pairs
from ppduck.pairs.moments import CONF, COUNT, KEY, ORIGINAL, PRODUCTS, RELEASE, SUMS, Pairs, centre_columns
from ppduck.query import tree as sql
from ppduck.values import Array, Moments

NAME = "averaging_attack"
SOLVE = "ppduck_averaging_attack"
MOST_READS = 1000  # each is planned for itself
FEWEST_ROWS = 3  # a line goes through any two
DEFAULT_READS = 10
COLUMNS = {
    "column_name": "VARCHAR",
    "passed": "BOOLEAN",
    "reads": "BIGINT",
    "r2_one": "DOUBLE",
    "r2_mean": "DOUBLE",
    "gain": "DOUBLE",
    "changed": "DOUBLE",
    "rows": "BIGINT",
    "meaning": "VARCHAR",
}
GIVES = row_types(COLUMNS)
TAKES = ["VARCHAR", "BIGINT", *["DOUBLE[]"] * 5]
MEANING = (
    "R² of the original by one read and by the mean of all; gain is what averaging reveals, changed the share of "
    "rows whose reads differ: both are 0 for noise that hangs on a secret and the row's key, and above 0 for noise "
    "drawn at every read"
)


READS = Parameter(
    "reads",
    arguments.whole(2, MOST_READS),
    "how often to read; each read of a mask is planned anew",
    "10",
)


class Reads(Pairs):
    """Pairs of an original row with the first read of its masked row, and what the later reads give for it."""

    def __init__(self, catalog: Catalog, given: dict[str, Any]) -> None:
        super().__init__(NAME, catalog, given)
        self.use_numbers("conf")
        self.faults.raise_if_any()
        self.later = range(1, given.get("reads", DEFAULT_READS))

    def told_of_reads(self) -> sql.Statement:
        """Steps up to ``_pp_told``: moments of [original, first read, mean of all reads], and which rows changed."""
        statement = self.statement()
        self.centre(statement)
        self._read_again(statement)
        self._average(statement)
        q = range(len(self.numbers))
        names = [*self.value_names, *(f"_pp_mean{j}" for j in q)]
        centres = centre_columns([*self.value_names, *(f"_pp_y{j}" for j in q)])
        changed = [sql.call("sum", sql.column(f"_pp_changed{j}")) for j in q]
        more = {"_pp_changed": sql.array(changed, "DOUBLE"), "_pp_unlike": sql.call("sum", sql.column("_pp_unlike"))}
        source = '"_pp_averaged" CROSS JOIN "_pp_centre"'
        self.about_centre(statement, names, centres, more, source, again="_pp_averaged")
        return statement

    def _read_again(self, statement: sql.Statement) -> None:
        """``_pp_again``: for each key the sum and the range of the later reads, and a digest of which they were."""
        keys = [sql.named(value, name) for value, name in zip(self._keys(self.masked), self.key_names, strict=True)]
        columns = [*keys, *self._masked_values()]
        reads = [sql.select([sql.raw(f"{i}::BIGINT AS _pp_read"), *columns], self.masked.sql) for i in self.later]
        told = [*self.key_names, "sum(hash(_pp_read)) AS _pp_digest"]
        for j in range(len(self.numbers)):
            told += [f"{part}(_pp_y{j}) AS _pp_{part}{j}" for part in ("count", "sum", "min", "max")]
        rows = f"SELECT {', '.join(told)} FROM ({_union(reads)}) GROUP BY {', '.join(self.key_names)}"
        statement.step("_pp_again", rows, materialized=True)

    def _average(self, statement: sql.Statement) -> None:
        """``_pp_averaged``: the pairs with the mean of all reads, and whether it is of more than one value."""
        q = range(len(self.numbers))
        scales = ", ".join(f"avg(abs(_pp_y{j})) AS _pp_scale{j}" for j in q)
        statement.step("_pp_scale", f'SELECT {scales} FROM "_pp_masked"', materialized=True)
        once = f'(SELECT sum(hash(i)) FROM range({self.later.start}, {self.later.stop}) AS "reads"(i))'
        told = ['"_pp_pairs".*', f"(_pp_digest IS DISTINCT FROM {once})::INTEGER AS _pp_unlike"]
        for j in q:
            told.append(f"(_pp_y{j} + coalesce(_pp_sum{j}, 0)) / (1 + coalesce(_pp_count{j}, 0)) AS _pp_mean{j}")
            apart = f"greatest(_pp_y{j}, _pp_max{j}) - least(_pp_y{j}, _pp_min{j})"
            # Sums of several threads make masked numbers differ in their last bits.
            far = f"{apart} > {ROUNDING!r} * greatest(abs(_pp_y{j}), _pp_scale{j})"
            told.append(f"({far} OR _pp_count{j} IS DISTINCT FROM {len(self.later)})::INTEGER AS _pp_changed{j}")
        source = f'"_pp_pairs" LEFT JOIN "_pp_again" USING ({", ".join(self.key_names)}) CROSS JOIN "_pp_scale"'
        statement.step("_pp_averaged", f"SELECT {', '.join(told)} FROM {source}", materialized=False)


def _union(reads: Sequence[str]) -> str:
    """UNION ALL as a tree: in a row, a thousand would be nested deeper than DuckDB parses."""
    if len(reads) == 1:
        return reads[0]
    half = len(reads) // 2
    return f"({_union(reads[:half])}) UNION ALL ({_union(reads[half:])})"


def plan(catalog: Catalog, given: dict[str, Any]) -> str:
    reads = Reads(catalog, given)
    keys = '[(SELECT sum("_pp_unlike") FROM "_pp_told"), (SELECT count(*) FROM "_pp_again")]::DOUBLE[]'
    told = [COUNT, SUMS, PRODUCTS, 'any_value("_pp_changed")', keys]
    return reads.rows(reads.told_of_reads(), SOLVE, told, COLUMNS, reads=1 + len(reads.later))


def solve(
    specification: str, pairs: int, counts: Array | None, sums: Array | None, products: Array | None,
    changed: Array | None, keys: Array,
) -> list[dict[str, Any]]:  # fmt: skip
    spec = json.loads(specification)
    faults = Faults(NAME, spec["table"])
    unlike, seen = (int(each) for each in np.nan_to_num(keys))
    if unlike or seen != pairs:
        raise faults.refuse(
            f"the reads of {spec['masked']!r} do not have the same rows: {unlike} of the {pairs} keys of the first are "
            f"not exactly once in each other read, which have {seen} keys together. Rows that come and go cannot be "
            "averaged; leave out what draws rows by chance."
        )
    n = int(counts[0]) if counts is not None and len(counts) else 0
    if n < FEWEST_ROWS or sums is None or products is None or changed is None:
        raise faults.refuse(f"{n} pairs without NULL are too few to measure by; {FEWEST_ROWS} are needed.")
    moments = Moments.from_sums(n, sums, products)
    names = spec["columns"]
    q = len(names)
    finite = np.isfinite(moments.mean) & np.isfinite(np.diag(moments.cross))
    if not finite.all():
        labels = [*names, *(f"masked {name}" for name in names), *(f"masked {name}" for name in names)]
        bad = dict.fromkeys(label for label, fine in zip(labels, finite, strict=True) if not fine)
        raise faults.refuse(f"NaN, infinity or a number too large to square is in {listed(bad)}; replace it by NULL.")
    rows = []
    for j, name in enumerate(names):
        one, mean = (float(explained(moments, [j], [of])[0]) for of in (q + j, 2 * q + j))
        share = float(changed[j]) / n
        rows.append({
            "column_name": name, "reads": spec["reads"], "r2_one": one, "r2_mean": mean, "gain": mean - one,
            "changed": share, "passed": share == 0 and mean - one <= ROUNDING, "rows": n, "meaning": MEANING,
        })  # fmt: skip
    return rows


FUNCTION = register(
    Function(
        NAME,
        (ORIGINAL, RELEASE, CONF, KEY, READS),
        plan,
        "What the mean of many reads of a masked relation reveals of conf: nothing where noise is keyed.",
        "",
        udfs=(Udf(SOLVE, solve, TAKES, GIVES), row_pairs.UDF),
    )
)
