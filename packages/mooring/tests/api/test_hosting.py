"""The socket that answers go out of."""

import asyncio
import socket

import pytest

from mooring.api.acceptor import Acceptor
from mooring.api.connections import Connection, Connections
from mooring.api.hosting import bind
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
