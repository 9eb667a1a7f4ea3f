"""The API in front of a replica on a stage, called in the same process: without sockets, so also in virtual time."""

import asyncio
import base64
import contextlib
import json
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from litestar import Litestar
from litestar.exceptions import LitestarDeprecationWarning

from hawser.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, NAMESPACES, ROLEBINDINGS, SERVICEACCOUNTS
from mooring.api.access.control import AccessControl, AccessOptions, build_access
from mooring.api.limits import LimitOptions, Limits
from mooring.api.server import ApiParts, Commands, build_api
from mooring.dashboard.live import LiveViews
from mooring.dashboard.pages import build_pages
from mooring.dashboard.replay_pages import ReplayEntry
from mooring.incidents.replica import Replica
from mooring.incidents.stage import Stage
from mooring.kinds.caller_roles import caller_roles
from mooring.queries.events import EventHub

ADDRESS = "192.0.2.7"
OPERATOR_TOKEN = "the-operators-own-token"
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; of a stream only its beginning."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Replays:
    """One replay that was played already."""

    def entries(self) -> Sequence[ReplayEntry]:
        return [ReplayEntry("node-rotation", "title", "story", ())]

    async def recording(self, name: str) -> bytes:
        return b"{}"


class Front:
    """Sends requests to the application."""

    def __init__(self, app: Litestar, access: AccessControl, hub: EventHub) -> None:
        self.app = app
        self.access = access
        self.hub = hub

    async def call(
        self,
        method: str,
        target: str,
        token: str | None = None,
        body: Any = None,
        headers: Mapping[str, str] = {},
        scheme: str = "http",
    ) -> Answer:
        """One request. `body` is sent as JSON, or as a form if the path is that of an action or a login."""
        parts = urlsplit(target)
        is_form = parts.path.startswith(("/actions/", "/login", "/logout"))
        payload = b"" if body is None else (urlencode(body) if is_form else json.dumps(body)).encode()
        sent = {"host": "mooring.example", "accept": "application/json", **headers}
        if body is not None:
            sent["content-type"] = "application/x-www-form-urlencoded" if is_form else "application/json"
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": scheme,
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
            "client": (ADDRESS, 1234),
            "server": ("mooring.example", 80),
        }
        return await _exchange(self.app, scope, payload)

    async def follow(self, target: str, token: str, seconds: float) -> tuple[bytes, bool]:
        """What a stream sends in this time, and whether the server ended it."""
        received: list[bytes] = []
        complete = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await complete.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            received.append(message.get("body", b""))
            if message["type"] == "http.response.body" and not message.get("more_body"):
                complete.set()

        parts = urlsplit(target)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": parts.path, "raw_path": parts.path.encode(), "root_path": "",
            "query_string": parts.query.encode(), "client": (ADDRESS, 1), "server": ("mooring.example", 80),
            "headers": [(b"host", b"mooring.example"), (b"authorization", f"Bearer {token}".encode())],
        }  # fmt: skip
        task = asyncio.create_task(self.app(scope, receive, send))  # type: ignore[arg-type]
        done, _ = await asyncio.wait({task}, timeout=seconds)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return b"".join(received), bool(done)


async def _exchange(app: Litestar, scope: dict[str, Any], payload: bytes) -> Answer:
    start: dict[str, Any] = {}
    chunks: list[bytes] = []
    enough = asyncio.Event()
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": payload, "more_body": False}
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            chunks.append(message.get("body", b""))
            if not message.get("more_body") or chunks[-1]:
                enough.set()

    task = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]
    waiting = asyncio.create_task(enough.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    if headers.get("content-type", "").startswith("text/event-stream"):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return Answer(start["status"], headers, b"".join(chunks))


@contextlib.asynccontextmanager
async def open_front(
    stage: Stage,
    replica: Replica,
    options: AccessOptions = AccessOptions(OPERATOR_TOKEN),
    limits: LimitOptions = LimitOptions(),
) -> AsyncIterator[Front]:
    """The API and the pages of a replica, with the roles for callers installed."""
    mooring, client = replica.mooring, replica.mooring.context.client
    access = build_access(options, client, replica.ledger.sessions, replica.clock, stage.entropy)
    hub = EventHub(replica.clock)
    mooring.subscribe(hub.publish)
    live = LiveViews(hub, mooring.queries, replica.clock)
    commands = Commands(
        mooring.claims,
        mooring.pools.adoption,
        mooring.invariant_commands,
        mooring.warmups.commands,
        mooring.submissions.commands,
        mooring.services.commands,
        mooring.pools.commands,
    )
    parts = ApiParts(
        mooring.queries, commands, mooring.readiness, hub, access, Limits(limits, replica.clock), replica.clock
    )
    running = [asyncio.create_task(hub.run()), asyncio.create_task(live.run())]
    for role in caller_roles():
        await stage.client.create(CLUSTERROLES, role)
    await mooring.wait_synced()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LitestarDeprecationWarning)
        app = build_api(parts, build_pages(live, Replays()))
    try:
        yield Front(app, access, hub)
    finally:
        for task in running:
            task.cancel()


async def make_namespace(stage: Stage, name: str) -> None:
    """A namespace."""
    await stage.client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def make_account(
    stage: Stage, namespace: str, name: str, role: str = "", everywhere: bool = False, seconds: int = 3600
) -> str:
    """A ServiceAccount with one of the roles, there or everywhere; answers its token."""
    meta = {"name": name, "namespace": namespace}
    await stage.client.create(SERVICEACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    if role:
        binding = {
            "apiVersion": f"{RBAC}/v1",
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
        if everywhere:
            body = {**binding, "kind": "ClusterRoleBinding", "metadata": {"name": f"{namespace}-{name}"}}
            await stage.client.create(CLUSTERROLEBINDINGS, body)
        else:
            body = {**binding, "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace}}
            await stage.client.create(ROLEBINDINGS, body, namespace)
    return await request_token(stage, namespace, name, seconds)


async def request_token(stage: Stage, namespace: str, name: str, seconds: int = 3600, audience: str = "mooring") -> str:
    """A token of a ServiceAccount."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": name},
        "spec": {"audiences": [audience], "expirationSeconds": seconds},
    }
    answer = await stage.client.create(SERVICEACCOUNTS.raw(), body, namespace, subresource="token")
    return str(answer["status"]["token"])


def expired(token: str) -> str:
    """The same token, had it expired long ago."""
    header, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    forged = base64.urlsafe_b64encode(json.dumps({**claims, "exp": 1}).encode()).decode().rstrip("=")
    return f"{header}.{forged}.{signature}"
