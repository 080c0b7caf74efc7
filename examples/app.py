"""A small HTTP service that lets analysts query masked views, and nothing else.

    pip install 'ppduck[app]'
    python examples/app.py --demo                          # made-up patients, at http://127.0.0.1:8000
    PPDUCK_SECRET=… python examples/app.py owner.db        # every view of the schema "masked" in your own database

The owner says what analysts may see by views over masks, in a schema of their own:

    CREATE SCHEMA masked;
    CREATE VIEW masked.patients AS
    FROM egadp_mask('main.patients', conf=['cost'], nonconf=['age'], key='id', drop=['name']);
    COMMENT ON VIEW masked.patients IS 'cost is masked by EGADP';

Each view is one SELECT of columns of one mask with a key. Before it is published, what it would tell is held against
the original by ppduck's release gate (app_gate.py); where a rule fails, the service does not start, and says why.

GET /views lists them. POST /query {"sql": "SELECT avg(cost) FROM patients", "format": "csv"} runs one SELECT over them,
which may ask ppduck for what was there before randomization, given the p that the view's comment tells:

    FROM rr_reconstruct('diagnoses', ['disease'], p={'disease': 0.8})

How the original is kept away. At the start each view is read once into a new database that holds nothing else; then
the owner's database is closed. No SQL can reach what no process has opened: the new database is read-only, has no
access to files, extensions or variables of this program, and its configuration is locked. ppduck is loaded there in the
role of an analyst: whoever could call a mask under the owner's secret could try which values give the published ones,
so that there are neither masks nor a secret. That is the wall. The door before it (app_door.py) reads each query as
DuckDB parses it and lets through only SELECTs over the views: no other tables or catalogues, no table functions but a
few harmless ones and estimates from a view, nothing that writes.

All answers come from one release: asking often adds nothing. Each view has its rows in an order of its own, by which no
two can be joined. Masks with a seed, which anybody could repeat, are not published.

How the service stays up. Each query runs in a worker, a process that is killed when the time is over, whatever DuckDB
is doing, and that has only so much memory. Who finds all workers busy waits, and is then told to come again. What
remains: only Linux holds processes to their memory (elsewhere one huge value may take more), and who sends slow queries
without end keeps others waiting. There is no login here; put the service behind what your house uses for that.

DuckDB itself writes the values, with all their digits. What JSON has no word for is a text there: dates, blobs,
intervals, and "NaN", "Infinity", "-Infinity". In CSV all values stand in quotes, and NULL is nothing at all.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
from app_door import (
    ESTIMATES,
    TABLE_FUNCTIONS,
    Refused,
    body_of_view,
    check,
    quoted,
    without_semicolon,
)
from app_gate import Release, columns, judge

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
JUDGED, PUBLISHED = '"judged rows"', '"masked views"'
LONGEST_QUERY = 20_000
LONGEST_BODY = 300_000  # a query of which JSON escapes every letter
MOST_BYTES = 10_000_000
BATCH = 2048
WORKERS = 4
WORKERS_MEMORY = 1_200_000_000  # beyond what libraries reserve
# What estimates import is there before memory is limited: a library that cannot have its own may wait for ever.
WARM_UP = "FROM rr_reconstruct('(SELECT unnest([1, 2]) AS a)', ['a'], p=0.9)"
CONFIG: dict[str, Any] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "500MB",
    "temp_directory": "",  # no query fills the disk
    "threads": 2,
    "lock_configuration": "true",
}
CELLS = {  # how DuckDB writes a value
    "json": "coalesce(CAST(to_json(#{}) AS VARCHAR), 'null')",
    "csv": """coalesce('"' || replace(CAST(#{} AS VARCHAR), '"', '""') || '"', '')""",
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


class Query(BaseModel):
    """What POST /query takes."""

    model_config = ConfigDict(extra="forbid")
    sql: str = Field(min_length=1, max_length=LONGEST_QUERY)
    format: Literal["json", "csv"] = "json"


def publish(owner: duckdb.DuckDBPyConnection, file: Path) -> list[View]:
    """Writes every masked view into a database of its own, read once and judged; what is no view over a mask, or tells
    too much, is refused.
    """
    query = "SELECT view_name, sql, comment FROM system.main.duckdb_views() WHERE schema_name = ? ORDER BY view_name"
    found = owner.execute(query, [SCHEMA]).fetchall()
    if not found:
        raise SystemExit(
            f'app.py: there is nothing to publish: the schema "{SCHEMA}" has no views.'
        )
    query = "SELECT function_name FROM system.main.duckdb_functions() WHERE NOT internal AND database_name <> 'temp'"
    macros = {name.casefold() for (name,) in owner.execute(query).fetchall()}
    views = []
    # The owner's own may be read-only. Only what was judged leaves the first of them.
    for place, name in ((file.with_suffix(".judged"), JUDGED), (file, PUBLISHED)):
        path = str(place).replace("'", "''")
        owner.execute(f"ATTACH '{path}' AS {name} (READ_WRITE)")
    for name, created, about in found:
        body = body_of_view(created)
        try:
            check(owner, body, tables=set(), functions=None, macros=macros)
        except Refused as refused:
            raise SystemExit(
                f'app.py: view "{name}" must read masks only, and none with a seed: {refused}'
            ) from None
        try:
            release = Release(owner, without_semicolon(body))
            owner.execute(f"CREATE OR REPLACE TABLE {JUDGED}.main.release AS {release.statement}")
            judge(owner, release, f"{JUDGED}.main.release")
        except Refused as refused:
            raise SystemExit(f'app.py: view "{name}" must not be published: {refused}') from None
        described = owner.execute(f"DESCRIBE {SCHEMA}.{quoted(name)}").fetchall()
        types = {column: type_ for column, type_, *_ in described}
        own = ", ".join(columns(release, [*types]))
        table = f"{PUBLISHED}.main.{quoted(name)}"
        # Masks keep the order of the rows, by which a view without a key could be joined to one that has it.
        owner.execute(
            f"CREATE TABLE {table} AS SELECT {own} FROM {JUDGED}.main.release ORDER BY system.main.random()"
        )
        [(rows,)] = owner.execute(f"SELECT system.main.count(*) FROM {table}").fetchall()
        views.append(View(name, about, rows, types))
    owner.execute(f"DETACH {PUBLISHED}; DETACH {JUDGED}")
    file.with_suffix(".judged").unlink()
    return views


def answer(
    con: duckdb.DuckDBPyConnection, sql: str, format: str, tables: set[str], most: int
) -> tuple[str, bool]:
    """The answer as text, and whether rows are left off."""
    sql = without_semicolon(sql)
    check(con, sql, tables, functions=TABLE_FUNCTIONS | ESTIMATES)
    names = con.sql(sql).columns
    cells = ", ".join(CELLS[format].format(i) for i in range(1, len(names) + 1))
    con.execute(f"SELECT concat_ws(',', {cells}) FROM (\n{sql}\n) LIMIT {most + 1}")
    rows: list[str] = []
    size = 0
    while batch := [row for (row,) in con.fetchmany(BATCH)]:
        rows += batch
        size += sum(map(len, batch))
        if size > MOST_BYTES:
            raise Refused(
                413,
                "too_large",
                f"the answer has more than {MOST_BYTES:,} characters; ask for less.",
            )
    truncated = len(rows) > most
    del rows[most:]
    if format == "csv":
        return "".join(line + "\r\n" for line in [",".join(map(quoted, names)), *rows]), truncated
    lines = ",\n".join(f"[{row}]" for row in rows)
    # JSON does not know the numbers NaN and Infinity, though DuckDB writes them; texts stay as they are.
    lines = re.sub(
        r'("(?:[^"\\]+|\\.)*")|(-?(?:NaN|Infinity))', lambda at: at[1] or f'"{at[2]}"', lines
    )
    head = json.dumps({"columns": names, "truncated": truncated}, ensure_ascii=False)
    return f'{head[:-1]}, "rows": [\n{lines}\n]}}', truncated


def opened(file: str) -> duckdb.DuckDBPyConnection:
    """What analysts are connected to."""
    return ppduck.connect(file, role="analyst", read_only=True, config=CONFIG)


def limit_memory() -> None:
    """Of this process, to so much more than it has reserved; only Linux can."""
    if sys.platform != "linux":
        return
    import resource

    status = Path("/proc/self/status").read_text()
    most = 1024 * int(re.findall(r"VmData:\s*(\d+) kB", status)[0]) + WORKERS_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def work(pipe: Connection, file: str, tables: set[str], most: int) -> None:
    """What a worker does: answers one query after the other, until it is killed or the service ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service
    # Only the first connection of a database draws a progress bar, and it could not be told not to.
    with opened(file) as first, first.cursor() as served, contextlib.suppress(EOFError):
        ppduck.load(served, role="analyst")
        served.execute(WARM_UP).fetchall()
        limit_memory()
        pipe.send("ready")
        while True:
            sql, format = pipe.recv()
            try:
                reply: tuple[Any, ...] = (200, *answer(served, sql, format, tables, most))
            except Refused as refused:
                reply = (refused.status, refused.kind, str(refused))
            except (duckdb.OutOfMemoryException, MemoryError):
                reply = (413, "too_large", "the query needs too much memory; ask for less.")
            except RecursionError:
                reply = (400, "sql", "the query is nested too deeply.")
            except duckdb.Error as error:
                reply = (400, "sql", str(error))
            pipe.send(reply)


class Worker:
    """A process that has opened the masked views and nothing else; it starts when it is first asked."""

    def __init__(self, file: Path, views: list[View], rows: int, seconds: float) -> None:
        self.task = (str(file), {view.name for view in views}, rows)
        self.seconds = seconds
        self.process: Any = None
        # Whether memory was short: what was taken stays taken, and the next query would lack it.
        self.spent = False

    def ask(self, query: Query) -> Response:
        try:
            if self.spent:
                self.stop()
            if self.process is None:
                self.start()
            self.pipe.send((query.sql, query.format))
            if not self.pipe.poll(self.seconds):
                self.stop()
                raise Refused(
                    408, "timeout", f"the query took longer than {self.seconds:g} seconds."
                )
            status, *found = self.pipe.recv()
        except (EOFError, OSError):
            self.stop()
            raise Refused(
                500, "ended", "the query ended its process, most likely by the memory it took."
            ) from None
        if status != 200:
            self.spent = status == 413
            raise Refused(status, *found)
        body, truncated = found
        kind = {"json": "application/json", "csv": "text/csv; charset=utf-8"}[query.format]
        return Response(body, media_type=kind, headers={"X-Truncated": str(truncated).lower()})

    def start(self) -> None:
        processes = multiprocessing.get_context("spawn")
        self.pipe, theirs = processes.Pipe()
        self.process = processes.Process(target=work, args=(theirs, *self.task), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()  # it is ready

    def stop(self) -> None:
        self.spent = False
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def create_app(views: list[View], workers: list[Worker], seconds: float) -> FastAPI:
    """The service; who finds all workers busy waits for so many seconds."""
    app = FastAPI(title="Masked views", docs_url=None, redoc_url=None)
    free: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()  # the last one is warm
    for worker in workers:
        free.put_nowait(worker)

    @app.get("/views")
    async def list_views() -> list[dict[str, Any]]:
        return [view._asdict() for view in views]

    @app.post("/query")
    async def run_query(query: Query) -> Response:
        try:
            async with asyncio.timeout(seconds):
                worker = await free.get()
        except TimeoutError:
            raise Refused(503, "busy", "all workers are busy; ask again later.") from None
        answering = asyncio.ensure_future(asyncio.to_thread(worker.ask, query))
        answering.add_done_callback(lambda _: free.put_nowait(worker))
        # the worker is busy till the end, even if nobody waits any more
        return await asyncio.shield(answering)

    @app.middleware("http")
    async def refuse_long_bodies(
        request: Request, go_on: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        length = request.headers.get("content-length", "")
        if request.method == "POST" and not (
            length.isdecimal() and len(length) < 9 and int(length) <= LONGEST_BODY
        ):
            return failure(
                413,
                "request",
                f"send a body with a Content-Length of at most {LONGEST_BODY:,} bytes.",
            )
        return await go_on(request)

    @app.exception_handler(Refused)
    async def refuse(_: Request, refused: Refused) -> JSONResponse:
        return failure(refused.status, refused.kind, str(refused))

    @app.exception_handler(RequestValidationError)
    async def misread(_: Request, error: RequestValidationError) -> JSONResponse:
        faults = ((".".join(map(str, fault["loc"][1:])), fault["msg"]) for fault in error.errors())
        return failure(
            422, "request", "; ".join(f"{where or 'body'}: {what}" for where, what in faults)
        )

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
def published(database: str | None) -> Iterator[tuple[Path, list[View]]]:
    """The masked views of the owner's database, or of the demonstration's, in a file of their own."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "masked.db"
        try:
            with ppduck.connect(database or ":memory:", read_only=database is not None) as owner:
                if database is None:
                    owner.execute(DEMO)
                views = publish(owner, file)
        except (duckdb.Error, ppduck.PpduckError) as error:
            sys.exit(f"app.py: {error}")
        yield file, views


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Lets analysts query masked views over HTTP, and nothing else."
    )
    parser.add_argument(
        "database", nargs="?", help=f'the owner\'s database; its schema "{SCHEMA}" is published'
    )
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
        parser.error(
            "set PPDUCK_SECRET: without a secret, every start would be a new release of the same rows"
        )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # so that the file is removed
    with published(given.database) as (file, views), contextlib.ExitStack() as ending:
        os.environ.pop("PPDUCK_SECRET", None)  # done with
        workers = [Worker(file, views, given.rows, given.seconds) for _ in range(WORKERS)]
        for worker in workers:
            ending.callback(worker.stop)
        told = ", ".join(f"{quoted(view.name)} ({view.rows:,} rows)" for view in views)
        print(
            f"http://127.0.0.1:{given.port} answers queries over {told}. Ctrl-C ends it.",
            flush=True,
        )
        app = create_app(views, workers, given.seconds)
        uvicorn.run(app, host="127.0.0.1", port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
