"""A small HTTP service that lets analysts query masked views, and nothing else.

    pip install 'ppduck[app]'
    python examples/app.py --demo                          # made-up patients, at http://127.0.0.1:8000
    PPDUCK_SECRET=… python examples/app.py owner.db        # every view of the schema "masked" in your own database

The owner says what analysts may see by views over masks, in a schema of their own:

    CREATE SCHEMA masked;
    CREATE VIEW masked.patients AS
    FROM egadp_mask('main.patients', conf=['cost'], nonconf=['age'], key='id', drop=['name']);
    COMMENT ON VIEW masked.patients IS 'cost is masked by EGADP';

GET /views lists them. POST /query {"sql": "SELECT avg(cost) FROM patients", "format": "csv"} runs one SELECT over them.

How the original is kept away. At the start each view is read once into a new database that holds nothing else; then
the owner's database is closed. No SQL can reach what the process has not opened: the new database is read-only, has no
access to files, extensions or variables of this program, and its configuration is locked. That is the wall. The door
before it reads each query as DuckDB parses it and lets through only SELECTs over the views: no other tables or
catalogues, no table functions but a few harmless ones, nothing that writes.

Since each view is read once, all answers come from one release: asking often adds nothing. There is no login here;
put the service behind what your house uses for that.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import math
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb

import ppduck

try:
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from pydantic import BaseModel, ConfigDict, Field
    from starlette.exceptions import HTTPException
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; pip install 'ppduck[app]' brings what this example needs.")

SCHEMA = "masked"
MASKS = "_mask"  # how the names of functions end that may stand in a published view
TABLE_FUNCTIONS = {"generate_series", "range", "unnest"}
# They tell of the service or change it, not of the views.
REFUSED_FUNCTIONS = {"current_setting", "currval", "getenv", "getvariable", "nextval", "write_log"}
QUERY_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
TABLE_REFS = {
    "BASE_TABLE",
    "TABLE_FUNCTION",
    "SUBQUERY",
    "JOIN",
    "EMPTY",
    "EMPTY_FROM",
    "EXPRESSION_LIST",
    "COLUMN_DATA",
}
LONGEST_QUERY = 20_000
MOST_BYTES = 10_000_000
CONFIG: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "1GB",
    "lock_configuration": "true",
}
DEMO = f"""
    CREATE TABLE patients AS
    SELECT i AS id, 'patient ' || i AS name, 20 + i * 7 % 60 AS age, ['female', 'male'][1 + i % 2] AS sex,
           ['anemia', 'asthma', 'flu'][1 + (i * 13 // 7 + i % 2) % 3] AS disease,
           300 + 12 * age + 150 * sin(i * 12.9898) + 80 * cos(i * 4.1) AS cost
    FROM range(2000) AS rows(i);
    CREATE SCHEMA {SCHEMA};
    CREATE VIEW {SCHEMA}.patients AS
    FROM egadp_mask('main.patients', conf=['cost'], nonconf=['age', 'sex'], key='id', drop=['name', 'disease']);
    COMMENT ON VIEW {SCHEMA}.patients IS 'cost is masked by EGADP: regressions on age and sex come out as they were';
    CREATE VIEW {SCHEMA}.diagnoses AS
    SELECT sex, disease FROM rr_mask('main.patients', p={{'sex': 0.9, 'disease': 0.8}}, key='id');
    COMMENT ON VIEW {SCHEMA}.diagnoses IS 'randomized response: sex is kept with p = 0.9, disease with p = 0.8';
"""


class View(NamedTuple):
    """A masked view as analysts see it."""

    name: str
    about: str | None
    rows: int
    columns: dict[str, str]


class Refused(Exception):  # noqa: N818 - an answer, and no mistake of ours
    """A request that is not answered: its HTTP status, a word for programs, a sentence for people."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Query(BaseModel):
    """What POST /query takes."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(min_length=1, max_length=LONGEST_QUERY)
    format: Literal["json", "csv"] = "json"


class Limits(NamedTuple):
    """How much one query may take."""

    rows: int
    seconds: float


def publish(owner: duckdb.DuckDBPyConnection, file: Path) -> list[View]:
    """Writes every masked view into a database of its own, read once; what is no view over masks is refused."""
    query = (
        "SELECT view_name, sql, comment FROM duckdb_views() WHERE schema_name = ? AND NOT internal ORDER BY view_name"
    )
    found = owner.execute(query, [SCHEMA]).fetchall()
    if not found:
        raise SystemExit(f'app.py: there is nothing to publish: the schema "{SCHEMA}" has no views.')
    views = []
    with duckdb.connect(str(file)) as served:
        for name, created, about in found:
            _, _, body = created.partition(" AS ")
            try:
                check(owner, body, tables=set(), functions=None)
            except Refused as refused:
                raise SystemExit(f'app.py: view "{name}" must read masks only: {refused}') from None
            served.register("arriving", owner.sql(f"FROM {SCHEMA}.{quoted(name)}").arrow())
            served.execute(f"CREATE TABLE {quoted(name)} AS FROM arriving")
            served.unregister("arriving")
            [(rows,)] = served.execute(f"SELECT count(*) FROM {quoted(name)}").fetchall()
            columns = {column: type_ for column, type_, *_ in served.execute(f"DESCRIBE {quoted(name)}").fetchall()}
            views.append(View(name, about, rows, columns))
    return views


def check(con: duckdb.DuckDBPyConnection, sql: str, tables: set[str], functions: set[str] | None) -> None:
    """Lets pass one SELECT that reads these tables and table functions only (None: masks), as DuckDB parses it."""
    [(text,)] = con.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()
    parsed = json.loads(text)
    if parsed["error"] and parsed["error_type"] == "parser":
        raise Refused(400, "syntax", parsed["error_message"])
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise Refused(403, "not_a_select", "give exactly one SELECT; nothing else is run here.")
    _walk(parsed["statements"][0]["node"], {name.casefold() for name in tables}, functions)


def _walk(node: Any, tables: set[str], functions: set[str] | None) -> None:
    """Refuses what DuckDB's own tree of a query holds beyond the allowed; ``tables`` grows by the names WITH gives."""
    if isinstance(node, list):
        for part in node:
            _walk(part, tables, functions)
    if not isinstance(node, dict):
        return
    kind = str(node.get("type", ""))
    if kind.endswith("_NODE") and kind not in QUERY_NODES:
        raise Refused(403, "not_a_select", "a query that writes is not run here.")
    for read in (node.get(place) for place in ("from_table", "left", "right")):
        if not isinstance(read, dict) or "class" in read or read["type"].endswith("_NODE"):
            continue  # an expression, or a query of its own
        if read["type"] not in TABLE_REFS:
            raise Refused(
                403, "not_a_view", "read the views by their names; SHOW, DESCRIBE and PIVOT are not run here."
            )
    if kind == "BASE_TABLE":
        path = [node["catalog_name"], node["schema_name"], node["table_name"]]
        if any(path[:2]) or path[2].casefold() not in tables:
            name = ".".join(part for part in path if part)
            raise Refused(403, "not_a_view", f"there is no view {quoted(name)}; GET /views lists those there are.")
    if kind == "TABLE_FUNCTION":
        name = node["function"].get("function_name", "")
        allowed = name.endswith(MASKS) if functions is None else name.casefold() in functions
        if not allowed:
            raise Refused(403, "function", f"the function {quoted(name)} may not stand in FROM here.")
    elif node.get("class") == "FUNCTION" and node["function_name"].casefold() in REFUSED_FUNCTIONS:
        raise Refused(403, "function", f"the function {quoted(node['function_name'])} is not for queries here.")
    visible = set(tables)
    for entry in (node.get("cte_map") or {}).get("map", []):
        own, body = {entry["key"].casefold()}, entry["value"]
        top = body.get("query_node") or body["query"]["node"]  # DuckDB 2.0 and 1.4
        _walk(body, visible | own if top["type"] == "RECURSIVE_CTE_NODE" else visible, functions)
        visible |= own
    if kind in ("RECURSIVE_CTE_NODE", "CTE_NODE"):
        visible.add(str(node.get("cte_name", "")).casefold())
    for name, part in node.items():
        if name != "cte_map":
            _walk(part, visible, functions)


def answer(served: duckdb.DuckDBPyConnection, query: Query, tables: set[str], limits: Limits) -> Response:
    """Runs a query on a cursor of its own, within the limits."""
    with served.cursor() as cursor:
        late = threading.Event()

        def stop() -> None:
            late.set()
            with contextlib.suppress(duckdb.Error):
                cursor.interrupt()

        timer = threading.Timer(limits.seconds, stop)
        timer.start()
        try:
            check(cursor, query.sql, tables, TABLE_FUNCTIONS)
            cursor.execute(query.sql)
            names = [column[0] for column in cursor.description or []]
            rows = cursor.fetchmany(limits.rows + 1)
        except (duckdb.Error, RuntimeError) as error:  # an interrupt is a RuntimeError
            if late.is_set():
                raise Refused(408, "timeout", f"the query took longer than {limits.seconds:g} seconds.") from None
            raise Refused(400, "sql", str(error)) from None
        finally:
            timer.cancel()
    truncated = len(rows) > limits.rows
    body = as_text(names, rows[: limits.rows], truncated, query.format)
    if len(body) > MOST_BYTES:
        raise Refused(413, "too_large", f"the answer has {len(body):,} characters; ask for less than {MOST_BYTES:,}.")
    kind = {"json": "application/json", "csv": "text/csv; charset=utf-8"}[query.format]
    return Response(body, media_type=kind, headers={"X-Truncated": str(truncated).lower()})


def as_text(names: list[str], rows: list[tuple[Any, ...]], truncated: bool, format: str) -> str:
    if format == "csv":
        written = io.StringIO()
        csv.writer(written).writerows([names, *rows])
        return written.getvalue()
    shown = {"columns": names, "rows": [list(map(plain, row)) for row in rows], "truncated": truncated}
    return json.dumps(shown, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """A value in JSON's types, which know no NaN, dates or blobs."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def create_app(served: duckdb.DuckDBPyConnection, views: list[View], limits: Limits) -> FastAPI:
    """The service over a database that holds the masked views as tables, and nothing else."""
    app = FastAPI(title="Masked views", docs_url=None, redoc_url=None)
    tables = {view.name for view in views}

    @app.get("/views")
    def list_views() -> list[dict[str, Any]]:
        return [view._asdict() for view in views]

    @app.post("/query")  # a plain function: each request has a thread of its own, and a cursor
    def run_query(query: Query) -> Response:
        return answer(served, query, tables, limits)

    @app.exception_handler(Refused)
    async def refuse(_: Request, refused: Refused) -> JSONResponse:
        return failure(refused.status, refused.kind, str(refused))

    @app.exception_handler(RequestValidationError)
    async def misread(_: Request, error: RequestValidationError) -> JSONResponse:
        told = "; ".join(
            f"{'.'.join(map(str, fault['loc'][1:])) or 'body'}: {fault['msg']}" for fault in error.errors()
        )
        return failure(422, "request", told)

    @app.exception_handler(HTTPException)
    async def elsewhere(_: Request, error: HTTPException) -> JSONResponse:
        return failure(error.status_code, "request", str(error.detail))

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> JSONResponse:
        return failure(500, "internal", "the service could not answer; its log says why.")

    return app


def failure(status: int, kind: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status)


@contextlib.contextmanager
def published(database: str | None) -> Iterator[tuple[duckdb.DuckDBPyConnection, list[View]]]:
    """The masked views of the owner's database, or of the demonstration's, in a database of their own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "masked.db"
        with ppduck.connect(database or ":memory:", read_only=database is not None) as owner:
            if database is None:
                owner.execute(DEMO)
            views = publish(owner, file)
        with duckdb.connect(str(file), read_only=True, config=CONFIG) as served:
            yield served, views


def main() -> None:
    parser = argparse.ArgumentParser(description="Lets analysts query masked views over HTTP, and nothing else.")
    parser.add_argument("database", nargs="?", help=f'the owner\'s database; its schema "{SCHEMA}" is published')
    parser.add_argument("--demo", action="store_true", help="publish made-up patients instead")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of an answer")
    parser.add_argument("--seconds", type=float, default=10, help="longest time for a query")
    given = parser.parse_args()
    if given.demo == bool(given.database):
        parser.error("give the owner's database, or --demo")
    if given.rows < 1 or not given.seconds > 0:
        parser.error("--rows and --seconds must be above 0")
    if not given.demo and not os.environ.get("PPDUCK_SECRET"):
        parser.error("set PPDUCK_SECRET: without a secret, every start would be a new release of the same rows")
    try:
        with published(given.database) as (served, views):
            app = create_app(served, views, Limits(given.rows, given.seconds))
            uvicorn.run(app, host="127.0.0.1", port=given.port, log_level="warning")
    except (duckdb.Error, ppduck.PpduckError) as error:
        sys.exit(f"app.py: {error}")


if __name__ == "__main__":
    main()
