"""Notices that a client closes its connection while its request waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Request

from mooring.controllers.claims.waiting_clients import Caller


@asynccontextmanager
async def watched(request: Request[Any, Any, Any], caller: Caller) -> AsyncIterator[None]:
    """Report to the caller when its connection is closed. Only for requests whose body was read."""
    if caller.wait_seconds <= 0:  # it only matters once, for the answer: a task would cost each claim more than a look
        caller.is_closed = lambda: _is_closed(request)
        yield
        return
    watch = asyncio.create_task(_watch(request, caller), name="mooring-disconnect")
    try:
        yield
    finally:
        watch.cancel()


async def _watch(request: Request[Any, Any, Any], caller: Caller) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    caller.disconnect()


def _is_closed(request: Request[Any, Any, Any]) -> bool:
    """Whether the end of the connection has come already: then `receive` answers without waiting."""
    receiving: Any = request.receive()
    try:
        receiving.send(None)
    except StopIteration as received:
        return bool(received.value["type"] == "http.disconnect")
    receiving.close()
    return False
