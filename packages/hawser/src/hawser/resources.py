"""The kinds of Kubernetes itself: where each is served, and as which view it is read."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from hawser import views
from hawser.errors import InvalidInput

T = TypeVar("T")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9.-]*")  # as nearly all names are


@dataclass(frozen=True, slots=True)
class Resource(Generic[T]):
    """A kind of object at an API server."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    view: type[T]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of an object, of a namespace's collection, or (without namespace) of all namespaces."""
        parts = ["/apis", self.group] if self.group else ["/api"]
        parts.append(self.version)
        if namespace is not None:
            if not self.namespaced:
                raise InvalidInput("namespace", namespace, f"left out: {self.plural} have none")
            parts += ["namespaces", _segment("namespace", namespace)]
        parts.append(self.plural)
        if name is not None:
            if self.namespaced and namespace is None:
                raise InvalidInput("namespace", namespace, f"given: {self.plural} live in namespaces")
            parts.append(_segment("name", name))
            if subresource:
                parts.append(subresource)
        return "/".join(parts)

    def raw(self) -> "Resource[dict[str, Any]]":
        """The same resource, its objects as whole plain dicts."""
        return dataclasses.replace(self, view=dict)  # type: ignore[arg-type, return-value]


def _segment(field: str, value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    # An empty name would turn the path of an object into that of its collection: a delete of one into one of all.
    if value in ("", ".", "..") or "/" in value or "%" in value:
        raise InvalidInput(field, value, "a name without / and %")
    return quote(value, safe=":@")


PODS = Resource("", "v1", "pods", "Pod", True, views.Pod)
NODES = Resource("", "v1", "nodes", "Node", False, views.Node)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False, views.Namespace)
SERVICES = Resource("", "v1", "services", "Service", True, views.Service)
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", True, views.ConfigMap)
SECRETS = Resource("", "v1", "secrets", "Secret", True, views.Secret)
SERVICEACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", True, views.ServiceAccount)
EVENTS = Resource("", "v1", "events", "Event", True, views.Event)
RESOURCEQUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", True, views.ResourceQuota)
PERSISTENTVOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", False, views.PersistentVolume)
PERSISTENTVOLUMECLAIMS = Resource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True, views.PersistentVolumeClaim
)
STORAGECLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", False, views.StorageClass)

JOBS = Resource("batch", "v1", "jobs", "Job", True, views.Job)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True, views.Deployment)
REPLICASETS = Resource("apps", "v1", "replicasets", "ReplicaSet", True, views.ReplicaSet)
ENDPOINTSLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", True, views.EndpointSlice)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True, views.Lease)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True, views.PodDisruptionBudget)
PRIORITYCLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", False, views.PriorityClass)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    False,
    views.CustomResourceDefinition,
)

_RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(_RBAC, "v1", "roles", "Role", True, views.PartialObject)
ROLEBINDINGS = Resource(_RBAC, "v1", "rolebindings", "RoleBinding", True, views.PartialObject)
CLUSTERROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", False, views.PartialObject)
CLUSTERROLEBINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False, views.PartialObject)
