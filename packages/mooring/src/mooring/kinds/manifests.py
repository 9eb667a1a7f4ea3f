"""Manifests of Mooring: CRDs, namespace, account, permissions, policies, PriorityClass, Deployment, budget and Service.

`mooring install` prints them. The Helm chart renders the same with its default values, and a test compares the two.
CRDs, permissions and the policy have their only source in the code: `tools/chart` writes them into the chart.
"""

from typing import Any

from mooring.kinds import load_crds
from mooring.kinds.caller_roles import caller_roles
from mooring.kinds.deployment import deployment
from mooring.kinds.headroom_class import headroom_class
from mooring.kinds.marks_policy import marks_policy
from mooring.kinds.release import Release
from mooring.model.permissions import CLUSTER_RULES

Body = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_SECRET = "mooring"  # with the keys `database` and `token`


def manifests(release: Release, image: str, placement: Body | None = None) -> list[Body]:
    """All manifests, in the order in which they can be applied.

    `placement` has fields of the pods: `nodeSelector`, `tolerations`, `affinity`.
    """
    meta = {"name": release.name, "namespace": release.namespace, "labels": release.labels}
    wide = {"name": release.cluster_name, "labels": release.labels}
    subject = {"kind": "ServiceAccount", "name": release.name, "namespace": release.namespace}
    role_ref = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": release.cluster_name}
    selector = {"matchLabels": release.selector}
    ports = [{"name": "http", "port": 443, "targetPort": "http"}]
    return [
        *(_labelled(crd, release) for crd in load_crds()),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": release.namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": wide, "rules": list(CLUSTER_RULES)},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": wide,
            "roleRef": role_ref,
            "subjects": [subject],
        },
        *(_owned(role, release) for role in caller_roles()),
        *marks_policy(release),
        _owned(headroom_class(), release),
        deployment(release, image, _SECRET, placement or {}),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": selector},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"type": "ClusterIP", "selector": release.selector, "ports": ports},
        },
    ]


def _owned(body: Body, release: Release) -> Body:
    """A role for callers, or the class of placeholders, with the labels of the release beside its own."""
    body["metadata"]["labels"] = {**release.labels, **body["metadata"].get("labels", {})}
    return body


def _labelled(crd: Body, release: Release) -> Body:
    """Helm keeps a definition when the release goes, as `mooring uninstall` does: its objects would go with it."""
    crd["metadata"] |= {"labels": release.labels, "annotations": {"helm.sh/resource-policy": "keep"}}
    return crd
