"""What one client can take of examples/app.py: time, memory and workers, and what the others get meanwhile."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.apps.running_service import SECONDS, Answer, Service

ENDLESS = "SELECT count(*) FROM range(100_000_000_000) AS a, range(1000) AS b"
ONE_LONG_CALL = "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))"


@pytest.mark.parametrize("query", [ENDLESS, ONE_LONG_CALL])
def test_a_query_that_takes_too_long_is_stopped(service: Service, query: str) -> None:
    service.query("SELECT 1")  # a worker has started
    begun = time.monotonic()
    found = service.query(query)
    assert (found.status, found.kind) == (408, "timeout")
    assert "longer than 4 seconds" in found.json["error"]["message"]
    assert SECONDS <= time.monotonic() - begun < 3 * SECONDS
    assert service.query("SELECT count(*) FROM staff").json["rows"] == [[500]]
    assert len(workers(service)) <= 4


def test_when_all_workers_are_busy_others_are_told_so(service: Service) -> None:
    begun = time.monotonic()
    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(service.query, ONE_LONG_CALL) for _ in range(12)]
        time.sleep(SECONDS / 2)
        listed = time.monotonic()
        assert service.get("/views").status == 200
        assert time.monotonic() - listed < SECONDS
    kinds = [(each.result().status, each.result().kind) for each in answers]
    assert set(kinds) == {(408, "timeout"), (503, "busy")}
    assert time.monotonic() - begun < 9 * SECONDS
    assert service.query("SELECT count(*) FROM staff").json["rows"] == [[500]]


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize(
    "query",
    [
        *("SELECT repeat('x', 20_000_000)", "SELECT repeat('x', 1_000_000) FROM range(3000)"),
        *("SELECT repeat('x', 2_000_000_000)", "SELECT repeat('é', 100_000) FROM range(300)"),
    ],
)
def test_too_large_an_answer_is_refused_in_time_and_memory(service: Service, query: str, format: str) -> None:
    found = service.query(query, format=format)
    assert (found.status, found.kind) == (413, "too_large"), found.text[:200]
    assert all(peak < 1_600_000 for peak in workers(service))
    assert service.query("SELECT count(*) FROM staff").json["rows"] == [[500]]


def workers(service: Service) -> list[int]:
    """The most memory that each of the service's workers has taken, in kB, where the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            status = dict(line.split(":", 1) for line in path.read_text().splitlines())
            if int(status["PPid"]) == service.process and "VmHWM" in status:
                found.append(int(status["VmHWM"].split()[0]))
    return found


def test_a_long_body_is_refused_unread(service: Service) -> None:
    head = b"POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    address = ("127.0.0.1", int(service.address.rpartition(":")[2]))
    for length in (b"Content-Length: 5000000000", b"Transfer-Encoding: chunked"):
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(head + length + b"\r\n\r\n")  # and no body at all
            told = connection.recv(10_000)
            assert told.startswith(b"HTTP/1.1 413 "), told
            assert b"Content-Length of at most 300,000 bytes" in told + connection.recv(10_000)


@pytest.mark.parametrize(
    "query", ["SELECT " + "1+" * 500 + "1", "SELECT " + "(" * 900 + "1" + ")" * 900, "SELECT " + "[" * 800 + "]" * 800]
)
def test_deep_queries_are_answered_or_told_so(service: Service, query: str) -> None:
    found = service.query(query)
    assert found.status == 200 or re.search("nested too deeply|depth|syntax", found.json["error"]["message"]), (
        found.text
    )
    assert "recursion" not in found.text
    if "+" in query:
        assert found.kind == "sql"


def test_clients_at_once_get_their_own_answers(service: Service) -> None:
    def ask(number: int) -> Answer:
        if number % 8 == 0:
            return service.query(ENDLESS)
        if number % 5 == 0:
            return service.query("FROM payroll")
        return service.query(f"SELECT {number}, count(*), sum(salary) FROM staff WHERE id >= {number}")

    def insist(number: int) -> Answer:
        """Asks again while the machine is too busy with the slow ones."""
        while (found := ask(number)).status == 503 or (found.status == 408 and number % 8):
            pass
        return found

    sums = {n: service.query(f"SELECT sum(salary) FROM staff WHERE id >= {n}").json["rows"][0][0] for n in range(24)}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(insist, range(24)))
    for number, found in enumerate(answers):
        if number % 8 == 0:
            assert found.kind == "timeout"
        elif number % 5 == 0:
            assert found.kind == "not_a_view"
        else:
            assert found.json["rows"][0] == pytest.approx([number, 500 - number, sums[number]]), found.text
