"""Serves an application. A request that does not arrive in time ends its connection, as any address may open some."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler

HEAD_SECONDS = 20.0  # for the first request line and headers of a connection
BODY_SECONDS = 60.0


async def read_in_time(request: web.Request) -> bytes:
    """The body, or 408; 400 if its client leaves before the end."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.read()
    except TimeoutError:
        raise web.HTTPRequestTimeout from None
    except ConnectionError:
        raise web.HTTPBadRequest from None


@asynccontextmanager
async def serving(application: web.Application, host: str, port: int) -> AsyncIterator[int]:
    """For the time of a block; yields the port."""
    waiting: dict[object, asyncio.TimerHandle] = {}  # connections before their first request
    loop = asyncio.get_running_loop()

    @web.middleware
    async def note_arrival(request: web.Request, handler: Handler) -> web.StreamResponse:
        if (deadline := waiting.pop(request.protocol, None)) is not None:
            deadline.cancel()
        return await handler(request)

    def end(connection: web.RequestHandler) -> None:
        waiting.pop(connection, None)
        connection.force_close()

    def connect() -> web.RequestHandler:
        connection = made()
        waiting[connection] = loop.call_later(HEAD_SECONDS, end, connection)
        return connection

    application.middlewares.append(note_arrival)
    runner = web.AppRunner(application)
    await runner.setup()
    assert runner.server is not None, "it was set up"
    made = runner.server
    try:
        listener = await loop.create_server(connect, host or None, port)
        async with listener:
            yield listener.sockets[0].getsockname()[1]
    finally:
        await runner.cleanup()
