"""Serving the application on a socket that was bound before anything else was started."""

import contextlib
import errno
import socket
from collections.abc import Generator

import uvicorn
from litestar import Litestar

from mooring.model.errors import Misconfigured

GRACE_SECONDS = 2
KEEP_ALIVE_SECONDS = 75  # longer than clients keep idle connections, so that the client is the one who closes


def bind(host: str, port: int) -> socket.socket:
    """The listening socket; a taken port is one clear line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: asyncio sets no TCP_NODELAY else
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Misconfigured(f"port {port} of {host} is taken", fix="choose another one with --port") from error
        raise Misconfigured(
            f"cannot listen on {host}:{port}: {error.strerror}", fix="choose another address"
        ) from error
    listener.listen(512)
    return listener


class _Server(uvicorn.Server):
    """Signals are the command's business: it has more to stop than this server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class HttpHost:
    """Runs until cancelled or told to stop."""

    def __init__(self, app: Litestar, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            server_header=False,
            proxy_headers=False,
        )
        self._server = _Server(config)
        self._listener = listener

    async def run(self) -> None:
        """Serve."""
        await self._server.serve(sockets=[self._listener])

    def stop(self) -> None:
        """Let requests under way finish, for a short while."""
        self._server.should_exit = True
