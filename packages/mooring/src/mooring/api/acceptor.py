"""Accepts connections, as many as the limits allow, and gives each a protocol after its TLS handshake."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

import structlog

from mooring.api.connections import Connection, Connections
from mooring.api.limits import address_of_host
from mooring.api.request_limit import LimitedProtocol, too_many_connections

log = structlog.get_logger()

HANDSHAKE_SECONDS = 10.0
_PAUSE_SECONDS = 0.2  # after an error of the system, as when it has no more descriptors


class Acceptor:
    """Listens until it is closed. A server of the event loop would accept every connection, and wait 60 s for TLS."""

    def __init__(
        self,
        listener: socket.socket,
        connections: Connections,
        protocols: Callable[[], LimitedProtocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._protocols = protocols
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        listener.setblocking(False)
        self._running = asyncio.create_task(self._run(), name="mooring-acceptor")

    def on_failure(self, act: Callable[[], None]) -> None:
        """Call `act` when it ends for another reason than `close`."""
        self._running.add_done_callback(lambda ended: None if ended.cancelled() else act())

    def close(self) -> None:
        """Accept nothing more. Connections that are open stay."""
        self._running.cancel()
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        """Raises what ended it, if that was not `close`."""
        with contextlib.suppress(asyncio.CancelledError):
            await self._running

    async def _run(self) -> None:
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(self._listener)
            except OSError as error:
                log.warning("no connection can be accepted", error=error.strerror)
                self._connections.close_longest_waiting()
                await self._pause()
                continue
            self._open(accepted, address_of_host(peer[0]))

    def _open(self, accepted: socket.socket, address: str) -> None:
        connection = self._connections.admit(address, accepted.close)
        if connection is None:
            if self._tls is None:
                with contextlib.suppress(OSError):
                    accepted.send(too_many_connections())
            accepted.close()
            return
        opening = asyncio.create_task(self._serve(accepted, connection))
        connection.close = opening.cancel
        self._opening.add(opening)
        opening.add_done_callback(lambda _: self._opened(opening, accepted, connection))

    async def _serve(self, accepted: socket.socket, connection: Connection) -> None:
        """Shake hands. The protocol reports the end from then on."""
        protocol = self._protocols()
        protocol.connection = connection
        await self._loop.connect_accepted_socket(
            lambda: protocol,
            accepted,
            ssl=self._tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if self._tls is not None else None,
        )

    def _opened(self, opening: asyncio.Task[None], accepted: socket.socket, connection: Connection) -> None:
        """Or not: the client is gone, speaks no TLS, or had to make room."""
        self._opening.discard(opening)
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not isinstance(error, OSError):  # as TimeoutError and SSLError are
            log.error("a connection could not be opened", exc_info=error)
        if opening.cancelled() or error is not None:
            connection.ended()
            accepted.close()

    async def _pause(self) -> None:
        over = asyncio.Event()
        self._loop.call_later(_PAUSE_SECONDS, over.set)
        await over.wait()
