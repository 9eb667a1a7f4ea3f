"""The health check itself: one HTTP request to a worker, as light as it can be, since a fleet asks thousands a second.

Measured against aiohttp's client: half the CPU a check. Nothing is kept open between two checks of a worker.
"""

import asyncio
import errno
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, cast

from mooring.engine.metrics import OUTGOING_REFUSED
from mooring.model.evidence import clean_line
from mooring.planning.destinations import OutgoingPolicy, refuse_address

_MOST_BYTES = 16 * 1024
_MOST_DETAIL = 120
_MOST_DIGITS = 9
_MOST_SESSIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to ask, and for how long to wait."""

    address: str
    port: int
    path: str
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it. `executing` and `sessions` are the worker's own word, when it gave one."""

    ok: bool
    detail: str
    refused: bool = False
    executing: bool | None = None
    sessions: int | None = None


class Probe(Protocol):
    """Asks one worker how it is."""

    async def check(self, target: Target) -> Answer:
        """Never raises for what a worker or the network does."""
        ...


class HttpProbe:
    """`GET` on a fresh connection; 2xx and 3xx are healthy, as for a kubelet. Redirects are not followed."""

    def __init__(self, policy: OutgoingPolicy) -> None:
        self._loopback = policy.loopback

    async def check(self, target: Target) -> Answer:
        if why := refuse_address(target.address, self._loopback):
            OUTGOING_REFUSED.inc()
            return Answer(False, f"not asked: {why}"[:_MOST_DETAIL])
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        exchange = _Exchange(_request(target), ended)
        try:
            async with asyncio.timeout(target.timeout_seconds):
                await loop.create_connection(lambda: exchange, target.address, target.port)
                await ended
        except TimeoutError:
            if not exchange.head_complete:
                return Answer(False, f"no answer within {target.timeout_seconds:g} s")
        except OSError as error:
            return Answer(False, _tell(error), refused=error.errno == errno.ECONNREFUSED)
        finally:
            exchange.hang_up()
        return read_answer(bytes(exchange.received))


class _Exchange(asyncio.Protocol):
    """One request, and what came back until the answer was whole, too long, or cut off."""

    def __init__(self, request: bytes, ended: "asyncio.Future[None]") -> None:
        self._request = request
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self.received = bytearray()

    @property
    def head_complete(self) -> bool:
        return b"\r\n\r\n" in self.received

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no class of asyncio
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) >= _MOST_BYTES or _is_whole(self.received):
            self._end()

    def connection_lost(self, error: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def hang_up(self) -> None:
        """The answer is read, or not worth waiting for."""
        if self._transport is not None:
            self._transport.abort()


def _request(target: Target) -> bytes:
    host = f"[{target.address}]" if ":" in target.address else target.address
    path = "".join(
        character for character in target.path if "!" <= character <= "~"
    )  # no second line, no second request
    head = f"GET {path} HTTP/1.1\r\nHost: {host}:{target.port}\r\nUser-Agent: mooring-health\r\n"
    return f"{head}Accept: application/json\r\nConnection: close\r\n\r\n".encode("ascii", "replace")


def _tell(error: OSError) -> str:
    if error.errno:
        return os.strerror(error.errno).lower()
    return clean_line(str(error))[:_MOST_DETAIL] or "the connection failed"


def _is_whole(received: bytearray) -> bool:
    head, found, body = bytes(received).partition(b"\r\n\r\n")
    if not found:
        return False
    length = _header(head, b"content-length")
    return _is_short_number(length) and len(body) >= int(length)


def _is_short_number(text: bytes) -> bool:
    """A longer one would be an error of `int`, and no worker means it."""
    return text.isdigit() and len(text) <= _MOST_DIGITS


def _header(head: bytes, name: bytes) -> bytes:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip()
    return b""


def read_answer(received: bytes) -> Answer:
    """What an HTTP answer means; anything else than one is a failure in words."""
    head, complete, body = received.partition(b"\r\n\r\n")
    status_line = head.split(b"\r\n", 1)[0]
    parts = status_line.split(b" ", 2)
    if not complete or not parts[0].startswith(b"HTTP/1.") or len(parts) < 2 or not _is_short_number(parts[1]):
        return Answer(False, "no HTTP answer" if received else "the connection was closed without an answer")
    status = int(parts[1])
    detail = _clean(b" ".join(parts[1:]))
    if not 200 <= status < 400:
        return Answer(False, f"answered {detail}")
    word = _read_word(_unchunk(body) if _header(head, b"transfer-encoding").lower() == b"chunked" else body)
    executing, sessions = word.get("executing"), word.get("sessions")
    return Answer(
        True,
        detail,
        executing=executing if isinstance(executing, bool) else None,
        sessions=sessions if type(sessions) is int and 0 <= sessions <= _MOST_SESSIONS else None,
    )


@lru_cache(maxsize=64)  # almost all answers are the same one
def _clean(status: bytes) -> str:
    return clean_line(status.decode("latin-1"))[:_MOST_DETAIL]


def _unchunk(body: bytes) -> bytes:
    """The chunks that came, joined; what is cut off or malformed ends it."""
    plain = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        try:
            length = int(size.split(b";")[0], 16)
        except ValueError:
            break
        if length <= 0:
            break
        plain += rest[:length]
        body = rest[length + 2 :]
    return plain


def _read_word(body: bytes) -> dict[str, Any]:
    """A JSON object, if it is one: plain "ok" is as healthy."""
    if not body.lstrip().startswith(b"{"):
        return {}
    try:
        word = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return word if isinstance(word, dict) else {}
