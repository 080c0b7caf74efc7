"""examples/app.py as its users run it, over a database with secrets in it."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ppduck
from tests.conftest import SECRET

ROOT = Path(__file__).resolve().parents[2]
APP = [sys.executable, str(ROOT / "examples" / "app.py")]
CANARY = "Zaphod"
OWNER = f"""
    CREATE TABLE payroll AS
    SELECT i AS id, '{CANARY} ' || i AS name, 20 + i * 7 % 45 AS age, ['east', 'west'][1 + i % 2] AS region,
           1000 + 30 * age + 200 * sin(i * 12.9898) + 98765.4321 AS salary
    FROM range(500) AS rows(i);
    CREATE SCHEMA masked;
    CREATE VIEW masked.staff AS FROM egadp_mask('main.payroll', conf=['salary'], nonconf=['age'], key='id', drop=['name']);
    COMMENT ON VIEW masked.staff IS 'salary is masked';
    CREATE VIEW masked.regions AS SELECT region FROM rr_mask('main.payroll', p={{'region': 0.8}}, key='id');
    CREATE TYPE mood AS ENUM ('sad', 'glad');
    CREATE TABLE odd AS
    SELECT i AS id, i % 5 AS a, 3 * a + 20 * sin(i * 12.9898) AS b, a + {2**100}::HUGEINT AS h, 'sad'::mood AS e,
           '00000000-0000-0000-0000-000000000001'::UUID AS u, '[1]'::JSON AS j, '101'::BIT AS t, INTERVAL 1 MONTH AS m,
           9007199254740993::DECIMAL(18, 0) AS d, '\\xFFa'::BLOB AS o
    FROM range(60) AS rows(i);
    CREATE VIEW masked."odd AS ""odd" ("id AS id", a, b, h, e, u, j, t, m, d, o) AS
    FROM egadp_mask('main.odd', conf := ['b'], nonconf := ['a'], key := 'id');
"""
ROWS, SECONDS = 600, 4.0


class Answer(NamedTuple):
    status: int
    text: str
    truncated: str | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def kind(self) -> str:
        return str(self.json["error"]["kind"])


class Service(NamedTuple):
    """A running app.py, and the owner's database."""

    address: str
    owner: Path
    process: int

    def get(self, path: str) -> Answer:
        return send(urllib.request.Request(self.address + path))

    def post(self, body: bytes) -> Answer:
        return send(urllib.request.Request(self.address + "/query", body, {"Content-Type": "application/json"}))

    def query(self, sql: str, **more: str) -> Answer:
        return self.post(json.dumps({"sql": sql, **more}).encode())


def send(request: urllib.request.Request) -> Answer:
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return Answer(response.status, response.read().decode(), response.headers.get("X-Truncated"))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read().decode())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("owner")
    owner = folder / "owner.db"
    with ppduck.connect(owner, secret=SECRET) as con:
        con.execute(OWNER)
    (folder / "secret.csv").write_text(f"name\n{CANARY}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*APP, str(owner), "--port", str(port), "--rows", str(ROWS), "--seconds", str(SECONDS)]
    # A clean install has no pytz.
    missing, left = tmp_path_factory.mktemp("missing"), tmp_path_factory.mktemp("left")
    (missing / "pytz.py").write_text("raise ModuleNotFoundError('pytz')")
    paths = os.pathsep.join([str(missing), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PPDUCK_SECRET": SECRET, "PYTHONPATH": paths, "TMPDIR": str(left), "TZ": "UTC"}
    with (folder / "log").open("w") as log, (left / "told").open("w") as told:
        process = subprocess.Popen(command, env=environment, stdout=told, stderr=log)
    running = Service(f"http://127.0.0.1:{port}", owner, process.pid)
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.fail((folder / "log").read_text())
            try:
                running.get("/views")
                break
            except OSError:
                time.sleep(0.1)
        yield running
    finally:
        process.terminate()
        process.wait(30)
    # The owner is told what masks say of the tables; nothing else went wrong inside.
    assert re.sub(r".*PpduckWarning: .*\n(  .*\n)?", "", (folder / "log").read_text()) == ""
    assert (left / "told").read_text() == (
        f'http://127.0.0.1:{port} answers queries over "odd AS ""odd" (60 rows), "regions" (500 rows), '
        '"staff" (500 rows). Ctrl-C ends it.\n'
    )
    assert os.listdir(left) == ["told"], "the masked copy is gone"
