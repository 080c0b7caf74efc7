"""The rank-based masks on Spark: data shuffling and the normal copula.

Rows go from column to column: for each they are dealt to partitions by the range of its values, and get their share of
ranks there. With all shares, the masks' own stages run as they do for every other mask. Masked scores are ranked in the
same way, and to rank k of these goes the value at place k, which a join by places brings. In the end rows are dealt and
ordered anew by their key, as the order of a sort would tell ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from ppduck.query import ranks
from ppduck.query import tree as sql
from ppduck.spark._driver import Driver
from ppduck.spark._engine import Input, SparkEngine, spelt
from ppduck.stages import ranges, rounding
from ppduck.stages.engine import Run
from ppduck.stages.masking import KEY, LOOK, SOURCE
from ppduck.stages.narrow_table import LARGEST_KEY, masked_name
from ppduck.stages.projection import measured_rows
from ppduck.stages.ranges import OF_RANGE, OFFSET, RANGE, Ranked
from ppduck.stages.scores import ALL_ROWS, RankedPlan
from ppduck.stages.source import noise_key, source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_OF_A_RANGE = 500_000
_SAMPLE = 20_000  # rows of which ranges are cut
_ROWS = "_pp_rows_of_ranges"


class ByRanks:
    """One call."""

    def __init__(self, plan: RankedPlan, driver: Driver, engine: SparkEngine) -> None:
        self.scores, self.driver, self.base = plan.scores, driver, engine
        self.masking = plan.scores.masking
        self.strata = list(self.masking.roles.strata)
        self.run: Run[DataFrame] = Run(driver, engine)
        self.columns = list(engine.table.schema.names)

    def release(self) -> DataFrame:
        """The released table."""
        self.run.stage(source(self.masking))
        for stage in self.scores.looked():
            self.run.stage(stage)
        self.rows = self.base.rows = sum(self.run.small[LOOK].column(ALL_ROWS).to_pylist())
        self.ranges = max(1, -(-self.rows // ROWS_OF_A_RANGE))
        scored = self._scored()
        values = [self._values(scored[self.scores.own.p + j], j) for j in range(self.masking.q)]
        placed = self._places(self._masked(self._shares(scored)))
        return self._released(self._joined(placed, values))

    def _scored(self) -> dict[int, Ranked]:
        """The columns that are ranked, each cut into ranges by a sample, and how many rows lie below each range."""
        scores = self.scores
        sample = self._sample([scores.sortable(i) for i in scores.scored])
        found = {}
        for column, i in zip(sample.columns, scores.scored, strict=True):
            found[i] = self._cut(str(i), scores.sortable(i), _quantiles(column, self.ranges))
        numbers = [sql.double(scores.sortable(i)) for i in scores.scored]
        self._count(self.run, SOURCE, {str(i): each for i, each in found.items()}, numbers)
        return found

    def _sample(self, values: Sequence[sql.Expr]) -> pa.Table:
        """Some rows, the same ones at every reading."""
        share = min(1.0, _SAMPLE / max(self.rows, 1))
        upto = sql.cast(sql.number(int(share * LARGEST_KEY)), "UBIGINT")
        named = [sql.named(value, f"_pp_sampled{i}") for i, value in enumerate(values)]
        chosen = exp.LTE(this=sql.column(KEY), expression=upto)
        found = self.run.collected(sql.query(named, sql.table(SOURCE), where=chosen))
        return pa.concat_tables(found)

    def _cut(self, name: str, figure: sql.Expr, cuts: pa.Array) -> Ranked:
        values = {ranges.cut(i): cuts.slice(i, 1) for i in range(len(cuts))}
        self.run.keep(f"_pp_cuts{name}", pa.table(values or {"_pp_none": [0]}))
        return Ranked(figure, self.strata, f"_pp_cuts{name}", len(cuts) + 1)

    def _count(
        self,
        run: Run[DataFrame],
        table: str,
        figures: dict[str, Ranked],
        numbers: Sequence[sql.Expr],
    ) -> None:
        """How many rows lie below each range of each figure, as small tables."""
        rows = sql.table(table)
        for figure in figures.values():
            rows = rows.cross(sql.table(figure.cuts))
        found = run.collected(ranges.counts([*figures.values()], numbers, rows))
        for place, name in enumerate(figures):
            run.keep(_offsets(name), ranges.offsets(found, place, self.strata))

    def _shares(self, scored: dict[int, Ranked]) -> SparkEngine:
        """The table with the share of ranks of each scored column, under the name of the table itself."""
        own = [*self.columns]
        steps = [*scored.items()]
        run = self._dealt(self.run, sql.table(SOURCE), own, steps[0][1])
        for (i, figure), following in zip(
            steps, [*(each for _, each in steps[1:]), None], strict=True
        ):
            rows = sql.derived(self._share(i, figure, own), "_pp_shared")
            own.append(f"_pp_p{i}")
            if following is not None:
                run = self._dealt(run, rows, own, following)
        query = sql.query([*map(sql.column, own)], rows)
        engine = self._engine(run, query, self.base.table.name)
        # Read several times from here on; Spark would else deal and sort all rows anew each time.
        self.base.kept.append(engine.table.frame.persist())
        return engine

    def _dealt(
        self, run: Run[DataFrame], rows: sql.Rows, own: Sequence[str], figure: Ranked
    ) -> Run[DataFrame]:
        """The rows with the range of a figure, those of a range in one partition."""
        columns = [*map(sql.column, own), sql.named(figure.range(), RANGE)]
        query = sql.query(columns, rows.cross(sql.table(figure.cuts)))
        return self._next(run, self._engine(run, query, _ROWS, [*self.strata, RANGE]))

    def _next(self, run: Run[DataFrame], engine: SparkEngine) -> Run[DataFrame]:
        """The same small tables beside other rows."""
        found: Run[DataFrame] = Run(self.driver, engine)
        found.small = run.small
        return found

    def _engine(
        self, run: Run[DataFrame], query: sql.Expr, name: str, dealt_by: Sequence[str] = ()
    ) -> SparkEngine:
        frame = run.mapped(query)
        schema = self.driver.answer(run.whole(query)).schema
        if dealt_by:
            frame = frame.repartition(self.ranges, *map(spelt, dealt_by))
        return self._known(name, frame, schema)

    def _known(self, name: str, frame: DataFrame, schema: pa.Schema) -> SparkEngine:
        self.driver.keep(name, schema.empty_table())
        table = Input(name, self.base.table.label, frame, schema)
        return SparkEngine(self.base.where, table, self.driver)

    def _beside_offsets(self, name: str) -> sql.Rows:
        """Rows of ranges beside how many rows lie below theirs."""
        pairs = [
            (sql.column(each, _ROWS), sql.column(ranges.group_name(k), _offsets(name)))
            for k, each in enumerate(self.strata)
        ]
        pairs.append((sql.column(RANGE, _ROWS), sql.column(OF_RANGE, _offsets(name))))
        return sql.table(_ROWS).matched(sql.table(_offsets(name)), pairs)

    def _share(self, i: int, figure: Ranked, own: Sequence[str]) -> sql.Expr:
        counted = [f"_pp_n{i}", ALL_ROWS]
        rows = self._beside_offsets(str(i)).matched(sql.table(LOOK), self.masking.to_rows(_ROWS))
        columns = [sql.column(name, _ROWS) for name in [*own, RANGE]]
        columns += [sql.column(OFFSET), *(sql.column(name, LOOK) for name in counted)]
        beside = sql.derived(sql.query(columns, rows), "_pp_beside")
        places = sql.columns(figure.below_and_upto(sql.column(ALL_ROWS)))
        ranked = sql.derived(sql.query([exp.Star(), *places], beside), "_pp_ranked")
        share = sql.named(ranks.share(*map(sql.column, counted)), f"_pp_p{i}")
        return sql.query([*map(sql.column, own), share], ranked)

    def _values(self, figure: Ranked, j: int) -> SparkEngine:
        """The values of a conf column at their places, under names of their own."""
        masking = self.masking
        conf = masking.roles.conf[j].name
        run = self._dealt(self.run, sql.table(SOURCE), [*self.strata, conf], figure)
        kept = dict(
            self.scores.kept([sql.column(each) for each in [*self.strata, RANGE]], sql.column(conf))
        )
        for name in kept.keys() & {
            ranks.BEFORE,
            ranks.NEXT,
        }:  # at the ends of a range, the neighbours
            kept[name] = sql.call("coalesce", kept[name], sql.column(name))
        columns = {_value(j, f"group{k}"): sql.column(each) for k, each in enumerate(self.strata)}
        columns |= {_value(j, ranks.PLACE): figure.place()}
        columns |= {_value(j, name): value for name, value in kept.items()}
        rows = self._beside_offsets(str(self.scores.own.p + j))
        return self._engine(run, sql.query(sql.columns(columns), rows), f"_pp_values{j}")

    def _masked(self, shares: SparkEngine) -> SparkEngine:
        """The table with masked scores, NULL where the confidential value is."""
        masking, scores = self.masking, self.scores
        run = self._next(self.run, shares)
        run.stage(source(masking))
        run.stage(scores.scoring(sql.query([sql.star(SOURCE)], sql.table(SOURCE))))
        for stage in scores.solved():
            run.stage(stage)
        columns = [sql.column(name, "_pp_measured") for name in self.columns]
        for j, output in enumerate(scores.masked_scores()):
            there = sql.column(masking.roles.conf[j].name).is_(exp.null()).not_()
            columns.append(sql.named(sql.cases((there, output)), masked_name(j)))
        columns += scores.beside(masking)
        made = sql.derived(measured_rows(scores.measured, masking.q), "_pp_measured")
        self.run = run
        return self._engine(run, sql.query(columns, made), "_pp_masked_rows")

    def _places(self, masked: SparkEngine) -> SparkEngine:
        """The same with the place of each masked score. Scores are about normal, and ranges cut by that."""
        run = self._next(self.run, masked)
        heights = [i / self.ranges for i in range(1, self.ranges)]
        cuts = pa.array([*map(NormalDist().inv_cdf, heights)], pa.float64())
        self.run = run
        figures = {
            masked_name(j): self._cut(masked_name(j), sql.column(masked_name(j)), cuts)
            for j in range(self.masking.q)
        }
        self._count(run, masked.table.name, figures, [each.figure for each in figures.values()])
        own = list(masked.table.schema.names)
        rows = sql.table(masked.table.name)
        ties = [noise_key(self.masking)]
        for name, figure in figures.items():
            run = self._dealt(run, rows, own, figure)
            place = sql.named(figure.place(ties), f"_pp_place_{name}")
            columns = [*(sql.column(each, _ROWS) for each in own), place]
            own.append(f"_pp_place_{name}")
            rows = sql.derived(sql.query(columns, self._beside_offsets(name)), "_pp_placed")
        return self._engine(run, sql.query([*map(sql.column, own)], rows), "_pp_placed_rows")

    def _joined(self, placed: SparkEngine, values: Sequence[SparkEngine]) -> SparkEngine:
        """Every row beside the values at the places of its masked scores, in an order that its key gives."""
        from pyspark.sql import functions

        frame, schema = placed.table.frame, placed.table.schema
        for j, taken in enumerate(values):
            place = functions.col(f"_pp_place_{masked_name(j)}")
            same = place == functions.col(_value(j, ranks.PLACE))
            for k, name in enumerate(self.strata):
                other = functions.col(_value(j, f"group{k}"))
                same &= functions.col(spelt(name)).eqNullSafe(other)
            frame = frame.join(taken.table.frame, same, "left")
            schema = pa.schema([*schema, *taken.table.schema])
        key = [functions.col(spelt(column)) for column in self.masking.roles.key]
        frame = frame.repartition(self.ranges, *key).sortWithinPartitions(functions.xxhash64(*key))
        return self._known("_pp_joined", frame, schema)

    def _released(self, joined: SparkEngine) -> DataFrame:
        masking, replaced = self.masking, {}
        for j, column in enumerate(masking.roles.conf):
            released = sql.column(_value(j, ranks.VALUE))
            if _value(j, ranks.BEFORE) in joined.table.schema.names:
                low, high = (sql.column(_value(j, each)) for each in (ranks.BEFORE, ranks.NEXT))
                released = ranks.between(low, released, high, sql.column(f"_pp_within{j}"))
            rounds = masking.call.round and not masking.permutes
            replaced[column.name] = rounding.rounded(released, column) if rounds else released
        shown = [name for name in self.columns if name not in masking.roles.drop]
        columns = [sql.named(replaced.get(name, sql.column(name)), name) for name in shown]
        query = sql.query(columns, sql.table(joined.table.name))
        return joined.map_partitions(query, {})


def _offsets(name: str) -> str:
    return f"_pp_offsets_{name}"


def _value(j: int, name: str) -> str:
    return f"_pp_value{j}_{name.removeprefix('_pp_')}"


def _quantiles(values: pa.ChunkedArray, parts: int) -> pa.Array:
    """Values that cut a sample into about equal parts, each once."""
    there = values.combine_chunks().drop_null().sort() if parts > 1 else values.slice(0, 0)
    if not len(there):
        return pa.array([], values.type)
    places = sorted({len(there) * i // parts for i in range(1, parts)})
    found = there.take(pa.array(places)).unique()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
