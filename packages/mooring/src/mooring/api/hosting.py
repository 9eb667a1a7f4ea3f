"""Serves the application on a socket that is bound before anything else is started."""

import contextlib
import errno
import socket
import ssl
from collections.abc import Generator, Sequence
from dataclasses import replace

import uvicorn
from litestar import Litestar

from mooring.api.acceptor import Acceptor
from mooring.api.connections import Connections, allow_descriptors
from mooring.api.limits import LimitOptions
from mooring.api.request_limit import LimitedProtocol
from mooring.api.stop_answers import StopAnswers
from mooring.model.errors import Misconfigured
from mooring.model.hosts import is_loopback

GRACE_SECONDS = 2
BACKLOG = 2048  # a client that finds it full tries again after a second
_DEAD_PEERS = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 3, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 20_000}  # s, s, -, ms
KEEP_ALIVE_SECONDS = 75  # longer than clients keep idle connections, so that the client closes them


def refuse_plain_http(host: str) -> None:
    """Raise `Misconfigured` if others than this machine could connect to this host."""
    if not is_loopback(host):
        raise Misconfigured(
            f"plain HTTP would be served on {host}, where tokens can be read on their way",
            fix="set MOORING_TLS_CERTIFICATE and MOORING_TLS_KEY, or MOORING_PLAIN_HTTP=true behind a TLS proxy",
        )


def bind(host: str, port: int) -> socket.socket:
    """The listening socket; a port in use is reported in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol is named because asyncio sets TCP_NODELAY only then
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _notice_dead_peers(listener)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Misconfigured(f"port {port} of {host} is taken", fix="choose another one with --port") from error
        raise Misconfigured(
            f"cannot listen on {host}:{port}: {error.strerror}", fix="choose another address"
        ) from error
    listener.listen(BACKLOG)
    return listener


def _notice_dead_peers(listener: socket.socket) -> None:
    """Close connections of clients that vanished without closing, as with their machine. Inherited when accepted."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _DEAD_PEERS.items():
        if (option := getattr(socket, name, None)) is not None:  # not every system has all of them
            listener.setsockopt(socket.IPPROTO_TCP, option, value)


class _Server(uvicorn.Server):
    """Accepts connections by itself, and leaves signals to the command, which has more to stop than this server."""

    def __init__(self, config: uvicorn.Config, listeners: Sequence[socket.socket], connections: Connections) -> None:
        super().__init__(config)
        self._listeners = listeners
        self._connections = connections

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        acceptors = [Acceptor(one, self._connections, self._protocol, self.config.ssl) for one in self._listeners]
        self.servers = acceptors  # type: ignore[assignment]  # they are closed and waited for, as servers are

    def _protocol(self) -> LimitedProtocol:
        return LimitedProtocol(self.config, self.server_state, self.lifespan.state)


class HttpHost:
    """Serves until it is cancelled or stopped; HTTPS, if there is a context."""

    def __init__(
        self,
        app: Litestar,
        listeners: Sequence[socket.socket],
        tls: ssl.SSLContext | None = None,
        limits: LimitOptions = LimitOptions(),
    ) -> None:
        config = uvicorn.Config(
            StopAnswers(app),
            log_config=None,
            log_level="error",  # every malformed request would be a line of the log, and anybody can send them
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            server_header=False,
            proxy_headers=False,
            http=LimitedProtocol,
            ws="none",
            ssl_context_factory=(lambda _, __: tls) if tls is not None else None,
        )
        room = replace(limits, connections=allow_descriptors(limits.connections))
        self._listeners = list(listeners)
        self._server = _Server(config, self._listeners, Connections(room))

    async def run(self) -> None:
        """Serve."""
        await self._server.serve(sockets=self._listeners)

    def stop(self) -> None:
        """Let running requests finish, for a short time."""
        self._server.should_exit = True
