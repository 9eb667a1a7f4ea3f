"""An API of one namespace's pods, with every knob in reach of a test, and a reflector on it."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from drydock import VirtualLoop
from drydock.faults import FaultyTransport, Plan, Rule
from hawser.cache import Change
from hawser.client import KubeClient
from hawser.clock import Entropy
from hawser.reflector import Reflector, Scope
from hawser.resources import PODS
from hawser.transport import Request, Response

START = datetime(2026, 3, 1, tzinfo=UTC)


class TinyApi:
    """Pods of one namespace behind list, paging, watch and 410, with every knob in reach of a test."""

    def __init__(self) -> None:
        self.version = 100
        self.pods: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, bytes]] = []
        self.forgotten = 0
        self.requests: list[Request] = []
        self.changed = asyncio.Event()

    def put(self, name: str, *, uid: str = "", **more: Any) -> None:
        kind = "MODIFIED" if name in self.pods and not uid else "ADDED"
        self.version += 1
        before = self.pods.get(name, {"metadata": {"uid": f"uid-{name}"}})
        meta = {"name": name, "namespace": "default", "uid": uid or before["metadata"]["uid"]}
        self.pods[name] = {"metadata": {**meta, "resourceVersion": str(self.version)}, **more}
        self._tell(kind, self.pods[name])

    def delete(self, name: str) -> None:
        self.version += 1
        gone = self.pods.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", gone)

    def bookmark(self) -> None:
        self.version += 1
        self._tell("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """What compaction does: no watch can start before now."""
        self.forgotten = self.version
        self.history.clear()

    def _tell(self, kind: str, item: dict[str, Any]) -> None:
        self.history.append((self.version, json.dumps({"type": kind, "object": item}).encode() + b"\n"))
        self.changed.set()
        self.changed = asyncio.Event()

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        query = dict(request.query)
        if "watch" not in query:
            return self.list_answer(query)
        begin = int(query["resourceVersion"])
        if begin < self.forgotten:
            return answer(410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})
        if begin > self.version:
            causes = {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1}
            return answer(504, {"kind": "Status", "code": 504, "reason": "Timeout", "details": causes})
        return Response(200, {}, self._stream(begin, float(query["timeoutSeconds"])))

    def list_answer(self, query: Mapping[str, str]) -> Response:
        limit = int(query.get("limit", "0")) or len(self.pods)
        offset, version = map(int, query.get("continue", f"0 {self.version}").split())
        if version < self.forgotten:
            return answer(410, {"kind": "Status", "code": 410, "reason": "Expired", "message": "continue expired"})
        names = sorted(self.pods)
        meta = {"resourceVersion": str(version)}
        if offset + limit < len(names):
            meta["continue"] = f"{offset + limit} {version}"
        return answer(200, {"metadata": meta, "items": [self.pods[name] for name in names[offset : offset + limit]]})

    async def _stream(self, position: int, seconds: float) -> AsyncGenerator[bytes, None]:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    news = [(version, line) for version, line in self.history if version > position]
                    for version, line in news:
                        position = version
                        yield line
                    if not news:
                        await self.changed.wait()
        except TimeoutError:
            return

    @property
    def lists(self) -> list[Request]:
        return [request for request in self.requests if "watch" not in dict(request.query)]

    @property
    def watches(self) -> list[Request]:
        return [request for request in self.requests if "watch" in dict(request.query)]


def answer(status: int, body: dict[str, Any]) -> Response:
    async def once() -> AsyncIterator[bytes]:
        yield json.dumps(body).encode()

    return Response(status, {}, once())


class World:
    """An API, a reflector on it, and all it said."""

    def __init__(self, *rules: Rule, page_size: int = 500, **options: Any) -> None:
        loop = VirtualLoop.running()
        self.clock = loop.clock
        self.api = TinyApi()
        self.transport = FaultyTransport(self.api, Plan(rules), self.clock, Entropy(3))
        scope = Scope("default", page_size=page_size)
        client = KubeClient(self.transport)
        self.reflector = Reflector(client, PODS, clock=self.clock, entropy=Entropy(4), scope=scope, **options)
        self.changes: list[tuple[str, str]] = []
        self.reflector.subscribe(self._note)

    def _note(self, change: Change[Any]) -> None:
        self.changes.append((change.kind, change.latest.metadata.name))

    @property
    def held(self) -> dict[str, str]:
        return {item.metadata.name: item.metadata.resource_version for item in self.reflector.cache.values()}

    @property
    def true(self) -> dict[str, str]:
        return {name: item["metadata"]["resourceVersion"] for name, item in self.api.pods.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["World"]:
        running = asyncio.create_task(self.reflector.run())
        try:
            yield self
        finally:
            running.cancel()
            await asyncio.wait((running,))
            assert running.cancelled(), running.exception()

    @asynccontextmanager
    async def synced(self) -> AsyncIterator["World"]:
        async with self.running():
            await self.reflector.wait_synced()
            await self.clock.sleep(1)
            yield self
