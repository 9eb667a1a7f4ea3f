"""A whole Mooring behind a real loopback port, in one thread: sandbox, ledger in memory, control plane, API."""

import asyncio
import contextlib
import itertools
import socket
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from litestar.exceptions import LitestarDeprecationWarning

from drydock import Cluster, plain_nodes, virtual_cluster
from hawser.client import KubeClient
from hawser.clock import Clock, Entropy, SystemClock
from hawser.resources import NAMESPACES, PODS, SERVICEACCOUNTS
from mooring.api.access.control import AccessOptions, build_access
from mooring.api.hosting import HttpHost, bind
from mooring.api.limits import LimitOptions, Limits
from mooring.api.server import build_api
from mooring.app import Adapters, Dependencies, Mooring, ReplicaOptions
from mooring.cli.launch.process import api_parts
from mooring.controllers.activity import PolledActivity
from mooring.controllers.pools.probe import HttpProbe
from mooring.engine.own_api import HttpOwnApi
from mooring.incidents.documents import StagedDocuments
from mooring.kinds.installation import install_crds
from mooring.kinds.resources import WORKERPOOLS
from mooring.ledger.faults import Fault, FaultyLedger, LedgerCall, Script
from mooring.ledger.port import Ledger
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.claim import EndCause, NewClaim, WorkerSlot
from mooring.model.claim_request import ClaimRequest
from mooring.model.timeouts import Timeouts
from mooring.planning.destinations import THIS_MACHINE
from mooring.queries.events import EventHub

NAMESPACE = "runners"
TOKEN = "a-token-for-tests"


Cluster = Callable[[Clock, Entropy], AbstractAsyncContextManager[Cluster]]


def simulated(clock: Clock, entropy: Entropy) -> AbstractAsyncContextManager[Cluster]:
    """Pods that only look as if they ran."""
    return virtual_cluster(clock, entropy, plain_nodes(2))


OpenLedger = Callable[[], Awaitable[Ledger]]


class NoMint:
    """No pool of these tests has one."""

    async def mint(self, pool: Any, claim: Any) -> None:
        return None

    async def revoke(self, mint: Any, claim: Any) -> None:
        return None

    async def refusal(self, url: str) -> str:
        return ""


