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
_MOST_AT_ONCE = 100
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
        self._resting: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Accept nothing more. Connections that are open stay."""
        self._loop.remove_reader(self._listener)
        if self._resting is not None:
            self._resting.cancel()
        for opening in self._opening:
            opening.cancel()

    async def wait_closed(self) -> None:
        """Until no connection is half open."""
        if self._opening:
            await asyncio.wait(self._opening)

    def _listen(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """All that wait, up to some: others have to be served between them."""
        for _ in range(_MOST_AT_ONCE):
            try:
                accepted, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("no connection can be accepted", error=error.strerror)
                self._connections.close_longest_waiting()
                self._loop.remove_reader(self._listener)
                self._resting = self._loop.call_later(_PAUSE_SECONDS, self._listen)
                return
            accepted.setblocking(False)
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
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if self._tls is not None else None,
            )
        except BaseException:
            protocol.abandon()
            raise

    def _opened(self, opening: asyncio.Task[None], accepted: socket.socket, connection: Connection) -> None:
        """Or not: the client is gone, speaks no TLS, or had to make room."""
        self._opening.discard(opening)
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not isinstance(error, OSError):  # as TimeoutError and SSLError are
            log.error("a connection could not be opened", exc_info=error)
        if opening.cancelled() or error is not None:
            connection.ended()
            accepted.close()
