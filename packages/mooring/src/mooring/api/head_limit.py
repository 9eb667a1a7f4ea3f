"""A limit for the request line and the headers: the parser itself would keep whatever a client sends."""

import json

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from mooring.api.metrics import REQUESTS_REFUSED

MOST_BYTES = 32 * 1024
_BODY = json.dumps(
    {
        "code": "headers_too_large",
        "message": f"the request line and the headers have more than {MOST_BYTES} bytes",
        "detail": {"fix": "send shorter headers, or a shorter query"},
    }
).encode()
_ANSWER = (
    STATUS_LINE[431]
    + b"content-type: application/json\r\nconnection: close\r\nx-content-type-options: nosniff\r\n"
    + f"content-length: {len(_BODY)}\r\n\r\n".encode()
    + _BODY
)


class HeadLimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 by httptools; a head that is too long is answered with 431, and the connection is closed."""

    _head_bytes = 0
    _within_head = True
    _began_here = False

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
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._within_head = False
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MOST_BYTES:
            self._refuse()
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self.transport.is_closing():
            super().on_message_complete()

    def _refuse(self) -> None:
        REQUESTS_REFUSED.labels("headers").inc()
        self.transport.write(_ANSWER)
        self.transport.close()
