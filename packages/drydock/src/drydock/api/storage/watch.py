"""Watches: each reads a table's history at its own pace; an event is encoded once for all of them."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from drydock.api.answers.representation import Writer
from drydock.api.answers.status import Refusal
from drydock.api.kinds.kind import Kind
from drydock.api.requests.selectors import Matcher
from drydock.api.storage.store import Change, ChangeType, Store, Stored, Table, expired, with_version

BOOKMARK_SECONDS = 60.0
_LAST_BOOKMARK_SECONDS = 2.0  # before the end of the watch
_INITIAL_END = {"annotations": {"k8s.io/initial-events-end": "true"}}


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a watch wants to hear of."""

    kind: Kind
    prefix: str
    matches: Matcher | None
    writer: Writer
    bookmarks: bool
    seconds: float  # until the server ends it


class Watch:
    """An iterator over events as bytes, in chunks of whole lines: what is there at once, then what comes."""

    def __init__(self, store: Store, table: Table, wanted: Subscription, position: int, seen: int = 0) -> None:
        self._store = store
        self._table = table
        self._wanted = wanted
        self._position = position
        self._seen = seen  # a client may know of a version that this server has yet to reach
        self._initial = bytearray()
        self._woken = asyncio.Event()
        self._closed = False
        self._refused: Refusal | None = None
        self._sent_any = False
        self._ends = 0.0
        self._next_bookmark = math.inf

    def begin_with(self, current: list[Stored], *, announce_end: bool) -> None:
        """Send the present state first, as if it had just been added."""
        for stored in current:
            self._initial += self._line("ADDED", stored)
        if announce_end:
            self._initial += self._bookmark(_INITIAL_END)

    def refuse(self, refusal: Refusal) -> None:
        """End with an ERROR event, as a watch does that cannot even start."""
        self._refused = refusal

    async def close(self) -> None:
        """End the stream, also for a reader that waits in it."""
        self._table.wakers.discard(self._woken.set)
        self._closed = True
        self._woken.set()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> bytes:
        if not self._ends:
            self._start()
        if self._initial:
            lines, self._initial = bytes(self._initial), bytearray()
            return lines
        while not self._closed:
            self._woken.clear()
            if lines := self._drain():
                return lines
            if self._refused is not None:
                await self.close()
                return _event("ERROR", msgspec.json.encode(self._refused.body()))
            due = min(self._ends, self._next_bookmark)
            if await self._wait_until(due):
                continue
            if due == self._ends:
                await self.close()
            else:
                self._plan_bookmark(due)
                return self._bookmark({})
        raise StopAsyncIteration

    def _start(self) -> None:
        now = asyncio.get_running_loop().time()
        self._ends = now + self._wanted.seconds
        if self._wanted.bookmarks:
            self._plan_bookmark(now)
        self._table.wakers.add(self._woken.set)

    def _plan_bookmark(self, now: float) -> None:
        """One a minute, and one shortly before the end."""
        last = self._ends - _LAST_BOOKMARK_SECONDS
        self._next_bookmark = min(now + BOOKMARK_SECONDS, last) if now < last else math.inf

    async def _wait_until(self, due: float) -> bool:
        """True when something happened before `due`."""
        try:
            async with asyncio.timeout_at(due):
                await self._woken.wait()
        except TimeoutError:
            return False
        return True

    def _drain(self) -> bytes:
        table = self._table
        if self._position < table.first_position:
            self._refused = expired(f"too old resource version: {table.oldest_version} ({self._store.version})")
            return b""
        lines = []
        for change in table.history[self._position - table.first_position :]:
            if (line := self._event_for(change)) is not None:
                lines.append(line)
        self._position = table.next_position
        return b"".join(lines)

    def _event_for(self, change: Change) -> bytes | None:
        wanted = self._wanted
        if change.version <= self._seen or not change.stored.key.startswith(wanted.prefix):
            return None
        if wanted.matches is None:
            return self._shared_line(change, change.type)
        before = change.previous is not None and wanted.matches(change.previous.object)
        after = change.type != "DELETED" and wanted.matches(change.stored.object)
        match before, after:
            case True, True:
                return self._shared_line(change, "MODIFIED")
            case False, True:
                return self._shared_line(change, "ADDED")
            case True, False:
                return self._shared_line(change, "DELETED")
            case _:
                return None

    def _shared_line(self, change: Change, type_: ChangeType) -> bytes:
        identity = (type_, self._wanted.writer.identity(first=not self._sent_any))
        line = change.lines.get(identity)
        if line is None:
            line = change.lines[identity] = self._line(type_, _state_to_send(change, type_))
        self._sent_any = True
        return line

    def _line(self, type_: ChangeType, stored: Stored) -> bytes:
        first, self._sent_any = not self._sent_any, True
        return _event(type_, self._wanted.writer.event_object(stored, first))

    def _bookmark(self, metadata: Mapping[str, object]) -> bytes:
        kind = self._wanted.kind
        body = {
            "kind": kind.kind,
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": str(self._store.version), "creationTimestamp": None, **metadata},
        }
        return _event("BOOKMARK", msgspec.json.encode(body))


def _state_to_send(change: Change, type_: ChangeType) -> Stored:
    if type_ == "DELETED" and change.type != "DELETED":
        # It left the selection: the watcher gets the state it knew, under the version at which it left.
        assert change.previous is not None
        return Stored(change.stored.key, with_version(change.previous, change.version), change.version)
    return change.stored


def _event(type_: str, encoded: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + encoded + b"}\n"
