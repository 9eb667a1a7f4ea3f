"""Objects as controllers find them, with status, for tables of pure decisions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mooring.kube.views.base import format_time

Object = dict[str, Any]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def a_pod(
    name: str,
    phase: str = "Running",
    *,
    ready: bool | None = None,
    age: float = 60.0,
    ready_for: float = 30.0,
    node: str = "a",
    restarts: int = 0,
    finished: float | None = None,
    terminating: bool = False,
    owner: str = "",
    **metadata: Any,
) -> Object:
    """A pod of one container; running pods are ready unless told otherwise."""
    is_ready = phase == "Running" if ready is None else ready
    state: Object = {"terminated": {"finishedAt": ago(finished), "exitCode": 1}} if finished is not None else {}
    meta: Object = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": ago(age)}
    if terminating:
        meta |= {"deletionTimestamp": ago(0), "deletionGracePeriodSeconds": 30}
    if owner:
        meta["ownerReferences"] = [{"uid": owner, "kind": "Job", "name": owner, "controller": True}]
    ready_condition = {
        "type": "Ready",
        "status": "True" if is_ready else "False",
        "lastTransitionTime": ago(ready_for),
    }
    return {
        "metadata": {**meta, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "main"}]} if node else {"containers": [{"name": "main"}]},
        "status": {
            "phase": phase,
            "conditions": [ready_condition],
            "containerStatuses": [{"name": "main", "restartCount": restarts, "state": state}],
        },
    }


def names(pods: Any) -> list[str]:
    return [pod["metadata"]["name"] for pod in pods]
