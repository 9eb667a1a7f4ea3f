"""The cluster's DNS: CoreDNS as a Deployment, at the address that kubelets give to pods."""

from typing import Any

from drydock.nodes.images import COREDNS
from drydock.nodes.settings import CLUSTER_DOMAIN, DNS_ADDRESS
from hawser.client import KubeClient
from hawser.resources import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    DEPLOYMENTS,
    SERVICEACCOUNTS,
    SERVICES,
    Resource,
)

NAMESPACE = "kube-system"
NAME = "coredns"
_LABELS = {"k8s-app": "kube-dns"}
_MANAGER = "drydock"
_ROLE = "system:coredns"
# Names outside of the cluster do not exist: no packet leaves this machine.
_COREFILE = f"""\
{CLUSTER_DOMAIN}:53 in-addr.arpa:53 ip6.arpa:53 {{
    errors
    health {{
        lameduck 1s
    }}
    ready
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
    }}
    cache 5
}}
.:53 {{
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


async def install_dns(client: KubeClient, replicas: int) -> None:
    """Apply everything; an earlier start may have."""
    for resource, body in _objects(replicas):
        namespace = NAMESPACE if resource.namespaced else None
        full = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        await client.apply(resource.raw(), full, namespace=namespace, field_manager=_MANAGER, force=True)


async def dns_ready(client: KubeClient) -> bool:
    found = await client.get(DEPLOYMENTS.raw(), NAME, NAMESPACE)
    return bool(found.get("status", {}).get("readyReplicas", 0))


def _objects(replicas: int) -> list[tuple[Resource[Any], dict[str, Any]]]:
    metadata = {"name": NAME, "namespace": NAMESPACE, "labels": _LABELS}
    watched = {"verbs": ["list", "watch"]}
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], **watched},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], **watched},
    ]
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _ROLE}
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP"},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
    ]
    service = {"clusterIP": DNS_ADDRESS, "selector": _LABELS, "ports": ports}
    return [
        (SERVICEACCOUNTS, {"metadata": metadata}),
        (CLUSTERROLES, {"metadata": {"name": _ROLE}, "rules": rules}),
        (CLUSTERROLEBINDINGS, {"metadata": {"name": _ROLE}, "subjects": [account], "roleRef": role}),
        (CONFIGMAPS, {"metadata": metadata, "data": {"Corefile": _COREFILE}}),
        (SERVICES, {"metadata": {**metadata, "name": "kube-dns"}, "spec": service}),
        (DEPLOYMENTS, {"metadata": metadata, "spec": _deployment(replicas)}),
    ]


def _deployment(replicas: int) -> dict[str, Any]:
    container = {
        "name": NAME,
        "image": COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [{"name": "dns", "containerPort": 53, "protocol": "UDP"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1},
        "livenessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 10},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _LABELS},
    }
    spec = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        "dnsPolicy": "Default",
        "topologySpreadConstraints": [spread],
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}],
        "terminationGracePeriodSeconds": 5,
    }
    return {
        "replicas": replicas,
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": spec},
    }
