"""Pods like those of real clusters: about 8 KB with probes, volumes, env, tolerations, status and managed fields."""

from typing import Any

NAMESPACE = "bench"
NODES = 20


def node(number: int, now: str) -> dict[str, Any]:
    """A node that is Ready, so that its pods are not evicted."""
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    return {
        "metadata": {"name": f"bench-node-{number}", "labels": {"kubernetes.io/hostname": f"bench-node-{number}"}},
        "status": {
            "conditions": [{**condition, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "allocatable": {"cpu": "96", "memory": "384Gi", "pods": "1000"},
            "capacity": {"cpu": "96", "memory": "384Gi", "pods": "1000"},
        },
    }


def pod(number: int) -> dict[str, Any]:
    """One worker pod with a node."""
    app = f"service-{number % 40}"
    return {
        "metadata": {
            "name": f"{app}-{number:06d}",
            "namespace": NAMESPACE,
            "labels": {
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/instance": f"{app}-production",
                "app.kubernetes.io/version": f"2026.{number % 12}.1",
                "app.kubernetes.io/component": "worker",
                "pod-template-hash": f"{number % 40:010x}",
                "mooring.dev/pool": app,
            },
            "annotations": {
                "checksum/config": f"{number % 40:064x}",
                "prometheus.io/scrape": "true",
                "prometheus.io/port": "9090",
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
            },
        },
        "spec": {
            "nodeName": f"bench-node-{number % NODES}",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 60,
            "priority": 0,
            "containers": [_container("main", app)],
            "volumes": [
                {"name": "scratch", "emptyDir": {"sizeLimit": "10Gi"}},
                {"name": "config", "configMap": {"name": f"{app}-config", "defaultMode": 420}},
                {"name": "certificates", "secret": {"secretName": f"{app}-tls"}},
            ],
            "tolerations": [
                {"key": "dedicated", "operator": "Equal", "value": "workers", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
            ],
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 100,
                            "podAffinityTerm": {
                                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                                "topologyKey": "kubernetes.io/hostname",
                            },
                        }
                    ]
                }
            },
        },
    }


def status(number: int, now: str) -> dict[str, Any]:
    """The status of a running pod."""
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "10.0.0.1",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds],
        "containerStatuses": [_container_status("main", number, now)],
    }


def _container(name: str, app: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "timeoutSeconds": 3}
    return {
        "name": name,
        "image": f"registry.example.com/platform/{app}/{name}:2026.3.1",
        "command": ["/usr/local/bin/run"],
        "args": ["--config=/etc/service/config.yaml", "--log-format=json", f"--component={name}"],
        "ports": [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090}],
        "env": [{"name": f"{name.upper().replace('-', '_')}_SETTING_{n}", "value": f"value-{n}"} for n in range(8)],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}},
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/scratch"},
            {"name": "config", "mountPath": "/etc/service", "readOnly": True},
            {"name": "certificates", "mountPath": "/etc/tls", "readOnly": True},
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {"allowPrivilegeEscalation": False, "runAsNonRoot": True, "readOnlyRootFilesystem": True},
    }


def _container_status(name: str, number: int, now: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/platform/{name}:2026.3.1",
        "imageID": f"registry.example.com/platform/{name}@sha256:{number:064x}",
        "containerID": f"containerd://{number:064x}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }
