"""ClusterRoles for those who call Mooring. They grant nothing until a binding names them."""

from typing import Any

from mooring.kinds.resources import KINDS
from mooring.model.names import GROUP

Body = dict[str, Any]

_KINDS = [resource.plural for resource in KINDS]
_READ, _WRITE = ["get", "list", "watch"], ["create", "update", "patch", "delete"]


def caller_roles() -> list[Body]:
    """`mooring-view` and `mooring-edit` become part of the roles view and edit of the cluster."""
    return [
        _role(
            "mooring-view",
            _rule(_KINDS, _READ),
            **{"rbac.authorization.k8s.io/aggregate-to-view": "true"},
        ),
        _role(
            "mooring-edit",
            _rule(_KINDS, [*_READ, *_WRITE]),
            _rule(["workerpools/scale"], ["get", "update", "patch"]),
            _rule(["workerpools/claims"], ["create", "delete"]),
            _rule(["workerpools/workers"], ["delete"]),
            **{"rbac.authorization.k8s.io/aggregate-to-edit": "true"},
        ),
        _role("mooring-claimer", _rule(["workerpools"], _READ), _rule(["workerpools/claims"], ["create"])),
        _role(
            "mooring-operator",
            _rule(_KINDS, [*_READ, *_WRITE]),
            _rule(["workerpools/scale"], ["get", "update", "patch"]),
            _rule(["workerpools/claims"], ["create", "delete", "impersonate"]),
            _rule(["workerpools/workers"], ["delete"]),
            _rule(["invariants"], ["get", "list", "update"]),
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list"]},
            {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create"]},
        ),
    ]


def _rule(resources: list[str], verbs: list[str]) -> Body:
    return {"apiGroups": [GROUP], "resources": resources, "verbs": verbs}


def _role(name: str, *rules: Body, **labels: str) -> Body:
    metadata: Body = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": list(rules),
    }
