"""The demo fleet of `mooring up`: worker pools, a service, and a search over a dataset in shards."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from hawser.client import KubeClient
from hawser.errors import AlreadyExists
from hawser.resources import NAMESPACES
from mooring.demo.search import Search, prepare
from mooring.kinds.resources import MANAGEDSERVICES, SUBMISSIONS, WARMUPS, WORKERPOOLS
from mooring.model.names import API_VERSION
from mooring.model.submission import name_for

HEALTH_PORT = 8000
SERVICE_PORT = 8080
TIDAL_DEMAND = {"wait": "1s", "percentile": 95, "min": 1, "max": 6, "scaleDownAfter": "60s"}


async def start_demo(client: KubeClient, folder: Path) -> None:
    """Create the objects of the demo that do not exist. Existing objects are not changed."""
    for namespace in ("runners", "queries", "harbour", "search"):
        await _ensure(client, NAMESPACES, {"metadata": {"name": namespace}}, None)
    await _ensure(client, WORKERPOOLS, _pool("runners", "linux", warm=8, most=20), "runners")
    await _ensure(client, WORKERPOOLS, _pool("queries", "duck", warm=4, most=10, slots=4, reuse="Always"), "queries")
    await _ensure(client, MANAGEDSERVICES, _service("harbour", "tides"), "harbour")
    await _start_search(client, Search("search", "harbour-log", "/var/lib/search", folder / "search"))


async def _start_search(client: KubeClient, search: Search) -> None:
    """A dataset in shards that is warmed on the work nodes, and a search that waits until they are warm."""
    prepared = await asyncio.to_thread(prepare, search)
    search.results.mkdir(parents=True, exist_ok=True)
    await _ensure(client, WARMUPS, prepared.warmup, search.namespace)
    key = "first-search"
    body = {"metadata": {"name": name_for(key)}, "spec": search.submission_spec(key, prepared.batches)}
    await _ensure(client, SUBMISSIONS, body, search.namespace)


async def start_busy_pools(client: KubeClient) -> None:
    """The pools that the traffic of the demo uses: one to connect to, one whose runners poll, one with demand."""
    await _ensure(client, NAMESPACES, {"metadata": {"name": "builds"}}, None)
    await _ensure(client, WORKERPOOLS, _pool("builds", "previews", warm=4, most=8, reuse="Always"), "builds")
    await _ensure(client, WORKERPOOLS, _runners("builds", "jobs", warm=2, most=4), "builds")
    await _ensure(client, WORKERPOOLS, _elastic("builds", "sessions", most=10), "builds")


def _elastic(namespace: str, name: str, *, most: int) -> dict[str, Any]:
    """Single-use workers whose number follows the rhythm of the traffic."""
    body = _pool(namespace, name, warm=0, most=most)
    spec = {field: value for field, value in body["spec"].items() if field != "warm"}
    return {**body, "spec": {**spec, "demand": TIDAL_DEMAND}}


def _runners(namespace: str, name: str, *, warm: int, most: int) -> dict[str, Any]:
    """Workers that fetch a command, run it and exit."""
    body = _pool(namespace, name, warm=warm, most=most)
    spec = body["spec"]
    spec["template"]["spec"]["containers"][0]["command"] = [
        *(sys.executable, "-m", "mooring.client.worker"),
        *("--port", str(HEALTH_PORT)),
    ]
    return {**body, "spec": {**spec, "dispatch": "Poll", "serviceAccount": "PerWorker"}}


async def _ensure(client: KubeClient, resource: Any, body: dict[str, Any], namespace: str | None) -> None:
    try:
        await client.create(resource, {"apiVersion": resource.api_version, "kind": resource.kind, **body}, namespace)
    except AlreadyExists:
        return


def _pool(namespace: str, name: str, *, warm: int, most: int, slots: int = 1, reuse: str = "Never") -> dict[str, Any]:
    container = {
        "name": "worker",
        "image": "mooring/worker",
        "command": [sys.executable, "-m", "mooring.client.health", "--port", str(HEALTH_PORT)],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "250m", "memory": "256Mi"}},
    }
    spec = {
        "warm": warm,
        "max": most,
        "slots": slots,
        "reuse": reuse,
        "placement": {"nodePool": "blast"},
        "health": {"port": HEALTH_PORT},
        "protection": {"graceSeconds": 30},
        "template": {"spec": {"automountServiceAccountToken": False, "containers": [container]}},
    }
    return {"apiVersion": API_VERSION, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _service(namespace: str, name: str) -> dict[str, Any]:
    spec = {
        "image": "mooring/tides",
        "command": [sys.executable, "-m", "mooring.demo.tides", "--port", str(SERVICE_PORT)],
        "port": SERVICE_PORT,
        "placement": {"nodePool": "blast"},
    }
    return {"apiVersion": API_VERSION, "metadata": {"name": name, "namespace": namespace}, "spec": spec}
