"""Watches: a stream of bytes in chunks of any size, read as lines, read as events."""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

import msgspec

from hawser.decoding import EventBody, ViewDecoder
from hawser.errors import AnswerUnreadable, Status, error_from_status
from hawser.exchange import open_stream
from hawser.transport import Request, Response, Transport
from hawser.views.base import Object

T = TypeVar("T")

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


@dataclass(frozen=True, slots=True)
class WatchEvent(Generic[T]):
    """One change. A BOOKMARK's object carries nothing but its resource version."""

    type: EventType
    object: T
    resource_version: str


class LineSplitter:
    """Cuts chunks into lines. Each byte is looked at once and copied at most once, however long the line."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, blank ones left out."""
        *complete, rest = chunk.split(b"\n")
        if complete and self._begun:
            self._begun.append(complete[0])
            complete[0] = b"".join(self._begun)
            self._begun.clear()
        if rest:
            self._begun.append(rest)
        return [line for line in complete if line and not line.isspace()]

    @property
    def unfinished(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._begun)


class Watch(Generic[T]):
    """An open watch: enter it, iterate it. It ends when the server ends it; it never reconnects."""

    def __init__(self, transport: Transport, request: Request, decoder: ViewDecoder[T]) -> None:
        self._transport = transport
        self._request = request
        self._decoder = decoder
        self._lines: deque[bytes] = deque()
        self._splitter = LineSplitter()
        self._response: Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def __aenter__(self) -> AsyncIterator[WatchEvent[T]]:
        self._response = await open_stream(self._transport, self._request)
        self._chunks = aiter(self._response)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._response is not None:
            await self._response.close()

    def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        while not self._lines:
            await self._read_on()
        return self._event(self._lines.popleft())

    async def _read_on(self) -> None:
        assert self._chunks is not None, "a watch is iterated inside its `async with`"
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            if rest := self._splitter.unfinished.strip():
                raise AnswerUnreadable(f"the watch of {self._request.path} ended inside an event", body=rest) from None
            raise
        self._lines.extend(self._splitter.feed(chunk))

    def _event(self, line: bytes) -> WatchEvent[T]:
        try:
            body = self._decoder.event(line)
            match body.type:
                case "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" as kind:
                    return WatchEvent(kind, body.object, resource_version_of(body.object))
                case "ERROR":
                    raise error_from_status(_STATUS_EVENT.decode(line).object)
        except msgspec.DecodeError as error:
            raise AnswerUnreadable(
                f"the watch of {self._request.path} sent a line that is not an event: {error}", body=line
            ) from error
        raise AnswerUnreadable(f"the watch of {self._request.path} sent an event of type {body.type!r}", body=line)


_STATUS_EVENT = msgspec.json.Decoder(EventBody[Status])


def resource_version_of(item: Any) -> str:
    """The resource version of a view or of a raw object."""
    if isinstance(item, Object):
        return item.metadata.resource_version
    return str(item.get("metadata", {}).get("resourceVersion", ""))
