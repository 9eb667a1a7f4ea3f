"""Narrow views of Kubernetes objects: only the fields that a fleet's control plane reads.

Names are snake_case here and camelCase on the wire; times are aware datetimes; lists are tuples; whatever the API
leaves out or sends as null has its default.
"""

from hawser.views.base import (
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
from hawser.views.cluster import (
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
from hawser.views.coordination import Event, Lease, PodDisruptionBudget
from hawser.views.network import Endpoint, EndpointSlice, Service
from hawser.views.node import Node, Taint
from hawser.views.pod import (
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
from hawser.views.workload import Deployment, Job, ReplicaSet

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
    "Meta",
    "Namespace",
    "Node",
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
    "Taint",
    "Toleration",
    "find_condition",
    "format_micro_time",
    "format_time",
    "is_true",
    "parse_time",
]
