"""Whether a client is still there when its claim is: as the real server notices it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from litestar import Litestar, Request, post
from litestar.params import FromQuery

from mooring.api.disconnect import watched
from mooring.api.hosting import HttpHost, bind
from mooring.controllers.claims.waiting_clients import Caller

pytestmark = pytest.mark.realtime
SEEN: list[bool] = []


@post("/claim")
async def claim(request: Request[Any, Any, Any], wait: FromQuery[float]) -> None:
    await request.body()
    caller = Caller(wait)
    async with watched(request, caller):
        await asyncio.sleep(0.4)
        SEEN.append(caller.gone)


@pytest.mark.parametrize("wait", [0, 5])
@pytest.mark.parametrize("stays", [True, False])
async def test_a_client_that_has_hung_up_is_gone_when_its_claim_is_there(tmp_path: Path, wait: int, stays: bool):
    SEEN.clear()
    with bind("127.0.0.1", 0) as listener:
        host = HttpHost(Litestar([claim], openapi_config=None, logging_config=None), [listener])
        running = asyncio.create_task(host.run())
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        head = f"POST /claim?wait={wait} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + b"{}")
        await asyncio.sleep(0.1)
        if stays:
            assert (await reader.read()).startswith(b"HTTP/1.1 201")
        writer.close()
        while not SEEN:
            await asyncio.sleep(0.02)
        assert [not stays] == SEEN
        host.stop()
        await running
