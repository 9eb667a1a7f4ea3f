"""The pool of notebook workers on the sandbox: local processes of this Python, one user's server each."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES
from mooring.client import AsyncMooring
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.names import API_VERSION

NAMESPACE, NAME = "notebooks", "users"
KEY = f"{NAMESPACE}/{NAME}"
WARM = 2
HEALTH_PORT = 8000
WARM_SECONDS = 120.0
_LOOK_SECONDS = 0.25


def manifest(**changes: Any) -> dict[str, Any]:
    """The WorkerPool. `changes` replace fields of its spec."""
    container = {
        "name": "notebook",
        "image": "example/notebook",
        "command": [sys.executable, "-m", "mooring_jupyterhub.agent", "--port", str(HEALTH_PORT)],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
    }
    spec = {
        "warm": WARM,
        "max": 6,
        "dispatch": "Poll",  # the claim hands the server's environment to its own worker, and to no other
        "reuse": "Never",  # nothing of one user is left for the next
        "serviceAccount": "PerWorker",
        "placement": {"tolerations": [{"key": "workload", "operator": "Exists"}]},  # for the nodes of the demo fleet
        "protection": {"ceilingSeconds": 8 * 3600, "graceSeconds": 30},
        "template": {"spec": {"containers": [container]}},
        **changes,
    }
    return {"apiVersion": API_VERSION, "kind": "WorkerPool", "metadata": {"name": NAME}, "spec": spec}


async def make_pool(state: Path, **changes: Any) -> None:
    """Create the namespace and the pool, or change them."""
    async with cluster_client(state / "kubeconfig") as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.apply(NAMESPACES, namespace, field_manager="mooring-jupyterhub")
        await client.apply(WORKERPOOLS, manifest(**changes), NAMESPACE, field_manager="mooring-jupyterhub")


async def wait_warm(state: Path, idle: int = WARM) -> None:
    """Wait until so many workers are idle: their modules are imported."""
    mooring, clock = AsyncMooring(state=state), SystemClock()
    async with asyncio.timeout(WARM_SECONDS):
        while not any(pool.name == NAME and pool.idle >= idle for pool in await mooring.pools(NAMESPACE)):
            await clock.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def cluster_client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    """A client of the sandbox's API server."""
    connection = await connect(load_kubeconfig(kubeconfig).target(""), SystemClock())
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()
