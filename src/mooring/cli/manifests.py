"""What `mooring install` prints: namespace, account, permissions, Deployment and Service, as data."""

from typing import Any

from mooring.control.permissions import CLUSTER_RULES
from mooring.kube.crds import load_crds

Body = dict[str, Any]


def manifests(image: str, namespace: str, secret: str = "mooring") -> list[Body]:
    """Everything, in the order in which it can be applied; the secret holds the database's URL and the token."""
    labels = {"app.kubernetes.io/name": "mooring"}
    meta: Body = {"name": "mooring", "namespace": namespace, "labels": labels}
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
        _deployment(image, meta, labels, secret),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        },
    ]


def _deployment(image: str, meta: Body, labels: dict[str, str], secret: str) -> Body:
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
        "containers": [container],
        "volumes": [{"name": "state", "emptyDir": {}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
