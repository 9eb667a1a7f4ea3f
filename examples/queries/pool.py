"""The pool of query workers: four sessions each, reused, health-checked, protected while busy."""

import sys
from pathlib import Path
from typing import Any

PORT = 8000
NAMESPACE, NAME = "queries", "duckdb"


def pool_spec(**changes: Any) -> dict[str, Any]:
    """`spec` of the WorkerPool; the workers are local processes of this Python."""
    container = {
        "name": "duckdb",
        "image": "mooring/duckdb",
        "command": [sys.executable, str(Path(__file__).with_name("worker.py")), "--port", str(PORT)],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
    }
    return {
        "warm": 2,
        "max": 6,
        "slots": 4,
        "reuse": "Always",
        "health": {"port": PORT},
        "protection": {"ceilingSeconds": 600, "graceSeconds": 30},
        "template": {"spec": {"automountServiceAccountToken": False, "containers": [container]}},
        **changes,
    }


def pool_manifest(**changes: Any) -> dict[str, Any]:
    """The whole object, for `kubectl apply -f -`."""
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return {
        "apiVersion": "mooring.dev/v1alpha1",
        "kind": "WorkerPool",
        "metadata": metadata,
        "spec": pool_spec(**changes),
    }