class Dock:
    """The world, and blocking hands to move it with."""

    def __init__(
        self, cluster: Cluster = simulated, timeouts: Timeouts = Timeouts(), ledger: OpenLedger | None = None
    ) -> None:
        self._cluster = cluster
        self._open_ledger = ledger
        self._timeouts = timeouts
        self.fault: Callable[[LedgerCall], Fault] = lambda _: Fault.NONE
        self.limits = LimitOptions()
        self.listener = bind("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.sandbox: Cluster
        self.clock: Clock = SystemClock()
        self.entropy = Entropy()
        self.client: KubeClient
        self.mooring: Mooring
        self.ledger: Ledger
        self._numbers = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)

    def __enter__(self) -> "Dock":
        self._thread.start()
        assert self._ready.wait(60), "the dock did not open"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()
        self._loop.close()
        self.listener.close()

    def call(self, coroutine: Any) -> Any:
        """Run it where the world lives."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    def call_long(self, coroutine: Any) -> Any:
        """The same, for what takes its time."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(900)

    @contextlib.contextmanager
    def paused(self, rule: str) -> Iterator[None]:
        """With one rule switched off."""
        self.call(self.mooring.switches.pause(rule, actor="test", reason="shows what happens without"))
        try:
            yield
        finally:
            self.call(self.mooring.switches.resume(rule, actor="test"))

    def pool(self, name: str = "", **spec: Any) -> str:
        """A pool of its own, with its workers idle; answers `namespace/name`."""
        name = name or f"pool-{next(self._numbers)}"
        wanted = {"warm": 1, "max": 1, "reuse": "Always", **spec}
        self.call(self._make_pool(name, wanted))
        return f"{NAMESPACE}/{name}"

    def pods(self, pool: str) -> list[Any]:
        listed = self.call(self.client.list(PODS, NAMESPACE, label_selector=f"mooring.dev/pool={pool.split('/')[1]}"))
        return listed.items

    def worker_token(self, pod_name: str) -> str:
        """A token as a kubelet would project it into the pod."""
        bound = {"apiVersion": "v1", "kind": "Pod", "name": pod_name}
        spec = {"audiences": ["mooring-dispatch"], "expirationSeconds": 3600, "boundObjectRef": bound}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {"name": "default"}}
        asked = self.client.create(SERVICEACCOUNTS.raw(), {**body, "spec": spec}, NAMESPACE, subresource="token")
        return self.call(asked)["status"]["token"]

    def claim(self, claim_id: str) -> Any:
        return self.call(self.ledger.claims.get(claim_id))

    def open_claims(self, pool: str) -> int:
        async def count() -> int:
            counts = await self.ledger.claims.count_by_pool()
            return sum(c.queued + c.claimed + c.running for c in counts if f"{c.namespace}/{c.pool}" == pool)

        return self.call(count())

    def end(self, claim_id: str, cause: EndCause, reason: str) -> None:
        """End a claim behind its holder's back."""

        async def act() -> None:
            claim = await self.ledger.claims.get(claim_id)
            await self.ledger.claims.end(claim_id, claim.epoch, cause, now=SystemClock().now(), reason=reason)

        self.call(act())

    def leave_half_way(self, pool: str, key: str, seconds_ago: float) -> str:
        """A claim as a control plane leaves it that dies between the row and the stamp; answers its id."""
        namespace, name = pool.split("/")
        pod = self.pods(pool)[0].metadata
        wish = ClaimRequest("acme", idempotency_key=key)
        new = NewClaim(
            id=self.entropy.uuid(),
            namespace=namespace,
            pool=name,
            owner=wish.owner,
            ttl_seconds=wish.ttl_seconds,
            idempotency_key=key,
            request_hash=wish.fingerprint(pool),
        )
        now = self.clock.now() - timedelta(seconds=seconds_ago)
        inserted = self.call(self.ledger.claims.insert_claimed(new, WorkerSlot(pod.name, pod.uid), now=now))
        return str(inserted.require().id)

    async def _make_pool(self, name: str, spec: dict[str, Any]) -> None:
        template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
        body = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "metadata": {"name": name}}
        await self.client.create(WORKERPOOLS, {**body, "spec": {"template": template, **spec}}, NAMESPACE)
        for _ in range(400):
            status = (await self.client.get(WORKERPOOLS.raw(), name, NAMESPACE)).get("status") or {}
            if status.get("idle", -1) == spec["warm"]:
                for worker in self.mooring.fleet.workers(f"{NAMESPACE}/{name}"):
                    await self.mooring.polls.record(worker)  # as an agent that has just started
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"no {spec['warm']} idle workers: {status}")

    async def _serve(self) -> None:
        clock, entropy = self.clock, self.entropy
        async with self._cluster(clock, entropy) as sandbox, asyncio.TaskGroup() as group:
            self.sandbox, self.client = sandbox, sandbox.client
            await install_crds(self.client, clock)
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
            await self.client.create(NAMESPACES, namespace)
            memory = MemoryLedger(MemoryStore(), clock=clock, entropy=entropy)
            self.ledger = await self._open_ledger() if self._open_ledger else memory
            given = Dependencies(
                KubeClient(sandbox.transport),
                FaultyLedger(self.ledger, Script(lambda call: self.fault(call))),
                clock,
                entropy,
                ReplicaOptions("dock", worker_url=self.url),
                Adapters(
                    NoMint(), PolledActivity(clock), StagedDocuments(), HttpProbe(THIS_MACHINE), HttpOwnApi(self.url)
                ),
            )
            self.mooring = Mooring(given, self._timeouts)
            hub = EventHub(clock)
            access = build_access(AccessOptions(TOKEN), given.client, given.ledger.sessions, clock, self.entropy)
            parts = api_parts(self.mooring, clock, hub, access, Limits(self.limits, clock))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LitestarDeprecationWarning)  # of how routes name their parameters
                host = HttpHost(build_api(parts), [self.listener])
            running = [group.create_task(work) for work in (self.mooring.run(), hub.run(), host.run())]
            await self.mooring.wait_synced()
            self._ready.set()
            await self._stop.wait()
            self.mooring.claims.close()
            host.stop()
            await running.pop()
            for task in running:
                task.cancel()
        await self.ledger.close()


@dataclass
class Front:
    """A proxy in front of the dock that loses connections and answers. Every connection carries one request.

    `refuse` connections are closed at once; `hang` requests are kept and go nowhere; the answers of `lose` requests are
    thrown away after they took effect.
    """

    target: str
    refuse: int = 0
    hang: int = 0
    lose: int = 0
    only: bytes = b""  # a piece of the request line: others pass
    closed: bool = False
    seen: list[bytes] = field(default_factory=list)

    def __enter__(self) -> "Front":
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            request = near.recv(65536)
            while request and b"\r\n\r\n" not in request:
                request += near.recv(65536)
            line = request.split(b"\r\n", 1)[0]
            self.seen.append(line)
            concerned = self.only in line
            if self.closed or (concerned and self.refuse > 0):
                self.refuse -= 1
                return
            if concerned and self.hang > 0:
                self.hang -= 1
                while near.recv(65536):
                    pass
                return
            host, port = self.target.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port))) as far:
                far.sendall(request)
                threading.Thread(target=_pump, args=(near, far), daemon=True).start()
                answer = b""
                lost = concerned and self.lose > 0
                self.lose -= lost
                while piece := far.recv(65536):
                    answer += piece
                    if _complete(answer):
                        break
                if not lost:
                    near.sendall(answer)
                near.shutdown(socket.SHUT_RDWR)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)


def _complete(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found or b" 204 " in head[:16]:
        return bool(found)
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return body.endswith(b"0\r\n\r\n")
