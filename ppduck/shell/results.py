"""Results as text: DuckDB's own boxes, or lines, CSV, JSON and Markdown with values as DuckDB writes them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import StatementType as Kind

from ppduck.shell.statements import Statement

MOST_ROWS = 40
WIDTH_WITHOUT_TERMINAL = 120
BATCH = 2048

_WRITES = (Kind.CREATE, Kind.INSERT, Kind.UPDATE, Kind.DELETE, Kind.MERGE_INTO, Kind.COPY)
_NUMBERS = ("INT", "DOUBLE", "FLOAT", "DECIMAL", "BIGNUM")
_CUT = re.compile(r"\? rows|>9999 rows")  # how DuckDB says that there are more than it looked at
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_AS_TEXT, _AS_JSON = "CAST(#{} AS VARCHAR)", "CAST(to_json(#{}) AS VARCHAR)"

Row = tuple[str | None, ...]


def rendered(
    con: duckdb.DuckDBPyConnection,
    statement: Statement,
    mode: str,
    to_the_end: bool,
    width: int | None = None,
) -> Iterator[str]:
    """Executes a statement; its rows as pieces of text, each with its line ends, where it has any to show.

    A box is of the first 10,000 rows at most, and DuckDB computes no others; ``to_the_end`` it does: an error in the
    last of them is an error, too. ``width`` is that of a box, by default the terminal's.
    """
    relation: duckdb.DuckDBPyRelation | None = con.sql(statement.text)
    if relation is None or _is_receipt(statement, relation):
        return
    if statement.kind == Kind.EXPLAIN:
        yield "".join(str(plan).rstrip("\n") + "\n" for _, plan in relation.fetchall())
    else:
        last = ""
        for last in _table(relation, width) if mode == "table" else MODES[mode](relation):
            yield last
        if to_the_end and mode == "table" and _CUT.search("".join(last.splitlines()[-3:])):
            for _ in _arrow_batches(relation):
                pass


def _is_receipt(statement: Statement, relation: duckdb.DuckDBPyRelation) -> bool:
    """Whether this is only DuckDB's word that a statement ran; DuckDB 2.0 gives one for each, 1.4 for few."""
    if relation.columns == ["Success"]:
        return statement.kind != Kind.SELECT and len(relation) == 0
    return (
        relation.columns == ["Count"]
        and statement.kind in _WRITES
        and not _asks_for_rows(statement.text)
    )


def _asks_for_rows(text: str) -> bool:
    """Whether RETURNING stands in a statement, and not only in a literal of it."""
    source = text.encode()
    keywords = (at for at, kind in duckdb.tokenize(text) if kind == duckdb.token_type.keyword)
    return any(source[at : at + 9].lower() == b"returning" for at in keywords)


def _table(relation: duckdb.DuckDBPyRelation, width: int | None = None) -> Iterator[str]:
    if width is None:
        width = (
            shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
        )
    box = io.StringIO()
    with contextlib.redirect_stdout(box):
        relation.show(max_rows=MOST_ROWS, max_width=width)
    yield box.getvalue().rstrip("\n") + "\n"


def _line(relation: duckdb.DuckDBPyRelation) -> Iterator[str]:
    """A line for each value, names right-aligned, and an empty line between two rows: long texts stay whole."""
    wide = max(map(len, relation.columns))
    before = ""
    for batch in _batches(relation, _AS_TEXT):
        for row in batch:
            cells = zip(relation.columns, row, strict=True)
            yield before + "".join(
                f"{name:>{wide}} = {'NULL' if cell is None else cell}\n" for name, cell in cells
            )
            before = "\n"


def _csv(relation: duckdb.DuckDBPyRelation) -> Iterator[str]:
    yield _csv_lines([relation.columns])
    for batch in _batches(relation, _AS_TEXT):
        yield _csv_lines(batch)


def _csv_lines(rows: Iterable[Sequence[str | None]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _json(relation: duckdb.DuckDBPyRelation) -> Iterator[str]:
    """An array of objects, one a line."""
    names = [json.dumps(name, ensure_ascii=False) for name in relation.columns]
    before = "["
    for batch in _batches(relation, _AS_JSON):
        for row in batch:
            cells = (f"{name}:{_json_value(cell)}" for name, cell in zip(names, row, strict=True))
            yield before + "{" + ",".join(cells) + "}"
            before = ",\n"
    yield "[]\n" if before == "[" else "]\n"


def _json_value(cell: str | None) -> str:
    if cell is None:
        return "null"
    if cell.startswith('"') or ("NaN" not in cell and "Infinity" not in cell):
        return cell
    # JSON knows neither, though DuckDB writes them.
    return json.dumps(
        json.loads(cell, parse_constant=lambda _: None), ensure_ascii=False, separators=(",", ":")
    )


def _markdown(relation: duckdb.DuckDBPyRelation) -> Iterator[str]:
    names = [_markdown_cell(name) for name in relation.columns]
    right = [
        any(number in str(kind) for number in _NUMBERS) and "[" not in str(kind)
        for kind in relation.types
    ]
    rows = [
        [_markdown_cell(cell) for cell in row]
        for batch in _batches(relation, _AS_TEXT)
        for row in batch
    ]
    widths = [max(3, *map(len, column)) for column in zip(names, *rows, strict=True)]
    yield _markdown_line(names, widths, right)
    yield (
        "|"
        + "|".join(
            "-" * (width + 1) + ("-:"[end]) for width, end in zip(widths, right, strict=True)
        )
        + "|\n"
    )
    for row in rows:
        yield _markdown_line(row, widths, right)


def _markdown_cell(value: str | None) -> str:
    return "NULL" if value is None else _LINE_ENDS.sub("<br>", value.replace("|", "\\|"))


def _markdown_line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        f"{cell:>{width}}" if end else f"{cell:<{width}}"
        for cell, width, end in zip(cells, widths, right, strict=True)
    )
    return "| " + " | ".join(padded) + " |\n"


def _batches(relation: duckdb.DuckDBPyRelation, expression: str) -> Iterator[list[Row]]:
    """The rows as text, some at a time, so that a long result needs no memory."""
    columns = (f"{expression.format(i)} AS c{i}" for i in range(1, len(relation.columns) + 1))
    for batch in _arrow_batches(relation.project(", ".join(columns))):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _arrow_batches(relation: Any) -> Iterator[pa.RecordBatch]:
    # DuckDB 2.0 knows the first name, 1.4 only the second.
    read = (
        relation.to_arrow_reader
        if hasattr(relation, "to_arrow_reader")
        else relation.fetch_record_batch
    )
    with contextlib.closing(read(BATCH)) as reader:  # an open result would block the connection
        while (batch := _next(reader)) is not None:
            yield batch


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except (OSError, pa.ArrowException) as error:  # which is how Arrow hands on what DuckDB says
        raise duckdb.Error(str(error)) from None


MODES: dict[str, Callable[[duckdb.DuckDBPyRelation], Iterator[str]]] = {
    "table": _table,
    "line": _line,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
}
