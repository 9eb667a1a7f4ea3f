"""Secrets go in by every way that callers have, and come out only where they belong: at the worker that gets them."""

import asyncio
import json
import logging
import re
import warnings
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import structlog
from litestar.exceptions import LitestarDeprecationWarning
from prometheus_client import generate_latest

from hawser.resources import EVENTS
from mooring.api.access.control import AccessOptions, build_access
from mooring.api.limits import LimitOptions, Limits
from mooring.api.server import build_api
from mooring.cli.launch.process import api_parts
from mooring.controllers.claims.mint import MintFailed
from mooring.dashboard.live import LiveViews
from mooring.dashboard.pages import build_pages
from mooring.incidents.fakes import Mint
from mooring.ledger.records import AuditFilter
from mooring.queries.events import EventHub
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica

TOKEN = "canary-token-Qx7"
CANARY = re.compile(r"canary-[a-z]+-Qx7")
PAGES = [
    "/", "/?view=table", "/audit", "/audit.json", "/claims", "/invariants", "/warmups", "/submissions", "/services",
    "/doctor", "/metrics", "/docs", "/v1/workers", "/v1/claims", "/v1/nodes", "/v1/audit", "/v1/invariants",
    "/v1/doctor", f"/workers/{NAMESPACE}/linux-0", f"/v1/workers/{NAMESPACE}/linux-0", "/nope?token=canary-url-Qx7",
    f"/v1/explain/pods/{NAMESPACE}/linux-0", "/v1/drain-check/node-1",
]  # fmt: skip


class LeakyMint(Mint):
    """Answers with a secret; fails with one in its words."""

    async def mint(self, pool: Any, claim: Any) -> dict[str, Any] | None:
        if self.failing:
            self.failing -= 1
            raise MintFailed("the mint answered 500")
        return {"secret": "canary-mint-Qx7"}


@dataclass
class Caller:
    """Requests to the application without a network."""

    app: Any
    seen: list[str] = field(default_factory=list)

    async def ask(self, method: str, target: str, body: object = None, token: str = TOKEN) -> tuple[int, str]:
        parts, sent = urlsplit(target), json.dumps(body).encode() if body is not None else b""
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": parts.path, "raw_path": parts.path.encode(), "query_string": parts.query.encode(), "root_path": "",
            "headers": [
                (b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode()),
                (b"x-secret", b"canary-header-Qx7"), (b"content-type", b"application/json"),
            ],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {}, "extensions": {},
        }  # fmt: skip
        messages = [{"type": "http.request", "body": sent, "more_body": False}]
        answer: list[bytes] = []
        status = 0

        async def receive() -> Any:
            if messages:
                return messages.pop(0)
            return await asyncio.get_running_loop().create_future()

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            answer.append(message.get("body", b""))

        await self.app(scope, receive, send)
        return status, b"".join(answer).decode("utf-8", "replace")


def build(world: Harbour, replica: Replica) -> Caller:
    hub = EventHub(world.clock)
    client = replica.mooring.context.client
    access = build_access(AccessOptions(TOKEN), client, replica.ledger.sessions, world.clock, world.entropy)
    parts = api_parts(replica.mooring, world.clock, hub, access, Limits(LimitOptions(), world.clock))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        return Caller(build_api(parts, build_pages(LiveViews(hub, replica.mooring.queries, world.clock))))


async def put_secrets_in(world: Harbour, caller: Caller) -> None:
    """By every way in."""
    variables = [{"name": "DB_PASSWORD", "value": "canary-env-Qx7"}]
    container = {"name": "main", "image": "worker", "env": variables, "args": ["--api-key", "canary-args-Qx7"]}
    mint = {
        "url": "https://mint.example.com/x?key=canary-url-Qx7",
        "revokeURL": "https://mint.example.com/r?k=canary-url-Qx7",
    }
    template = {"spec": {"containers": [container]}}
    await world.pool(warm=2, max=4, reuse="Always", mint=mint, template=template)
    await world.until_idle(2)
    claims = f"/v1/pools/{NAMESPACE}/linux/claims"
    body = {"owner": "acme", "payload": {"password": "canary-payload-Qx7"}}
    status, text = await caller.ask("POST", claims, body)
    assert status == 201 and "canary-payload-Qx7" in text and "canary-mint-Qx7" in text, "the holder gets both"
    held = json.loads(text)
    world.mint.failing = 1
    assert (await caller.ask("POST", claims, body))[0] == 502
    for token in ("canary-wrong-Qx7", "", "eyJhbGciOiJSUzI1NiJ9.canary-wrong-Qx7.x"):
        assert (await caller.ask("GET", "/v1/pools", token=token))[0] == 401
        assert (await caller.ask("POST", "/v1/dispatch", {"wait": 0}, token=token))[0] in (401, 403)
    broken = {"owner": "acme", "payload": "canary-payload-Qx7", "ttlSeconds": "canary-payload-Qx7"}
    assert (await caller.ask("POST", claims, broken))[0] == 400
    assert (await caller.ask("DELETE", f"/v1/claims/{held['id']}?reason=token=canary-reason-Qx7"))[0] in (200, 204)
    submission = {
        "namespace": NAMESPACE, "key": "k", "program": "blastn", "env": variables, "image": "blast",
        "batches": [{"name": "a", "args": ["--password", "canary-args-Qx7"]}], "reason": "password=canary-reason-Qx7",
    }  # fmt: skip
    answer = await caller.ask("POST", "/v1/submissions", submission)
    assert answer[0] == 201, answer
    service = {"image": "web", "port": 80, "env": variables, "args": ["--token=canary-args-Qx7"]}
    answer = await caller.ask("PUT", f"/v1/services/{NAMESPACE}/web?reason=secret%3Dcanary-reason-Qx7", service)
    assert answer[0] in (200, 201), answer


async def test_no_secret_comes_out_where_it_does_not_belong(world: Harbour, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world.mint = LeakyMint()
    replica = world.start()
    caller = build(world, replica)
    with structlog.testing.capture_logs() as logs:
        await put_secrets_in(world, caller)
        await world.clock.sleep(120)
        answers = {path: await caller.ask("GET", path) for path in PAGES}
    events = (await world.client.list(EVENTS.raw())).items
    trail = await world.ledger.audit.list(AuditFilter(), limit=1000)
    assert {path for path, (status, _) in answers.items() if status != 200} == {"/nope?token=canary-url-Qx7"}
    out = {path: text for path, (_, text) in answers.items()}
    assert len(trail.items) >= 2 and events and logs
    out["logs"] = repr(logs) + caplog.text
    out["events"] = repr([(event.get("message"), event.get("note"), event.get("reason")) for event in events])
    out["audit"] = repr(trail.items)
    out["metrics"] = generate_latest().decode()
    found = {place: sorted(set(CANARY.findall(text))) for place, text in out.items() if CANARY.search(text)}
    assert found == {}
