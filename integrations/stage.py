"""What the demos of the integrations do with a `mooring up`: make a pool, wait until it is warm, drain, remove."""

import asyncio
import base64
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from hawser.errors import EvictionBlocked, ObjectNotFound, TooManyRequests
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, NODES, PODS, SECRETS
from mooring import Mooring
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.names import API_VERSION, POOL

LOOK_SECONDS = 0.2
FIELD_MANAGER = "mooring-demo"


def run_demo(work: Coroutine[Any, Any, int]) -> int:
    """As `asyncio.run`; SIGTERM ends the demo as Ctrl-C does, so that nothing it started is left."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script in the background ignores it
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    return asyncio.run(work)


class Stage:
    """One pool on the cluster of a state folder."""

    def __init__(self, state: Path, pool: str) -> None:
        self.state = state
        self.pool = pool
        self._namespace, _, self._name = pool.partition("/")
        self.mooring = Mooring(state=state)
        self.refused: list[str] = []  # evictions that a disruption budget did not allow

    async def make(self, spec: dict[str, Any]) -> None:
        """Create the namespace and the pool, like kubectl apply; wait until `warm` workers are idle."""
        manifest = {"apiVersion": API_VERSION, "kind": "WorkerPool", "metadata": {"name": self._name}, "spec": spec}
        async with self._client() as client:
            await self._make_namespace(client)
            await client.apply(WORKERPOOLS, manifest, self._namespace, field_manager=FIELD_MANAGER)
        await self.until_idle(spec["warm"])

    async def put_secret(self, name: str, values: dict[str, str]) -> None:
        """A Secret in the namespace of the pool, for its mint."""
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        async with self._client() as client:
            await self._make_namespace(client)
            await client.apply(SECRETS, manifest, self._namespace, field_manager=FIELD_MANAGER)

    async def _make_namespace(self, client: KubeClient) -> None:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        await client.apply(NAMESPACES, namespace, field_manager=FIELD_MANAGER)

    async def until_idle(self, workers: int, seconds: float = 120) -> None:
        """Wait until so many workers are idle."""
        async with asyncio.timeout(seconds):
            while not any(
                f"{pool.namespace}/{pool.name}" == self.pool and pool.idle >= workers
                for pool in await asyncio.to_thread(self.mooring.pools, self._namespace)
            ):
                await asyncio.sleep(LOOK_SECONDS)

    async def remove(self, seconds: float = 60) -> dict[str, int]:
        """Delete the pool; what is left of it, after this many seconds at most."""
        async with self._client() as client:
            try:
                await client.delete(WORKERPOOLS, self._name, self._namespace)
            except ObjectNotFound:
                return {}
            for _ in range(round(seconds / LOOK_SECONDS)):
                pods = (await client.list(PODS, self._namespace, label_selector=f"{POOL}={self._name}")).items
                claims = await asyncio.to_thread(self.mooring.claims, self.pool)
                left = {"pods": len(pods), "claims": len(claims)}
                if not any(left.values()):
                    break
                await asyncio.sleep(LOOK_SECONDS)
            return left

    async def node_of(self, worker: str) -> str:
        """Where a worker runs."""
        async with self._client() as client:
            return (await client.get(PODS, worker, self._namespace)).spec.node_name

    async def drain(self, node: str) -> None:
        """As `kubectl drain`: cordon, evict every worker of the pool, and wait until they are gone."""
        async with self._client() as client:
            await client.merge_patch(NODES, node, {"spec": {"unschedulable": True}})
            while pods := await self._pods_on(client, node):
                for pod in pods:
                    try:
                        await client.evict(pod.metadata.name, self._namespace)
                    except (EvictionBlocked, TooManyRequests) as refusal:
                        self.refused.append(f"{pod.metadata.name}: {refusal}")
                    except ObjectNotFound:
                        continue
                await asyncio.sleep(LOOK_SECONDS)

    async def uncordon(self, node: str) -> None:
        """Back to work."""
        async with self._client() as client:
            await client.merge_patch(NODES, node, {"spec": {"unschedulable": None}})

    async def _pods_on(self, client: KubeClient, node: str) -> list[Any]:
        pods = (await client.list(PODS, self._namespace, label_selector=f"{POOL}={self._name}")).items
        return [pod for pod in pods if pod.spec.node_name == node]

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[KubeClient]:
        connection = await connect(load_kubeconfig(self.state / "kubeconfig").target(""), SystemClock())
        try:
            yield KubeClient(connection)
        finally:
            await connection.close()


def polling_pool(command: list[str], warm: int, most: int, **changes: Any) -> dict[str, Any]:
    """`spec` of a pool whose workers are processes that poll: one session each, then replaced."""
    container = {
        "name": "worker",
        "image": "example/worker",
        "command": command,
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8000}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    return {
        "warm": warm,
        "max": most,
        "reuse": "Never",
        "dispatch": "Poll",
        "template": {"spec": {"containers": [container]}},
        **changes,
    }
