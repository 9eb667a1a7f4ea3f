"""The pool of runners: created, watched until it is warm, and removed completely."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.clock import SystemClock
from hawser.connection import connect
from hawser.errors import ObjectNotFound
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import NAMESPACES, PODS, SERVICEACCOUNTS
from mooring.client.connection import Connection
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.names import API_VERSION, POOL

NAMESPACE, NAME = "ci", "runners"
KEY = f"{NAMESPACE}/{NAME}"
RUNNERS = 4
PORT = 8000


def manifest(mint_url: str) -> dict[str, Any]:
    """Four warm runners. The template needs only a command: Mooring's address and a token are added."""
    runner = {
        "name": "runner",
        "image": "example/runner",
        "command": [sys.executable, "-m", "mooring.client.worker", "--port", str(PORT)],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    spec = {
        "warm": RUNNERS,
        "max": RUNNERS,
        "reuse": "Never",  # each runner executes one job and is replaced
        "dispatch": "Poll",
        "serviceAccount": "PerWorker",
        "protection": {"graceSeconds": 5},
        "mint": {"url": mint_url, "timeoutSeconds": 5},
        "template": {"spec": {"containers": [runner]}},
    }
    return {"apiVersion": API_VERSION, "kind": "WorkerPool", "metadata": {"name": NAME}, "spec": spec}


async def make(kubeconfig: Path, mint_url: str) -> None:
    """Create the namespace and the pool, like kubectl apply."""
    async with _client(kubeconfig) as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.apply(NAMESPACES, namespace, field_manager="example")
        await client.apply(WORKERPOOLS, manifest(mint_url), NAMESPACE, field_manager="example")


async def remove(kubeconfig: Path, mooring: Connection, seconds: float = 60) -> dict[str, int]:
    """Delete the pool; what is left of it after this many seconds, or as soon as nothing is."""
    async with _client(kubeconfig) as client:
        try:
            await client.delete(WORKERPOOLS, NAME, NAMESPACE)
        except ObjectNotFound:
            pass
        for _ in range(round(seconds * 2)):
            left = {
                "pods": len((await client.list(PODS, NAMESPACE, label_selector=f"{POOL}={NAME}")).items),
                "accounts": len((await client.list(SERVICEACCOUNTS, NAMESPACE, label_selector=f"{POOL}={NAME}")).items),
                "claims": sum(claim["state"] in ("queued", "claimed", "running") for claim in claims(mooring)),
            }
            if not any(left.values()):
                break
            await asyncio.sleep(0.5)
        return left


async def wait_until_warm(mooring: Connection, seconds: float = 90) -> None:
    """Wait until every runner is idle."""
    for _ in range(round(seconds * 4)):
        pools = {f"{pool['namespace']}/{pool['name']}": pool["status"] for pool in mooring.get("/v1/pools")["items"]}
        if KEY in pools and pools[KEY]["idle"] == RUNNERS:
            return
        await asyncio.sleep(0.25)
    raise TimeoutError(f"{KEY} did not get warm within {seconds} s")


def claims(mooring: Connection) -> list[dict[str, Any]]:
    """Every claim of the pool, also ended ones."""
    return list(mooring.get(f"/v1/claims?pool={KEY}&limit=500")["items"])


@asynccontextmanager
async def _client(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    connection = await connect(load_kubeconfig(kubeconfig).target(""), SystemClock())
    try:
        yield KubeClient(connection)
    finally:
        await connection.close()
