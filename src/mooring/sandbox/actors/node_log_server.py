"""The part of a kubelet's HTTP server through which an API server reads logs: /containerLogs/{ns}/{pod}/{container}."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType

from aiohttp import web

from mooring.model.errors import InvalidInput, MooringError, NotFound
from mooring.sandbox.actors.runtime.logs import LogRequest

OpenLog = Callable[[str, str, str, LogRequest], Awaitable[AsyncIterator[bytes]]]


def server_context(certificate: Path, key: Path, client_authority: Path) -> ssl.SSLContext:
    """TLS for the server: only clients with a certificate of that authority may read."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(client_authority))
    context.load_cert_chain(certificate, key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class NodeLogServer:
    """`async with NodeLogServer(context) as server:` listens on a free port of 127.0.0.1; `serve` says from where.

    The port is part of each Node object, so it has to be known before there is a fleet to read from.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        self._open_log: OpenLog | None = None
        self.port = 0

    async def __aenter__(self) -> "NodeLogServer":
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", self._container_logs)
        app.router.add_get("/healthz", _healthy)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._context)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def serve(self, open_log: OpenLog) -> None:
        """Answer from there."""
        self._open_log = open_log

    async def _container_logs(self, request: web.Request) -> web.StreamResponse:
        if self._open_log is None:
            return web.Response(status=503, text="this node is not ready yet")
        place = request.match_info
        try:
            wanted = log_request(request.query)
            chunks = await self._open_log(place["namespace"], place["pod"], place["container"], wanted)
        except NotFound as missing:
            return web.Response(status=404, text=missing.message)
        except MooringError as refusal:
            return web.Response(status=400, text=refusal.message)
        answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await answer.prepare(request)
        async for chunk in chunks:
            await answer.write(chunk)
        await answer.write_eof()
        return answer


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def log_request(query: Mapping[str, str]) -> LogRequest:
    """What a query string asks for; raises `InvalidInput` naming the parameter."""
    since = query.get("sinceTime")
    try:
        since_time = datetime.fromisoformat(since) if since else None
    except ValueError as error:
        raise InvalidInput("sinceTime", since, "an RFC 3339 time") from error
    return LogRequest(
        previous=query.get("previous", "").lower() in ("true", "1"),
        follow=query.get("follow", "").lower() in ("true", "1"),
        timestamps=query.get("timestamps", "").lower() in ("true", "1"),
        tail_lines=_number(query.get("tailLines"), "tailLines"),
        limit_bytes=_number(query.get("limitBytes"), "limitBytes"),
        since_seconds=_number(query.get("sinceSeconds"), "sinceSeconds"),
        since_time=since_time,
    )


def _number(text: str | None, name: str) -> int | None:
    if text is None or text == "":
        return None
    if not text.isdigit():
        raise InvalidInput(name, text, "a whole number, 0 or more")
    return int(text)
