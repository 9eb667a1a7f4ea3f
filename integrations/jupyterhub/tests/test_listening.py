"""Whether a server listens, at an address that does not answer."""

import asyncio
import contextlib
import socket

import pytest

from mooring_jupyterhub.servers import RunningServer
from mooring_jupyterhub.spawner import _listens

pytestmark = pytest.mark.realtime


async def test_an_address_that_does_not_answer_does_not_hold_up_a_stop() -> None:
    """The kernel drops what does not fit into the queue of a socket that accepts nothing, as networks drop packets."""
    with contextlib.ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address, port = silent.getsockname()
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex((address, port))
        async with asyncio.timeout(5):
            assert not await _listens(RunningServer("c-1", 1, "users-1", address, port))
