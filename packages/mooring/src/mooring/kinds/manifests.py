"""Manifests of Mooring: CRDs, namespace, account, permissions, policy of marks, Deployment and Service."""

from typing import Any

from mooring.kinds import load_crds
from mooring.kinds.caller_roles import caller_roles
from mooring.kinds.marks_policy import marks_policy
from mooring.model.permissions import CLUSTER_RULES

Body = dict[str, Any]

LABELS = {"app.kubernetes.io/name": "mooring"}


def manifests(image: str, namespace: str, secret: str = "mooring", placement: Body | None = None) -> list[Body]:
    """All manifests, in the order in which they can be applied. The secret has the keys `database` and `token`.

    `placement` has fields of the pods: `nodeSelector`, `tolerations`, `affinity`.
    """
    meta: Body = {"name": "mooring", "namespace": namespace, "labels": LABELS}
    subject = {"kind": "ServiceAccount", "name": "mooring", "namespace": namespace}
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring"}
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        *load_crds(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "mooring"}, "rules": list(CLUSTER_RULES)},
        {
            "apiVersion": rbac,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "mooring"},
            "roleRef": role_ref,
            "subjects": [subject],
        },
        *caller_roles(),
        *marks_policy(namespace),
        _deployment(image, meta, secret, placement or {}),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": LABELS, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        },
    ]


def _deployment(image: str, meta: Body, secret: str, placement: Body) -> Body:
    container: Body = {
        "name": "mooring",
        "image": image,
        "args": ["serve"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": [
            {"name": "MOORING_HOST", "value": "0.0.0.0"},
            {"name": "MOORING_STATE", "value": "/state"},
            {"name": "MOORING_WORKER_URL", "value": f"http://{meta['name']}.{meta['namespace']}.svc"},
            {"name": "MOORING_REPLICA", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "MOORING_DATABASE", "valueFrom": {"secretKeyRef": {"name": secret, "key": "database"}}},
            {"name": "MOORING_TOKEN", "valueFrom": {"secretKeyRef": {"name": secret, "key": "token"}}},
        ],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "volumeMounts": [{"name": "state", "mountPath": "/state"}],
    }
    pod: Body = {
        "serviceAccountName": "mooring",
        **placement,
        "containers": [container],
        "volumes": [{"name": "state", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }
