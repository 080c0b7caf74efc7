"""What planning asks of a table, answered by Spark: its columns, and the levels of its categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ppduck.catalogue import questions
from ppduck.catalogue.source import Column, Home, Source
from ppduck.catalogue.tables import LOOK_AHEAD, Catalog
from ppduck.errors import Faults, PpduckError, quoted
from ppduck.frozen import frozen
from ppduck.query import tree as sql
from ppduck.spark._driver import Driver
from ppduck.spark._engine import Input, SparkEngine, spelt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_CARRIED = {
    "boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string", "char", "varchar", "binary",
    "date", "time", "timestamp", "timestamp_ntz", "void", "array", "map", "struct",
}  # fmt: skip
_HEAD, _FOUND = "_pp_head_rows", "_pp_found"


@frozen(kw_only=True)
class SparkCatalog(Catalog):
    """One call's view of Spark's tables. DuckDB on the driver knows each as an empty table of the same columns."""

    driver: Driver
    frame: Callable[[str], DataFrame]  # Spark's table of a name
    engines: dict[str, SparkEngine] = field(default_factory=dict)  # of each table, by its SQL

    @classmethod
    def of(cls, driver: Driver, frame: Callable[[str], DataFrame]) -> SparkCatalog:
        return cls(driver.reader, driver=driver, frame=frame)

    def source(self, function: str, given: str) -> Source:
        label = given.strip()
        text = next(
            (own for own, engine in self.engines.items() if engine.table.label == label), None
        )
        if text is None:
            name = f"_pp_table{len(self.engines)}"
            text = sql.render(sql.name(name))
            faults = Faults(function, label)
            frame = self._frame(faults, label)
            _refuse_types(faults, frame)
            table = Input(name, label, frame, schema_of(frame))
            _refuse_names(faults, table.schema.names)
            self.driver.keep(name, table.schema.empty_table())
            self.engines[text] = SparkEngine(faults.where, table, self.driver)
        columns, row_type = self._columns(text)
        return Source(label, text, columns, row_type=row_type)

    def _frame(self, faults: Faults, label: str) -> DataFrame:
        from pyspark.errors import AnalysisException, ParseException

        try:
            return self.frame(label)
        except (AnalysisException, ParseException) as error:
            raise PpduckError(f"{faults.where}: Spark says: {str(error).splitlines()[0]}") from None

    def engine(self, source: Source) -> SparkEngine:
        return self.engines[source.sql]

    def homes(self, name: str) -> list[Home]:
        return []

    def tables(self) -> list[str]:
        return []

    def fits_in_memory(self, source: Source) -> bool:
        return False

    def about_how_many_rows(self, source: Source) -> int | None:
        return self.trip.once(("rows", source.sql), lambda: self.engine(source).table.frame.count())

    def size_of(self, source: Source) -> int | None:
        return self.about_how_many_rows(source)

    def counts(self, source: Source, column: Column, levels: Sequence[str | None]) -> list[int]:
        found = self._collected(source, questions.counts(source, column))
        counts: dict[str | None, int] = {}
        for level, count in zip(*(each.to_pylist() for each in found.columns), strict=True):
            counts[level] = counts.get(level, 0) + count
        return [counts.get(level, 0) for level in levels]

    def with_null(self, source: Source, columns: Sequence[Column]) -> frozenset[str]:
        if not columns:
            return frozenset()
        found = self._collected(source, questions.holding_null(source, columns))
        return frozenset(
            column.name
            for column, held in zip(columns, found.columns, strict=True)
            if any(held.to_pylist())
        )

    def levels_of(
        self, source: Source, columns: Sequence[Column], at_most: int
    ) -> dict[str, list[str] | None]:
        """In one pass over the table."""
        if not columns:
            return {}
        found = self._collected(
            source, questions.distinct_of_each(source, columns, at_most), columns
        )
        levels: list[set[str]] = [set() for _ in columns]
        for which, level in zip(*(each.to_pylist() for each in found.columns), strict=True):
            levels[which].add(level)
        # in the order of DuckDB's texts, which is that of their bytes
        return {
            column.name: sorted(own, key=str.encode) if len(own) <= at_most else None
            for column, own in zip(columns, levels, strict=True)
        }

    def _read_levels(self, source: Source, name: sql.Expr, at_most: int) -> list[str] | None:
        found = self._collected(source, questions.distinct(source, name, at_most))
        self.driver.keep(_FOUND, found)
        own = replace(source, sql=sql.render(sql.name(_FOUND)))
        return super()._read_levels(own, sql.column(questions.LEVEL), at_most)

    def _seen(self, source: Source, texts: Sequence[Column]) -> tuple[int, list[int]]:
        head = self.engine(source).table.frame.select(*[spelt(text.name) for text in texts])
        self.driver.keep(_HEAD, head.limit(LOOK_AHEAD).toArrow())
        return super()._seen(replace(source, sql=sql.render(sql.name(_HEAD))), texts)

    def _collected(
        self, source: Source, query: sql.Expr, columns: Sequence[Column] = ()
    ) -> pa.Table:
        """What all partitions answer, one after the other; of a few columns, if it asks for no others.

        Such rows are not compared with those that other passes read: what levels are left out, the first look finds.
        """
        engine = self.engine(source)
        if columns:
            engine = engine.narrow([column.name for column in columns])
        found = engine.collect_partials(query, {})
        return pa.concat_tables([self.driver.answer(query).slice(0, 0), *found])


def schema_of(frame: DataFrame) -> pa.Schema:
    """A table's columns as Arrow has them."""
    found = frame.limit(0).toArrow().schema
    # what is never NULL in Spark may be so in what is made of it
    return pa.schema([each.with_nullable(True) for each in found])


def _refuse_types(faults: Faults, frame: DataFrame) -> None:
    """Only types that Spark, Arrow and DuckDB carry alike, at any depth, come out as they went in."""
    for column in frame.schema:
        for name in sorted(_types_in(column.dataType) - _CARRIED):
            faults.add(
                f"column {quoted(column.name)} holds {name}, which does not come unchanged through Arrow and DuckDB; "
                "cast it in a SELECT, or leave it out."
            )
    faults.raise_if_any()


def _types_in(type_: DataType) -> set[str]:
    inside = getattr(type_, "fields", None) or [
        getattr(type_, part, None) for part in ("elementType", "keyType", "valueType")
    ]
    inner = (getattr(each, "dataType", each) for each in inside)
    return {type_.typeName()}.union(*(_types_in(each) for each in inner if each is not None))


def _refuse_names(faults: Faults, names: Sequence[str]) -> None:
    """DuckDB tells names apart without regard to case, and so must everybody who reads both."""
    folded = [name.casefold() for name in names]
    twice = sorted({name for name in names if folded.count(name.casefold()) > 1})
    if twice:
        raise faults.refuse(
            f"columns {', '.join(map(quoted, twice))} have one name, which DuckDB cannot tell apart; rename them."
        )
