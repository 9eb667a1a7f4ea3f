"""Narrow views of Kubernetes objects: only the fields that a fleet's control plane reads.

Names are snake_case here and camelCase on the wire; times are aware datetimes; lists are tuples; whatever the API
leaves out or sends as null has its default.
"""

from mooring.kube.views.base import (
    Condition,
    LabelSelector,
    Meta,
    Object,
    OwnerReference,
    Requirement,
    find_condition,
    format_micro_time,
    format_time,
    is_true,
    parse_time,
)
from mooring.kube.views.cluster import (
    ConfigMap,
    CustomResourceDefinition,
    Namespace,
    PartialObject,
    PersistentVolume,
    PersistentVolumeClaim,
    PriorityClass,
    ResourceQuota,
    Secret,
    ServiceAccount,
    StorageClass,
)
from mooring.kube.views.coordination import Event, Lease, PodDisruptionBudget
from mooring.kube.views.fleet import ManagedService, Submission, Warmup, WorkerPool
from mooring.kube.views.karpenter import NodeClaim, NodePool
from mooring.kube.views.network import Endpoint, EndpointSlice, Service
from mooring.kube.views.node import Node, Taint
from mooring.kube.views.pod import (
    Container,
    ContainerState,
    ContainerStatus,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    PodStatus,
    PodTemplate,
    Toleration,
)
from mooring.kube.views.workload import Deployment, Job, ReplicaSet

__all__ = [
    "Condition",
    "ConfigMap",
    "Container",
    "ContainerState",
    "ContainerStatus",
    "CustomResourceDefinition",
    "Deployment",
    "Endpoint",
    "EndpointSlice",
    "Event",
    "Job",
    "LabelSelector",
    "Lease",
    "ManagedService",
    "Meta",
    "Namespace",
    "Node",
    "NodeClaim",
    "NodePool",
    "NodeSelectorTerm",
    "Object",
    "OwnerReference",
    "PartialObject",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PodSpec",
    "PodStatus",
    "PodTemplate",
    "PriorityClass",
    "ReplicaSet",
    "Requirement",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
    "StorageClass",
    "Submission",
    "Taint",
    "Toleration",
    "Warmup",
    "WorkerPool",
    "find_condition",
    "format_micro_time",
    "format_time",
    "is_true",
    "parse_time",
]
