"""Karpenter's NodePools and NodeClaims (karpenter.sh/v1). Quantities may come as text or numbers."""

from hawser.resources import Resource
from hawser.views.base import Condition, Meta, Object, Requirement, View
from hawser.views.node import Taint


class NodeClaimSpec(View, frozen=True):
    """The wanted node. `expire_after` and `termination_grace_period` are durations such as "720h"."""

    requirements: tuple[Requirement, ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after: str = ""
    termination_grace_period: str = ""


class NodeClaimStatus(View, frozen=True):
    """The resulting node. Conditions: Launched, Registered, Initialized, Drifted, Consolidatable..."""

    node_name: str = ""
    provider_id: str = ""
    image_id: str = ""
    allocatable: dict[str, str | int | float] = {}
    capacity: dict[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()


class NodeClaim(Object, frozen=True):
    """A NodeClaim."""

    spec: NodeClaimSpec = NodeClaimSpec()
    status: NodeClaimStatus = NodeClaimStatus()

    @property
    def node_pool(self) -> str:
        return self.metadata.labels.get("karpenter.sh/nodepool", "")


class DisruptionBudget(View, frozen=True):
    """How many nodes may be disrupted at once ("10%", "3"), for which reasons, and when."""

    nodes: str = ""
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    duration: str = ""


class Disruption(View, frozen=True):
    """When Karpenter may replace nodes on its own."""

    consolidation_policy: str = ""
    consolidate_after: str = ""
    budgets: tuple[DisruptionBudget, ...] = ()


class NodeClaimTemplate(View, frozen=True):
    """The template of a pool's NodeClaims."""

    metadata: Meta = Meta()
    spec: NodeClaimSpec = NodeClaimSpec()


class NodePoolSpec(View, frozen=True):
    """The template and limits of a pool."""

    template: NodeClaimTemplate = NodeClaimTemplate()
    disruption: Disruption = Disruption()
    limits: dict[str, str | int | float] = {}
    weight: int = 0


class NodePoolStatus(View, frozen=True):
    """The resources of a pool's nodes."""

    resources: dict[str, str | int | float] = {}
    conditions: tuple[Condition, ...] = ()


class NodePool(Object, frozen=True):
    """A NodePool."""

    spec: NodePoolSpec = NodePoolSpec()
    status: NodePoolStatus = NodePoolStatus()


NODEPOOLS = Resource("karpenter.sh", "v1", "nodepools", "NodePool", False, NodePool)
NODECLAIMS = Resource("karpenter.sh", "v1", "nodeclaims", "NodeClaim", False, NodeClaim)
