"""The API server on a loopback port, over HTTP/1.1."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from drydock.api.requests.bodies import MAX_BYTES
from drydock.api.server import ApiServer
from drydock.certificates import KeyPair
from drydock.streaming.switching import switch_protocols
from drydock.streaming.upgrade import Upgrade
from hawser.transport import Request, Response

_HOST = "127.0.0.1"
_MAX_LINE = 1 << 16  # label selectors can be long
_GRACE_SECONDS = 1.0  # for answers under way when the server stops
_FAREWELL_SECONDS = 0.1  # for the other side's half of the end of TLS, which a killed client never sends


@asynccontextmanager
async def serve(api: ApiServer, *, port: int = 0, certificate: KeyPair | None = None) -> AsyncIterator[str]:
    """Serve until the end of the block; yields the address. Port 0 takes a free one.

    kubectl shows its token only to a server with a certificate; other clients are content without.
    """

    streams: set[Response] = set()
    conversations: set[asyncio.Task[web.StreamResponse]] = set()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        response = await api.handle(await _translate(request))
        if isinstance(response, Upgrade):
            return await converse(request, response)
        if "content-length" in response.headers:
            return web.Response(body=await response.read(), status=response.status, headers=_headers(response))
        streams.add(response)
        try:
            return await _stream(request, response)
        finally:
            streams.discard(response)
            await response.close()

    async def converse(request: web.BaseRequest, upgrade: Upgrade) -> web.StreamResponse:
        conversation = asyncio.create_task(switch_protocols(request, upgrade))
        conversations.add(conversation)
        try:
            return await conversation
        finally:
            conversations.discard(conversation)

    # A watch whose client has gone must end at once, not at the next event that cannot be sent.
    server = web.Server(handle, handler_cancellation=True, access_log=None, max_line_size=_MAX_LINE)
    listener = await asyncio.get_running_loop().create_server(
        server,
        _HOST,
        port,
        ssl=_tls(certificate) if certificate else None,
        ssl_shutdown_timeout=_FAREWELL_SECONDS if certificate else None,
    )
    try:
        _, bound = listener.sockets[0].getsockname()
        yield f"{'https' if certificate else 'http'}://{_HOST}:{bound}"
    finally:
        listener.close()
        for stream in tuple(streams):
            await stream.close()
        for conversation in conversations:
            conversation.cancel()
        server.pre_shutdown()
        await server.shutdown(_GRACE_SECONDS)
        if certificate:
            await asyncio.sleep(2 * _FAREWELL_SECONDS)  # noqa: TID251 - real sockets; nobody waits for the loop any more


def _tls(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


async def _translate(request: web.BaseRequest) -> Request:
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        known = headers.get(name.lower())
        headers[name.lower()] = value if known is None else f"{known},{value}"
    body = await _read_body(request) if request.can_read_body else None
    return Request(request.method, request.path, tuple(request.query.items()), headers, body)


async def _read_body(request: web.BaseRequest) -> bytes:
    """The body, or enough of it to see that it is too large."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BYTES:
            break
    return bytes(body)


async def _stream(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Send the body as it comes, each chunk at once."""
    out = web.StreamResponse(status=response.status, headers=_headers(response))
    out.enable_chunked_encoding()
    await out.prepare(request)
    try:
        async for chunk in response:
            await out.write(chunk)
        await out.write_eof()
    except ConnectionResetError:
        pass  # the client has gone: there is no reader for the error
    return out


def _headers(response: Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "content-length"}
