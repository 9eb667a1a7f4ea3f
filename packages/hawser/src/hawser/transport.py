"""The seam: everything that speaks to a Kubernetes API does it through one method, `Transport.send`.

Behind it stands aiohttp (`http.py`), an API server in this process, or a fault layer around either.
No transport retries: what to do after a failure is decided by the caller.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

REQUEST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `path` is absolute and unescaped-safe; `query` values are escaped by the transport."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_seconds: float | None = REQUEST_SECONDS  # for the head of the answer; a stream's body has its own watchdog


async def _nothing() -> None:
    return None


class Response:
    """An answer whose body arrives in chunks of any size. Read it, iterate it, and close it once."""

    __slots__ = ("_chunks", "_close", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        chunks: AsyncIterator[bytes],
        close: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self.status = status
        self.headers = headers  # names in lower case
        self._chunks = chunks
        self._close = close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def read(self) -> bytes:
        """The whole body; closes the response."""
        try:
            return b"".join([chunk async for chunk in self._chunks])
        finally:
            await self.close()

    async def close(self) -> None:
        """Give the connection back, or drop it when the body was not read to its end."""
        await self._close()


class Transport(Protocol):
    """One method. Raises `ConnectionFailed` (errors.py) when no answer came."""

    async def send(self, request: Request) -> Response: ...
