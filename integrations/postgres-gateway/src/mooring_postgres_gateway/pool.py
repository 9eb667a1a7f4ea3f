"""The WorkerPool of query workers: one session each, reused, health-checked, protected while busy."""

import sys
from collections.abc import Sequence
from typing import Any

SQL_PORT, HEALTH_PORT = 5432, 8000


def pool_spec(public_key: str, arguments: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    """`spec` of a WorkerPool whose workers believe this public key; they are local processes of this Python."""
    fields = {"POD_IP": "status.podIP", "POD_UID": "metadata.uid"}
    container = {
        "name": "duckdb",
        "image": "mooring/postgres-gateway-worker",
        "command": [sys.executable, "-m", "mooring_postgres_gateway.worker", *arguments],
        "env": [
            {"name": "MOORING_GATEWAY_KEY", "value": public_key},
            *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()),
        ],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": HEALTH_PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }
    return {
        "warm": 2,
        "max": 6,
        "slots": 1,
        "reuse": "Always",
        "health": {"port": HEALTH_PORT},
        "protection": {"ceilingSeconds": 600, "graceSeconds": 30},
        "template": {"spec": {"automountServiceAccountToken": False, "containers": [container]}},
        **changes,
    }


def pool_manifest(namespace: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The whole object, for `kubectl apply -f -`."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "mooring.dev/v1alpha1", "kind": "WorkerPool", "metadata": metadata, "spec": spec}
