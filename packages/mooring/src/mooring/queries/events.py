"""The event stream: what changed, coalesced to once a second, the same for everyone who listens.

A client that falls behind gets `resync` instead of holding the others up; one that comes back within the
replay ring's reach gets what it missed.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from hawser.clock import Clock
from mooring.queries.visibility import Namespaces, Visibility

COALESCE_SECONDS = 1.0
HEARTBEAT_SECONDS = 5.0
RING = 256
CLIENT_QUEUE = 64


class Event(msgspec.Struct, frozen=True):
    """One tick's changes: kind of thing -> the keys that changed. An empty one is a heartbeat."""

    id: int
    type: str  # change, heartbeat, resync
    changes: dict[str, list[str]] = {}

    def encode(self) -> bytes:
        """As server-sent event."""
        body = msgspec.json.encode({"changes": self.changes})
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (self.id, self.type.encode(), body)

    def within(self, visibility: Visibility) -> "Event":
        """The same event with the keys that a reader may see. Without any it is a heartbeat."""
        seen = {kind: [key for key in keys if _sees(visibility, kind, key)] for kind, keys in self.changes.items()}
        kept = {kind: keys for kind, keys in seen.items() if keys}
        return Event(self.id, "heartbeat" if self.changes and not kept else self.type, kept)


def _sees(visibility: Visibility, kind: str, key: str) -> bool:
    namespace = key.partition("/")[0]
    namespaces: dict[str, Namespaces] = {
        "pool": visibility.workerpools,
        "worker": visibility.workerpools,
        "budget": visibility.workerpools,
        "warmup": visibility.warmups,
        "submission": visibility.submissions,
        "service": visibility.managedservices,
    }
    if kind == "audit":
        return visibility.invariants or (bool(namespace) and namespace in visibility.workerpools)
    if kind in namespaces:
        return namespace in namespaces[kind]
    return visibility.nodes if kind in ("node", "nodepool") else visibility.invariants


class EventHub:
    """Collects changes and hands them to every listener."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pending: dict[str, set[str]] = {}
        self._ring: deque[Event] = deque(maxlen=RING)
        self._clients: set[asyncio.Queue[Event]] = set()
        self._last_id = 0
        self._arrival = asyncio.Event()

    def publish(self, kind: str, key: str) -> None:
        """Something changed; must not wait."""
        self._pending.setdefault(kind, set()).add(key)
        self._arrival.set()

    async def run(self) -> None:
        """Fan out until cancelled."""
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._arrival.wait()
            except TimeoutError:
                self._send(Event(self._last_id, "heartbeat"))
                continue
            self._arrival.clear()
            changes = {kind: sorted(keys) for kind, keys in self._pending.items()}
            self._pending.clear()
            self._last_id += 1
            event = Event(self._last_id, "change", changes)
            self._ring.append(event)
            self._send(event)
            await self._clock.sleep(COALESCE_SECONDS)

    def _send(self, event: Event) -> None:
        for queue in self._clients:
            if queue.full():
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(Event(self._last_id, "resync"))
            else:
                queue.put_nowait(event)

    async def listen(self, last_id: int | None = None) -> AsyncIterator[Event]:
        """Events from now on, preceded by those missed since `last_id`."""
        queue: asyncio.Queue[Event] = asyncio.Queue(CLIENT_QUEUE)
        missed = self._missed(last_id)
        self._clients.add(queue)  # before the first yield: what happens while the missed ones are sent is not missed
        try:
            for event in missed:
                yield event
            yield Event(self._last_id, "heartbeat")
            while True:
                yield await queue.get()
        finally:
            self._clients.discard(queue)

    def _missed(self, last_id: int | None) -> list[Event]:
        if last_id is None or last_id >= self._last_id:
            return []
        missed = [event for event in self._ring if event.id > last_id]
        if not missed or missed[0].id != last_id + 1:
            return [Event(self._last_id, "resync")]
        return missed

    def describe(self) -> dict[str, Any]:
        """For health pages."""
        return {"clients": len(self._clients), "lastEvent": self._last_id}
