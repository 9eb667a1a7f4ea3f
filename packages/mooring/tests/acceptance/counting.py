"""A door in front of a cluster's API that counts who comes in to change something."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp import web

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_OF_ONE_HOP = frozenset({"host", "connection", "transfer-encoding", "content-length"})


class CountingDoor:
    """Passes everything on to `upstream`; `writes` keeps the changes that were asked for."""

    def __init__(self, upstream: str) -> None:
        self.url = ""
        self.writes: list[str] = []
        self.reads = 0
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._opened = threading.Event()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), name="counting")

    def open(self) -> None:
        self._thread.start()
        assert self._opened.wait(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=False)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False) as session:
            self._session = session
            server = web.Server(self._pass_on, handler_cancellation=True, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=0.5)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            self._opened.set()
            await self._closing.wait()
            await runner.cleanup()

    async def _pass_on(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method in _WRITES:
            self.writes.append(f"{request.method} {request.path}")
        else:
            self.reads += 1
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_ONE_HOP}
        url, body = f"{self._upstream}{request.path_qs}", await request.read()
        async with self._session.request(request.method, url, headers=headers, data=body) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_ONE_HOP}
            passed = web.StreamResponse(status=answer.status, headers=kept)
            await passed.prepare(request)
            async for piece in answer.content.iter_any():
                await passed.write(piece)
            return passed


@contextmanager
def counting_door(upstream: str) -> Iterator[CountingDoor]:
    """Open until the end of the block."""
    door = CountingDoor(upstream)
    door.open()
    try:
        yield door
    finally:
        door.close()
