"""The rules of the built-in kinds: defaults, what only the server sets, and what is refused.

Must not know: requests or the store; everything is a pure function of object, old object and `Context`.
"""

from drydock.api.kinds.kind import Strategy
from drydock.api.strategies.access import GROUP as _RBAC
from drydock.api.strategies.access import RoleBindingStrategy, RoleStrategy
from drydock.api.strategies.budgets import BudgetStrategy
from drydock.api.strategies.cluster import NamespaceStrategy, NodeStrategy, PriorityClassStrategy
from drydock.api.strategies.configuration import ConfigMapStrategy, SecretStrategy
from drydock.api.strategies.coordination import EndpointSliceStrategy, LeaseStrategy
from drydock.api.strategies.events import EventStrategy
from drydock.api.strategies.jobs import JobStrategy
from drydock.api.strategies.pods import PodStrategy
from drydock.api.strategies.services import ServiceStrategy
from drydock.api.strategies.storage import ClaimStrategy, QuotaStrategy, VolumeStrategy
from drydock.api.strategies.workloads import (
    DeploymentStrategy,
    ReplicaSetStrategy,
)

STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("", "ConfigMap"): ConfigMapStrategy(),
    ("", "Event"): EventStrategy(),
    ("", "Namespace"): NamespaceStrategy(),
    ("", "Node"): NodeStrategy(),
    ("", "PersistentVolume"): VolumeStrategy(),
    ("", "PersistentVolumeClaim"): ClaimStrategy(),
    ("", "Pod"): PodStrategy(),
    ("", "ResourceQuota"): QuotaStrategy(),
    ("", "Secret"): SecretStrategy(),
    ("", "Service"): ServiceStrategy(),
    ("apps", "Deployment"): DeploymentStrategy(),
    ("apps", "ReplicaSet"): ReplicaSetStrategy(),
    ("batch", "Job"): JobStrategy(),
    ("coordination.k8s.io", "Lease"): LeaseStrategy(),
    ("discovery.k8s.io", "EndpointSlice"): EndpointSliceStrategy(),
    ("events.k8s.io", "Event"): EventStrategy("regarding", "reportingController"),
    ("policy", "PodDisruptionBudget"): BudgetStrategy(),
    ("scheduling.k8s.io", "PriorityClass"): PriorityClassStrategy(),
    (_RBAC, "ClusterRole"): RoleStrategy(namespaced=False),
    (_RBAC, "ClusterRoleBinding"): RoleBindingStrategy(namespaced=False),
    (_RBAC, "Role"): RoleStrategy(namespaced=True),
    (_RBAC, "RoleBinding"): RoleBindingStrategy(namespaced=True),
}
