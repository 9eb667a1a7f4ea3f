"""Small ways in which kinds differ: who may be written blindly, who is created by a PUT, who is shown when gone."""

from drydock.api.kinds.kind import Kind

_RBAC = "rbac.authorization.k8s.io"
_VERSION_REQUIRED = {
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("policy", "poddisruptionbudgets"),
    ("storage.k8s.io", "csinodes"),
}
_CREATED_BY_UPDATE = {
    ("", "endpoints"),
    ("", "events"),
    ("", "limitranges"),
    ("", "services"),
    ("coordination.k8s.io", "leases"),
    ("events.k8s.io", "events"),
    ("node.k8s.io", "runtimeclasses"),
    (_RBAC, "clusterrolebindings"),
    (_RBAC, "clusterroles"),
    (_RBAC, "rolebindings"),
    (_RBAC, "roles"),
}
_SHOWN_WHEN_DELETED = {
    ("", "namespaces"),
    ("", "persistentvolumeclaims"),
    ("", "persistentvolumes"),
    ("", "pods"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "serviceaccounts"),
    ("", "services"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
}


def needs_version(kind: Kind) -> bool:
    """Must an update carry a resourceVersion?"""
    return kind.custom or (kind.group, kind.plural) in _VERSION_REQUIRED


def is_created_by_update(kind: Kind) -> bool:
    """Does a PUT create what is not there?"""
    return (kind.group, kind.plural) in _CREATED_BY_UPDATE


def is_shown_when_deleted(kind: Kind) -> bool:
    """Does a deletion answer with the object, instead of with a Status?"""
    return (kind.group, kind.plural) in _SHOWN_WHEN_DELETED
