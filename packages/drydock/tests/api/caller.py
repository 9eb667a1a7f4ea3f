"""Talks to drydock's API server in the same process, the way the tests like it: dicts in, dicts out."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from drydock.api.access.identity import User
from drydock.api.server import ADMIN, ApiServer
from drydock.virtual.loop import VirtualLoop
from hawser.clock import Entropy
from hawser.transport import Request, Response

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TOKENS = {"admin-token": ADMIN, "alice-token": User("alice", ("devs",), uid="alice-uid")}
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        decoded: dict[str, Any] = msgspec.json.decode(self.raw)
        return decoded

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def meta(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.body["metadata"]
        return metadata

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


@dataclass
class Caller:
    """One user of one server."""

    api: ApiServer
    token: str = "admin-token"
    headers: dict[str, str] = field(default_factory=dict)

    async def __call__(
        self, method: str, path: str, body: Any = None, *, type: str = "application/json", **headers: str
    ) -> Answer:
        response = await self.open(method, path, body, type=type, **headers)
        return Answer(response.status, dict(response.headers), await response.read())

    async def open(
        self, method: str, path: str, body: Any = None, *, type: str = "application/json", **headers: str
    ) -> Response:
        """The answer before its body has been read."""
        path, _, query = path.partition("?")
        pairs = tuple((key, value) for key, _, value in (part.partition("=") for part in query.split("&") if part))
        sent = {"authorization": f"Bearer {self.token}"} if self.token else {}
        sent |= {"user-agent": "tests/1.0", **self.headers, **headers}
        encoded = None
        if body is not None:
            sent["content-type"] = type
            encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return await self.api.handle(Request(method, path, pairs, sent, encoded))

    async def get(self, path: str, **headers: str) -> Answer:
        return await self("GET", path, **headers)

    async def post(self, path: str, body: Any, **headers: str) -> Answer:
        return await self("POST", path, body, **headers)

    async def put(self, path: str, body: Any) -> Answer:
        return await self("PUT", path, body)

    async def patch(self, path: str, body: Any, type: str = MERGE) -> Answer:
        return await self("PATCH", path, body, type=type)

    async def delete(self, path: str, body: Any = None) -> Answer:
        return await self("DELETE", path, body)

    async def configmap(self, name: str, **metadata: Any) -> Answer:
        answer = await self.post(CONFIGMAPS, {"metadata": {"name": name, **metadata}})
        assert answer.status == 201, answer.raw
        return answer

    async def pod(self, name: str, *, node: str = "", spec: dict[str, Any] | None = None, **metadata: Any) -> Answer:
        body = pod(name, node=node, spec=spec, **metadata)
        answer = await self.post(PODS, body)
        assert answer.status == 201, answer.raw
        return answer


def pod(name: str, *, node: str = "", spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """A pod of one container, on a node if one is named."""
    body: dict[str, Any] = {"containers": [{"name": "main", "image": "busybox"}], **(spec or {})}
    if node:
        body["nodeName"] = node
    return {"metadata": {"name": name, **metadata}, "spec": body}


def server(**options: Any) -> ApiServer:
    """A fresh server in the running virtual loop."""
    return ApiServer(VirtualLoop.running().clock, Entropy(7), tokens=TOKENS, **options)


def caller(**options: Any) -> Caller:
    """An administrator at a fresh server."""
    return Caller(server(**options))


async def events(response: Response) -> AsyncIterator[dict[str, Any]]:
    """The events of a watch, one by one."""
    rest = b""
    async for chunk in response:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield msgspec.json.decode(line)
    assert not rest


async def all_events(response: Response) -> list[dict[str, Any]]:
    """All events of a watch that ends."""
    return [event async for event in events(response)]


def told(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Events as type and name."""
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in found]
