"""The moment a connection of aiohttp's server stops being HTTP."""

import asyncio
from typing import cast

import aiohttp
from aiohttp import web
from aiohttp.http_websocket import WebSocketReader

from drydock.streaming.carrier import Carrier
from drydock.streaming.upgrade import WEBSOCKET, Upgrade

_MAX_MESSAGE_BYTES = 4 << 20
_BUFFER_BYTES = 1 << 16
_GOODBYE_SECONDS = 2.0


async def switch_protocols(request: web.BaseRequest, upgrade: Upgrade) -> web.StreamResponse:
    """Answer 101, hold the conversation, and end the connection."""
    if upgrade.scheme == WEBSOCKET:
        return await _as_websocket(request, upgrade)
    response = web.StreamResponse(status=upgrade.status, headers=upgrade.headers)
    response.force_close()
    if request.transport is None:
        raise ConnectionResetError("the client has gone")
    # Not aiohttp's reader: that one makes its HTTP parser pause, which has nothing to parse any more.
    reader = asyncio.StreamReader(limit=_BUFFER_BYTES)
    reader.set_transport(request.transport)
    # From here on nothing of what the client sends is read as HTTP.
    request.protocol.set_parser(cast(WebSocketReader, _Raw(reader)))
    await response.prepare(request)
    await _converse(upgrade, _StreamCarrier(response, reader))
    return response


async def _as_websocket(request: web.BaseRequest, upgrade: Upgrade) -> web.StreamResponse:
    socket = web.WebSocketResponse(
        protocols=(upgrade.protocol,), compress=False, max_msg_size=_MAX_MESSAGE_BYTES, timeout=_GOODBYE_SECONDS
    )
    await socket.prepare(request)
    await _converse(upgrade, _MessageCarrier(socket))
    return socket


async def _converse(upgrade: Upgrade, carrier: Carrier) -> None:
    try:
        await upgrade.serve(carrier)
    except ConnectionError:
        pass  # the client has gone, or does not keep to the protocol
    finally:
        await carrier.close()


class _Raw:
    """Stands where aiohttp has its parser of WebSocket frames."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        self._reader.feed_eof()


class _StreamCarrier:
    """The bytes of the connection."""

    def __init__(self, response: web.StreamResponse, reader: asyncio.StreamReader) -> None:
        self._response = response
        self._reader = reader

    async def read(self) -> bytes:
        return await self._reader.read(_BUFFER_BYTES)

    async def write(self, data: bytes) -> None:
        await self._response.write(data)

    async def close(self) -> None:
        """Wait a little for the client to close: a connection closed with unread data in it loses what was sent."""
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                while await self._reader.read(_BUFFER_BYTES):
                    pass
        except TimeoutError:
            pass


class _MessageCarrier:
    """The messages of a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket

    async def read(self) -> bytes:
        while True:
            message = await self._socket.receive()
            match message.type:
                case aiohttp.WSMsgType.BINARY | aiohttp.WSMsgType.TEXT:
                    data = message.data.encode() if isinstance(message.data, str) else bytes(message.data)
                    if data:
                        return data
                case _:
                    return b""

    async def write(self, data: bytes) -> None:
        await self._socket.send_bytes(data)

    async def close(self) -> None:
        await self._socket.close()
