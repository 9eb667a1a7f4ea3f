"""The rules of the built-in kinds: defaults, what only the server sets, and what is refused.

One module a kind or family. Everything here is a pure function of the object, the old object and the `Context`.
"""

from mooring.sandbox.api.kinds import Strategy
from mooring.sandbox.api.strategies.access import GROUP as _RBAC
from mooring.sandbox.api.strategies.access import RoleBindingStrategy, RoleStrategy
from mooring.sandbox.api.strategies.budgets import BudgetStrategy
from mooring.sandbox.api.strategies.cluster import NamespaceStrategy, NodeStrategy, PriorityClassStrategy
from mooring.sandbox.api.strategies.configuration import ConfigMapStrategy, SecretStrategy
from mooring.sandbox.api.strategies.coordination import EndpointSliceStrategy, LeaseStrategy
from mooring.sandbox.api.strategies.events import EventStrategy
from mooring.sandbox.api.strategies.jobs import CronJobStrategy, JobStrategy
from mooring.sandbox.api.strategies.pods import PodStrategy
from mooring.sandbox.api.strategies.services import ServiceStrategy
from mooring.sandbox.api.strategies.storage import ClaimStrategy, QuotaStrategy, VolumeStrategy
from mooring.sandbox.api.strategies.workloads import (
    DaemonSetStrategy,
    DeploymentStrategy,
    ReplicaSetStrategy,
    StatefulSetStrategy,
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
    ("apps", "DaemonSet"): DaemonSetStrategy(),
    ("apps", "Deployment"): DeploymentStrategy(),
    ("apps", "ReplicaSet"): ReplicaSetStrategy(),
    ("apps", "StatefulSet"): StatefulSetStrategy(),
    ("batch", "CronJob"): CronJobStrategy(),
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
