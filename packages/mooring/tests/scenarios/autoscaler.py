"""Karpenter's kinds in a world in virtual time."""

from typing import Any

from hawser.resources import CRDS
from packages.mooring.tests.scenarios.harbour import Harbour


async def install_karpenter(world: Harbour) -> None:
    """NodePools and NodeClaims, without a controller."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    for kind in ("NodePool", "NodeClaim"):
        singular = kind.lower()
        names = {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"}
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{singular}s.karpenter.sh"},
            "spec": {"group": "karpenter.sh", "scope": "Cluster", "names": names, "versions": [version]},
        }
        await world.client.create(CRDS, definition)
    await world.clock.sleep(2)


def node_pool(name: str, grace: str | None = None) -> dict[str, Any]:
    """A NodePool; `grace` is the terminationGracePeriod of nodes still to be made."""
    spec = {"terminationGracePeriod": grace} if grace else {}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": spec}},
    }


def node_claim(name: str, node: str, grace: str | None = None) -> dict[str, Any]:
    """The NodeClaim behind a node, with the finalizer of Karpenter."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": name, "finalizers": ["karpenter.sh/termination"]},
        "spec": {"terminationGracePeriod": grace} if grace else {},
        "status": {"nodeName": node},
    }
