"""Small real servers on loopback."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from hawser.http import HttpTransport
from hawser.tls import ClientCertificate

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def echo(request: web.Request) -> web.Response:
    """Tells what arrived."""
    seen = {"method": request.method, "path": request.raw_path, "headers": dict(request.headers)}
    return web.json_response({**seen, "body": (await request.read()).decode()})


@asynccontextmanager
async def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that answers everything with one handler."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def speaking(
    converse: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """The address of a server that speaks raw bytes."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await converse(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def read_head(reader: asyncio.StreamReader) -> bytes:
    """One request without a body."""
    return await reader.readuntil(b"\r\n\r\n")


def server_tls(folder: Path, certificate: ClientCertificate, *, clients_of: bytes = b"") -> ssl.SSLContext:
    """What a server needs; with `clients_of` it asks for certificates of that authority."""
    chain, key = folder / "server.crt", folder / "server.key"
    chain.write_bytes(certificate.chain)
    key.write_bytes(certificate.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    if clients_of:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.decode())
    return context


def client_name(request: web.Request) -> str:
    """The name in the certificate that the client showed."""
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert")
    return next((value for part in certificate["subject"] for key, value in part if key == "commonName"), "")


@asynccontextmanager
async def over_http(handler: Handler, **options: Any) -> AsyncIterator[HttpTransport]:
    """A transport to a server of that handler."""
    async with serving(handler) as address:
        transport = HttpTransport(address, **options)
        try:
            yield transport
        finally:
            await transport.close()
