"""Services that tests make for themselves in a running Mooring, and the fixes they print, run by a shell."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from packages.mooring.tests.acceptance.world import Up, until
from packages.mooring.tests.requirements import require_kubectl

ODD = [sys.executable, str(Path(__file__).with_name("odd_service.py"))]
PLACED = {"nodePool": "blast"}


def service_body(namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    """Like the demo's, but odd."""
    whole = {"image": "odd:1", "command": ODD, "port": 8080, "placement": PLACED, **spec}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "mooring.dev/v1alpha1", "kind": "ManagedService", "metadata": metadata, "spec": whole}


def read_service(up: Up, key: str) -> dict[str, Any]:
    return dict(up.get(f"/v1/services/{key}"))


def until_code(up: Up, key: str, code: str, within: float = 90.0) -> dict[str, Any]:
    """Wait until the service says that; answers its status."""
    last: dict[str, Any] = {}

    def said() -> dict[str, Any]:
        nonlocal last
        last = read_service(up, key)
        return last if last["why"]["code"] == code else {}

    try:
        return dict(until(said, within, code, every=0.5)["status"])
    except AssertionError as error:
        raise AssertionError(f"{key}: {error}; it says {json.dumps(last['status'], indent=1)}") from None


def run_fix(up: Up, fix: str) -> None:
    """As somebody would who pastes it into a shell."""
    path = f"{Path(require_kubectl()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(up.kubeconfig), "PATH": path, "HOME": str(up.home)}
    done = subprocess.run(
        ["bash", "-euc", fix], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{fix}: {done.stderr}"
