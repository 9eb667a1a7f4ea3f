"""The demo of `mooring up`: system and work nodes as after a split of node pools, two pools of workers, a service."""

import sys
from typing import Any

from mooring.kube.client import KubeClient
from mooring.kube.errors import AlreadyExists
from mooring.kube.resources import MANAGEDSERVICES, NAMESPACES, WORKERPOOLS
from mooring.model.names import API_VERSION
from mooring.sandbox.actors.kubelet.machine import NodeTemplate

SYSTEM_NODES = 2
WORK_NODES = 10
HEALTH_PORT = 8000
SERVICE_PORT = 8080


def demo_nodes() -> dict[str, NodeTemplate]:
    """Two nodes for the cluster's own parts, ten for work."""
    system = NodeTemplate(
        labels={"node-role.kubernetes.io/control-plane": ""},
        taints=({"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"},),
    )
    work = NodeTemplate(
        labels={"workload": "blast"}, taints=({"key": "workload", "value": "blast", "effect": "NoSchedule"},)
    )
    nodes = {f"system-{number}": system for number in range(1, SYSTEM_NODES + 1)}
    return nodes | {f"work-{number:02}": work for number in range(1, WORK_NODES + 1)}


async def start_demo(client: KubeClient) -> None:
    """Make what is missing; what somebody changed since the last start stays as it is."""
    for namespace in ("runners", "queries", "harbour"):
        await _ensure(client, NAMESPACES, {"metadata": {"name": namespace}}, None)
    await _ensure(client, WORKERPOOLS, _pool("runners", "linux", warm=8, most=20), "runners")
    await _ensure(client, WORKERPOOLS, _pool("queries", "duck", warm=4, most=10, slots=4, reuse="Always"), "queries")
    await _ensure(client, MANAGEDSERVICES, _service("harbour", "tides"), "harbour")


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
