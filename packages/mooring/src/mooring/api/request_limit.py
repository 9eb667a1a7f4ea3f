"""Limits for what a client sends on one connection: the head of a request, what is neither head nor body, how many
requests wait for an answer, and the time in which a request has to arrive.

The parser itself would keep whatever a client sends, and wait for ever for what it does not send.
"""

import asyncio
import json
import re
from ipaddress import IPv6Address
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mooring.api.connections import Connection
from mooring.api.metrics import REQUESTS_REFUSED

MOST_BYTES = 32 * 1024
MOST_UNREAD_BYTES = 2_000_000  # of a body that nobody reads because its request is answered already
MOST_PIPELINED = 32  # requests that came before the answers to those before them
MOST_PORT = 65535
HEAD_SECONDS = 20.0
BODY_SECONDS = 60.0
_HOST = re.compile(rb"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|[A-Za-z0-9._-]*)(?::(?P<port>[0-9]{0,5}))?")


def _answer(status: int, code: str, message: str, fix: str, *headers: bytes) -> bytes:
    body = json.dumps({"code": code, "message": message, "detail": {"fix": fix}}).encode()
    usual = (b"content-type: application/json", b"connection: close", b"x-content-type-options: nosniff")
    head = b"\r\n".join((*usual, *headers, f"content-length: {len(body)}".encode()))
    return STATUS_LINE[status] + head + b"\r\n\r\n" + body


_TOO_LONG = _answer(
    431,
    "headers_too_large",
    f"the request line and the headers have more than {MOST_BYTES} bytes",
    "send shorter headers, or a shorter query",
)
_TOO_SLOW = _answer(
    408, "request_timeout", "the request did not arrive in time", "send the whole request without a pause"
)
_MALFORMED = _answer(400, "malformed_request", "this is not a request in HTTP/1.1", "correct the client")
_TOO_MANY = _answer(
    429,
    "too_many_connections",
    "too many connections are open",
    "close some, or raise the limit (docs/reference/settings.md)",
    b"retry-after: 1",
)


def too_many_connections() -> bytes:
    """The answer on a connection that is not admitted."""
    return _TOO_MANY


def _names_one_host(headers: list[tuple[bytes, bytes]], version: str) -> bool:
    """RFC 9112, 3.2: of two, a proxy may take one and we the other. What is no host is an error where it is read."""
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) != 1:
        return not hosts and version == "1.0"
    found = _HOST.fullmatch(hosts[0])
    return found is not None and int(found["port"] or 0) <= MOST_PORT and (not found["six"] or _is_ipv6(found["six"]))


def _is_ipv6(text: bytes) -> bool:
    try:
        IPv6Address(text.decode())
    except ValueError:
        return False
    return True


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 by httptools; a head that is too long is answered with 431, one that is too slow with 408.

    The connection is closed then. A connection on which nothing comes is closed as well.
    """

    connection: Connection
    _loose_bytes = 0  # since the last piece of a body: they belong to a head, to chunks or to trailers
    _unread_bytes = 0
    _within_head = True
    _began_here = False
    _had_body_here = False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.connection.close = transport.abort
        self._expect_within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        self.connection.ended()
        super().connection_lost(exc)

    def abandon(self) -> None:
        """The opening of the connection has failed. uvloop does not report the end of one that was just made."""
        if self.transport is not None and not self.transport.is_closing():
            self.connection_lost(ConnectionAbortedError())

    def data_received(self, data: bytes) -> None:
        """Count what belongs to no body. The piece in which a head began may have a body before it."""
        if self.transport.is_closing():
            return
        self._began_here = self._had_body_here = False
        super().data_received(data)
        if not self._began_here and not self._had_body_here and not self.transport.is_closing():
            self._loose_bytes += len(data)
            if self._loose_bytes > MOST_BYTES:
                self._refuse()

    def on_message_begin(self) -> None:
        self._loose_bytes = self._unread_bytes = 0
        self._within_head = self._began_here = True
        self._expect_within(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if not _names_one_host(self.headers, self.parser.get_http_version()):
            self._end("malformed", _MALFORMED)
            return
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_BYTES or len(self.pipeline) >= MOST_PIPELINED:
            self._refuse()
            return
        self._within_head = False
        self._expect_within(BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.transport.is_closing():
            return
        self._had_body_here = True
        self._loose_bytes = 0
        if self.cycle.response_complete:
            self._unread_bytes += len(body)
            if self._unread_bytes > MOST_UNREAD_BYTES:
                self._refuse()
                return
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._expect_nothing()
        if not self.transport.is_closing():
            self.connection.answering()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self.connection.waiting()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        self._end("malformed", _MALFORMED)

    def _refuse(self) -> None:
        self._end("headers", _TOO_LONG if self._within_head else b"")

    def _end(self, limit: str, answer: bytes) -> None:
        """Answer only if no other answer is under way on this connection."""
        if self.transport.is_closing():
            return
        REQUESTS_REFUSED.labels(limit).inc()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(answer)
        self.transport.close()

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._end, "slow", _TOO_SLOW)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
