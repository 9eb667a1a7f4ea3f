"""Pools that tests make for themselves, so that the demo fleet stays as everybody expects it."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from packages.mooring.tests.acceptance.world import Up, until

NAMESPACE = "acceptance"
# Where the demo fleet has no workers: whatever happens to these nodes leaves it alone.
PLACEMENT = {
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
}


def pool_body(up: Up, name: str, **changes: Any) -> dict[str, Any]:
    """A pool whose workers start and stop quickly; otherwise like the demo's."""
    spec = copy.deepcopy(up.pool("runners/linux")["spec"])
    spec = {key: value for key, value in spec.items() if value not in (None, "", {"perOwner": None})}
    container = spec["template"]["spec"]["containers"][0]
    container["readinessProbe"]["periodSeconds"] = 1
    container["readinessProbe"]["initialDelaySeconds"] = 2  # pages are drawn once a second: a start has to be seen
    container["resources"]["requests"] = {"cpu": "10m", "memory": "16Mi"}
    spec |= {"warm": 3, "max": 6, "idleSeconds": 1, "placement": PLACEMENT, "protection": {"graceSeconds": 1}}
    spec |= changes
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "mooring.dev/v1alpha1", "kind": "WorkerPool", "metadata": metadata, "spec": spec}


@dataclass(frozen=True, slots=True)
class OwnPool:
    """A pool of a test's own, settled."""

    up: Up
    name: str

    @property
    def key(self) -> str:
        return f"{NAMESPACE}/{self.name}"

    def workers(self) -> list[dict[str, Any]]:
        return self.up.workers(self.key)

    def idle(self) -> dict[str, str]:
        return self.up.idle(self.key)

    def until_settled(self, count: int) -> dict[str, str]:
        return self.up.until_settled(self.key, count)

    def kubectl(self, *arguments: str) -> str:
        return self.up.kubectl("-n", NAMESPACE, *arguments).out

    def pods(self) -> set[str]:
        """The pods that exist, terminating ones included."""
        found = self.up.objects("pods", "-n", NAMESPACE, "-l", f"mooring.dev/pool={self.name}")
        return {pod["metadata"]["name"] for pod in found}


@contextmanager
def own_pool(up: Up, name: str, **spec: Any) -> Iterator[OwnPool]:
    """Make it, wait for its floor, and remove every trace of it afterwards."""
    body = pool_body(up, name, **spec)
    up.kubectl("create", "namespace", NAMESPACE, check=False)
    up.kubectl("apply", "-f", "-", body=body)
    pool = OwnPool(up, name)
    try:
        pool.until_settled(body["spec"]["warm"])
        yield pool
    finally:
        up.kubectl("-n", NAMESPACE, "delete", "workerpool", name, "--ignore-not-found")
        until(lambda: not pool.pods(), 60, f"the pods of {pool.key} are gone")
