"""Objects as controllers find them, with status, for tables of pure decisions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hawser.views.base import format_time

Object = dict[str, Any]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def a_pod(
    name: str,
    phase: str = "Running",
    *,
    ready: bool | None = None,
    age: float = 60.0,
    node: str = "a",
    terminating: bool = False,
    **metadata: Any,
) -> Object:
    """A pod of one container; running pods are ready unless told otherwise."""
    is_ready = phase == "Running" if ready is None else ready
    meta: Object = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": ago(age)}
    if terminating:
        meta |= {"deletionTimestamp": ago(0), "deletionGracePeriodSeconds": 30}
    ready_condition = {"type": "Ready", "status": "True" if is_ready else "False", "lastTransitionTime": ago(30)}
    return {
        "metadata": {**meta, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "main"}]} if node else {"containers": [{"name": "main"}]},
        "status": {
            "phase": phase,
            "conditions": [ready_condition],
            "containerStatuses": [{"name": "main", "restartCount": 0, "state": {}}],
        },
    }


def ready_for(pod: Object, seconds: float) -> Object:
    """The pod, ready or not since then."""
    pod["status"]["conditions"][0]["lastTransitionTime"] = ago(seconds)
    return pod


def restarted(pod: Object, times: int) -> Object:
    pod["status"]["containerStatuses"][0]["restartCount"] = times
    return pod


def ended(pod: Object, seconds: float) -> Object:
    """The pod, its container over since then."""
    pod["status"]["containerStatuses"][0]["state"] = {"terminated": {"finishedAt": ago(seconds), "exitCode": 1}}
    return pod


def names(pods: Any) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]


def a_node(name: str = "n", ready: str = "True", zone: str = "", **spec: Any) -> Object:
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": ago(500),
            "labels": {"topology.kubernetes.io/zone": zone} if zone else {},
        },
        "spec": spec,
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": ago(60)}] if ready else []},
    }
