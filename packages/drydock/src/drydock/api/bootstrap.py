"""What is there from the start: system namespaces, default roles and bindings, system priorities."""

from typing import Any

from drydock.api.access.identity import User
from drydock.api.access.rbac import MASTERS
from drydock.api.admission.rules import SYSTEM_NAMESPACES
from drydock.api.cluster import Cluster
from drydock.api.kinds.kind import Object
from drydock.api.requests.options import WriteOptions
from drydock.api.verbs.writing import Write, create

_RBAC = "rbac.authorization.k8s.io"
_SERVER = Write(User("system:apiserver", (MASTERS,)), WriteOptions(field_manager="kube-apiserver"))
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_HEALTH = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *_HEALTH]

_CORE_CONTENT = [
    "configmaps", "endpoints", "events", "limitranges", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
    "replicationcontrollers", "replicationcontrollers/scale", "resourcequotas", "serviceaccounts", "services",
]  # fmt: skip
_STREAMS = ["pods/exec", "pods/portforward"]
_CONTENT = [
    ("apps", ["controllerrevisions", "daemonsets", "deployments", "deployments/scale", "replicasets",
              "replicasets/scale", "statefulsets", "statefulsets/scale"]),
    ("batch", ["cronjobs", "jobs"]),
    ("coordination.k8s.io", ["leases"]),
    ("discovery.k8s.io", ["endpointslices"]),
    ("policy", ["poddisruptionbudgets"]),
]  # fmt: skip


def bootstrap(cluster: Cluster) -> None:
    """Create what is missing; what is there already stays as it is."""
    for name in SYSTEM_NAMESPACES:
        _ensure(cluster, "", "namespaces", {"metadata": {"name": name}})
    for name, value, said in _PRIORITIES:
        body = {"metadata": {"name": name}, "value": value, "description": said}
        _ensure(cluster, "scheduling.k8s.io", "priorityclasses", body)
    for name, rules in _roles().items():
        labels = {**_LABELS, **_AGGREGATION.get(name, {})}
        body = {"metadata": {"name": name, "labels": labels}, "rules": rules}
        if name in _AGGREGATED:
            selector = {"matchLabels": {f"{_RBAC}/aggregate-to-{name}": "true"}}
            body = {"metadata": body["metadata"], "rules": [], "aggregationRule": {"clusterRoleSelectors": [selector]}}
        _ensure(cluster, _RBAC, "clusterroles", body)
    for name, (role, groups) in _BINDINGS.items():
        body = {
            "metadata": {"name": name, "labels": dict(_LABELS)},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group} for group in groups],
        }
        _ensure(cluster, _RBAC, "clusterrolebindings", body)


def _ensure(cluster: Cluster, group: str, plural: str, body: Object) -> None:
    kind = cluster.builtin(group, plural)
    if body["metadata"]["name"] not in cluster.table(kind).objects:
        create(cluster, kind, "", {"kind": kind.kind, "apiVersion": kind.api_version, **body}, _SERVER)


def _rule(group: str, resources: list[str], verbs: list[str]) -> dict[str, Any]:
    return {"verbs": verbs, "apiGroups": [group], "resources": resources}


def _roles() -> dict[str, list[dict[str, Any]]]:
    reading = [_rule("", [*_CORE_CONTENT, "namespaces"], _READ)]
    reading += [_rule(group, resources, _READ) for group, resources in _CONTENT]
    own = [*_STREAMS, "secrets"]
    writing = [_rule("", [*_CORE_CONTENT, *own, "pods/eviction", "serviceaccounts/token"], _WRITE)]
    writing += [_rule("", own, _READ)]
    writing += [_rule(group, resources, _WRITE) for group, resources in _CONTENT]
    return {
        "cluster-admin": [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ],
        "system:discovery": [{"verbs": ["get"], "nonResourceURLs": _DISCOVERY}],
        "system:public-info-viewer": [{"verbs": ["get"], "nonResourceURLs": _HEALTH}],
        "system:basic-user": [
            _rule("authorization.k8s.io", ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]),
            _rule("authentication.k8s.io", ["selfsubjectreviews"], ["create"]),
        ],
        "system:auth-delegator": [
            _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
            _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        ],
        "system:aggregate-to-view": reading,
        "system:aggregate-to-edit": writing,
        "system:aggregate-to-admin": [_rule(_RBAC, ["roles", "rolebindings"], [*_READ, *_WRITE])],
        "view": [],
        "edit": [],
        "admin": [],
    }


_AGGREGATED = ("view", "edit", "admin")
# An editor may read and an administrator may edit: each role is also part of those above it.
_AGGREGATION = {
    "system:aggregate-to-view": {f"{_RBAC}/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")},
    "system:aggregate-to-edit": {f"{_RBAC}/aggregate-to-{role}": "true" for role in ("edit", "admin")},
    "system:aggregate-to-admin": {f"{_RBAC}/aggregate-to-admin": "true"},
}
_BINDINGS = {
    "cluster-admin": ("cluster-admin", [MASTERS]),
    "system:basic-user": ("system:basic-user", ["system:authenticated"]),
    "system:discovery": ("system:discovery", ["system:authenticated"]),
    "system:public-info-viewer": ("system:public-info-viewer", ["system:authenticated", "system:unauthenticated"]),
}
_PRIORITIES = [
    ("system-node-critical", 2000001000, "For pods that must not be moved from their node."),
    ("system-cluster-critical", 2000000000, "For pods that must run somewhere in the cluster."),
]
