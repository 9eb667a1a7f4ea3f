"""The socket that answers go out of."""

import asyncio
import json
import logging
import socket

import pytest
from litestar import Litestar, get

from mooring.api.acceptor import Acceptor
from mooring.api.connections import Connection, Connections
from mooring.api.hosting import HttpHost, bind
from mooring.api.limits import LimitOptions


@pytest.mark.realtime
async def test_the_second_part_of_an_answer_does_not_wait_for_the_clients_word():
    # Head and body are two writes; with Nagle's algorithm the body waits 40 ms for a delayed acknowledgement.
    assert await _nodelay_of_an_accepted_connection() == 1


async def _nodelay_of_an_accepted_connection() -> int:
    accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    class Look(asyncio.Protocol):
        connection: Connection

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.set_result(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    with bind("127.0.0.1", 0) as listener:
        acceptor = Acceptor(listener, Connections(LimitOptions()), Look, None)  # type: ignore[arg-type]
        _, writer = await asyncio.open_connection(*listener.getsockname())
        nodelay = await asyncio.wait_for(accepted, 5)
        writer.close()
        acceptor.close()
        await acceptor.wait_closed()
        return nodelay


def test_a_client_whose_machine_vanished_is_noticed_within_twenty_seconds():
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
            idle, interval, count, unacknowledged = (accepted.getsockopt(socket.IPPROTO_TCP, name) for name in options)
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    assert idle + interval * count <= 20 and unacknowledged <= 20_000


@pytest.mark.realtime
async def test_requests_that_are_not_answered_when_the_server_stops_get_503_and_leave_no_traceback(caplog):
    arrived = asyncio.Semaphore(0)

    @get("/hangs")
    async def hangs() -> str:
        """As a request does whose database does not answer."""
        arrived.release()
        await asyncio.Event().wait()
        return ""

    app = Litestar([hangs], openapi_config=None, logging_config=None)
    with bind("127.0.0.1", 0) as listener, caplog.at_level(logging.INFO):
        host = HttpHost(app, [listener])
        running = asyncio.create_task(host.run())
        connections = [await asyncio.open_connection(*listener.getsockname()) for _ in range(3)]
        for _, writer in connections:
            writer.write(b"GET /hangs HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(arrived.acquire(), 10)
        host.stop()
        for reader, writer in connections:
            head, _, body = (await asyncio.wait_for(reader.read(), 10)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ") and json.loads(body)["code"] == "stopping"
            writer.close()
        await running
    assert [record.message for record in caplog.records if record.exc_info] == []
