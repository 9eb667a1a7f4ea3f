"""Limits for the request line and the headers, and for the time in which a request has to arrive.

The parser itself would keep whatever a client sends, and wait for ever for what it does not send.
"""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mooring.api.metrics import REQUESTS_REFUSED

MOST_BYTES = 32 * 1024
HEAD_SECONDS = 20.0
BODY_SECONDS = 60.0


def _answer(status: int, code: str, message: str, fix: str) -> bytes:
    body = json.dumps({"code": code, "message": message, "detail": {"fix": fix}}).encode()
    headers = b"content-type: application/json\r\nconnection: close\r\nx-content-type-options: nosniff\r\n"
    return STATUS_LINE[status] + headers + f"content-length: {len(body)}\r\n\r\n".encode() + body


_TOO_LONG = _answer(
    431,
    "headers_too_large",
    f"the request line and the headers have more than {MOST_BYTES} bytes",
    "send shorter headers, or a shorter query",
)
_TOO_SLOW = _answer(
    408, "request_timeout", "the request did not arrive in time", "send the whole request without a pause"
)


class HeadLimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 by httptools; a head that is too long is answered with 431, one that is too slow with 408.

    The connection is closed then. A connection on which nothing comes is closed as well.
    """

    _head_bytes = 0
    _within_head = True
    _began_here = False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_within(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head that is not complete. The piece in which it began may have a body before it."""
        if self.transport.is_closing():
            return
        self._began_here = False
        super().data_received(data)
        if self._within_head and not self._began_here and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MOST_BYTES:
                self._refuse()

    def on_message_begin(self) -> None:
        self._head_bytes = 0
        self._within_head = self._began_here = True
        self._expect_within(HEAD_SECONDS)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._within_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_BYTES:
            self._refuse()
            return
        self._expect_within(BODY_SECONDS)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._expect_nothing()
        if not self.transport.is_closing():
            super().on_message_complete()

    def _refuse(self) -> None:
        REQUESTS_REFUSED.labels("headers").inc()
        self.transport.write(_TOO_LONG)
        self.transport.close()

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        """Answer only if no other answer is under way on this connection."""
        if self.transport.is_closing():
            return
        REQUESTS_REFUSED.labels("slow").inc()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
