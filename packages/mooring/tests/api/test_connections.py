"""How many connections may be open, and what one of them may send."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvloop
from litestar import Litestar

from hawser.clock import SystemClock
from mooring.api import request_limit
from mooring.api.certificate import ServingCertificate, TlsFiles
from mooring.api.connections import Connection, Connections
from mooring.api.hosting import HttpHost, bind
from mooring.api.limits import LimitOptions
from mooring.api.request_limit import MOST_BYTES, MOST_PIPELINED, MOST_UNREAD_BYTES
from packages.mooring.tests.api.test_tls import AUTHORITY, Served, hello, wait

HELLO = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
ONE, TWO = "address/192.0.2.1", "address/192.0.2.2"


class Clients:
    """Opens connections, and remembers which of them were closed."""

    def __init__(self, each: int, most: int = 100) -> None:
        self.connections = Connections(LimitOptions(connections_each=each, connections=most))
        self.closed: list[str] = []

    def open(self, name: str, address: str = ONE) -> Connection:
        found = self.connections.admit(address, lambda: self.closed.append(name))
        assert found is not None
        return found

    def is_refused(self, address: str = ONE) -> bool:
        return self.connections.admit(address, lambda: None) is None


def test_at_the_limit_of_an_address_its_longest_waiting_connection_makes_room():
    clients = Clients(each=3)
    first, _, third = clients.open("1"), clients.open("2"), clients.open("3")
    first.answering()
    clients.open("4")
    assert clients.closed == ["2"]
    first.waiting()
    third.answering()
    clients.open("5")
    clients.open("6")
    assert clients.closed == ["2", "4", "1"]


def test_a_connection_is_refused_only_while_all_others_are_answered():
    clients = Clients(each=2)
    first, second = clients.open("1"), clients.open("2")
    first.answering()
    second.answering()
    assert clients.is_refused()
    clients.open("other", TWO)
    second.ended()
    second.ended()
    clients.open("3")
    assert clients.closed == []


def test_at_the_limit_of_the_replica_the_longest_waiting_connection_of_anybody_makes_room():
    clients = Clients(each=10, most=2)
    first = clients.open("1")
    clients.open("2")
    clients.open("3", TWO)
    assert clients.closed == ["1"]
    first.waiting()  # its answer comes to its end after it was closed
    clients.open("4", TWO)
    assert clients.closed == ["1", "2"]


def test_nothing_is_kept_of_connections_that_ended():
    clients = Clients(each=10)
    for one in [clients.open(str(number)) for number in range(5)]:
        one.answering()
        one.ended()
        one.waiting()
    assert not clients.connections.open and not clients.connections.waiting and not clients.connections._of


@contextlib.asynccontextmanager
async def served(folder: Path, tls: bool = False, **limits: int) -> AsyncIterator[Served]:
    certificate = ServingCertificate(TlsFiles(*AUTHORITY.issue().write(folder)), SystemClock()) if tls else None
    with bind("127.0.0.1", 0) as listener:
        app = Litestar([hello, wait], openapi_config=None, logging_config=None)
        host = HttpHost(app, [listener], certificate.context if certificate else None, LimitOptions(**limits))
        running = asyncio.create_task(host.run())
        try:
            yield Served(listener, folder, certificate)
        finally:
            host.stop()
            await running


async def ends(reader: asyncio.StreamReader) -> bytes:
    """What comes until the connection is closed."""
    received = b""
    async with asyncio.timeout(10):
        with contextlib.suppress(ConnectionError):
            while piece := await reader.read(65536):
                received += piece
    return received


@pytest.mark.realtime
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_clients_that_open_connections_and_say_nothing_keep_nobody_out(tmp_path: Path, tls: bool):
    async with served(tmp_path, tls, connections_each=20) as there:
        silent = [await asyncio.open_connection(*there.listener.getsockname()) for _ in range(100)]
        assert "200 OK" in await there.ask()
        assert await ends(silent[0][0]) == b""
        for _, writer in silent:
            writer.close()


@pytest.mark.realtime
async def test_a_client_whose_connections_are_all_answered_is_refused_with_429(tmp_path: Path):
    async with served(tmp_path, connections_each=3) as there:
        busy = [await there.connect() for _ in range(3)]
        for _, writer in busy:
            writer.write(b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}")
        for reader, _ in busy:
            assert (await reader.readline()).startswith(b"HTTP/1.1 100")
        reader, writer = await there.connect()
        answer = await ends(reader)
        assert answer.startswith(b"HTTP/1.1 429") and b"retry-after: 1" in answer
        writer.close()
        for reader, writer in busy:
            assert b"HTTP/1.1 201" in await reader.readuntil(b"done")
            writer.close()
        assert "200 OK" in await there.ask()


@pytest.mark.realtime
def test_connections_that_make_room_while_they_open_leave_nothing_behind(tmp_path: Path, monkeypatch):
    """uvloop closes the socket of one whose opening is cancelled, and does not report that to its protocol."""
    monkeypatch.setattr(request_limit, "HEAD_SECONDS", 0.1)
    problems: list[object] = []

    async def burst() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["message"]))
        async with served(tmp_path, connections_each=120) as there:
            clients = [
                socket.create_connection(there.listener.getsockname()) for _ in range(250)
            ]  # none is accepted yet
            for client in clients:
                reader, writer = await asyncio.open_connection(sock=client)
                assert (answer := await ends(reader)) == b"" or b" 408 " in answer
                writer.close()

    uvloop.run(burst())
    assert problems == []


CHUNKED = b"POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("start", "goes_on", "most"),
    [
        (CHUNKED + b"0\r\nX: ", b"x" * 4096, 3 * MOST_BYTES),
        (CHUNKED + b"2;", b"x" * 4096, 3 * MOST_BYTES),
        (b"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n", b"x" * 65536, 3 * MOST_UNREAD_BYTES),
        (HELLO, HELLO * 50, 200 * MOST_PIPELINED * len(HELLO)),
    ],
    ids=["trailer", "chunk", "body", "requests"],
)
async def test_a_client_that_does_not_stop_is_cut_off(tmp_path: Path, start: bytes, goes_on: bytes, most: int):
    async with served(tmp_path) as there:
        reader, writer = await there.connect()
        ended = asyncio.create_task(ends(reader))
        writer.write(start)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while not ended.done() and sent <= most:
                writer.write(goes_on)
                sent += len(goes_on)
                await writer.drain()
                await asyncio.wait({ended}, timeout=0.001)
        await ended
        assert sent <= most
        writer.close()


@pytest.mark.realtime
async def test_what_is_no_request_is_answered_as_other_errors_are(tmp_path: Path):
    async with served(tmp_path) as there:
        reader, writer = await there.connect()
        writer.write(b"GET /hello HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")
        answer = await ends(reader)
        assert answer.startswith(b"HTTP/1.1 400") and b'"code": "malformed_request"' in answer
        writer.close()


@pytest.mark.realtime
@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y", 400),
        ("GET /hello HTTP/1.1\r\nHost: x\r\nhost: x", 400),
        ("GET /hello HTTP/1.1\r\nAccept: */*", 400),
        ("GET /hello HTTP/1.0\r\nHost: x\r\nHost: y", 400),
        ("GET /hello HTTP/1.0\r\nAccept: */*", 200),
        ("GET /hello HTTP/1.1\r\nHost: [::1]:80", 200),
        ("GET /hello HTTP/1.1\r\nHost: a_b.example.:65535", 200),
        ("GET /hello HTTP/1.1\r\nHost: 127.0.0.1:65536", 400),
        ("GET /hello HTTP/1.1\r\nHost: [::1", 400),
        ("GET /hello HTTP/1.1\r\nHost: [1:2]", 400),
        ("GET /hello HTTP/1.1\r\nHost: x/y", 400),
        ("GET /hello HTTP/1.1\r\nHost: user@x", 400),
    ],
)
async def test_a_request_names_one_host(tmp_path: Path, head: str, status: int):
    async with served(tmp_path) as there:
        reader, writer = await there.connect()
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode())
        assert (await ends(reader)).startswith(f"HTTP/1.1 {status} ".encode())
        writer.close()


@pytest.mark.realtime
async def test_no_other_protocol_is_spoken_however_it_is_asked_for(tmp_path: Path):
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n"
    async with served(tmp_path) as there:
        assert (await there.ask(upgrade)).startswith("HTTP/1.1 200")
