"""Pods of the size and shape that a real API server sends."""

from typing import Any

TIME = "2026-03-01T12:00:00Z"
_IMAGE = "registry.example.com/fleet/worker:2026.03.01-abcdef1"
_SIDECAR = "registry.example.com/mesh/proxy:1.27.3"


def real_pod(number: int) -> dict[str, Any]:
    """A running worker with an init container, a sidecar, probes, volumes and managed fields."""
    return {"metadata": _metadata(number), "spec": _spec(number), "status": _pod_status(number)}


def _metadata(number: int) -> dict[str, Any]:
    uid = f"{number:08x}-5637-4b43-9834-d1fe6c3d3166"
    return {
        "name": f"worker-{number:06d}-x7k2p",
        "generateName": "worker-",
        "namespace": "fleet-builders",
        "uid": uid,
        "resourceVersion": str(1_000_000 + number),
        "generation": 1,
        "creationTimestamp": TIME,
        "labels": {
            "app.kubernetes.io/name": "worker",
            "pod-template-hash": "6c8f7d9b54",
            "mooring.dev/pool": "builders",
            "mooring.dev/worker": f"w-{number}",
            "mooring.dev/busy": "true",
        },
        "annotations": {
            "mooring.dev/claim": uid,
            "mooring.dev/epoch": str(number),
            "mooring.dev/stamped-at": TIME,
            "karpenter.sh/do-not-disrupt": "true",
        },
        "ownerReferences": [
            {
                "apiVersion": "mooring.dev/v1alpha1",
                "kind": "WorkerPool",
                "name": "builders",
                "uid": "0b1f6f0e-1111-2222-3333-444455556666",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "managedFields": [_managed("mooring", ""), _managed("kubelet", "status")],
    }


def _spec(number: int) -> dict[str, Any]:
    return {
        "volumes": [{"name": "cache", "hostPath": {"path": "/mnt/cache", "type": ""}}],
        "initContainers": [_container("fetch", _SIDECAR, number)],
        "containers": [_container("worker", _IMAGE, number), _container("proxy", _SIDECAR, number)],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 600,
        "dnsPolicy": "ClusterFirst",
        "nodeSelector": {"karpenter.sh/nodepool": "builders"},
        "serviceAccountName": f"w-{number}",
        "nodeName": f"ip-10-0-0-{number % 50}.eu-central-1.compute.internal",
        "affinity": _affinity(),
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {"key": "fleet", "operator": "Equal", "value": "builders", "effect": "NoSchedule"},
        ],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _pod_status(number: int) -> dict[str, Any]:
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": TIME}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "hostIP": f"10.0.0.{number % 50}",
        "podIP": f"10.1.{number // 250 % 250}.{number % 250}",
        "podIPs": [{"ip": "10.1.0.1"}],
        "startTime": TIME,
        "initContainerStatuses": [
            _status("fetch", {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": TIME}})
        ],
        "containerStatuses": [
            _status("worker", {"running": {"startedAt": TIME}}),
            _status("proxy", {"running": {}}),
        ],
        "qosClass": "Burstable",
    }


def _container(name: str, image: str, number: int) -> dict[str, Any]:
    probe = {
        "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
        "timeoutSeconds": 3,
        "periodSeconds": 10,
    }
    return {
        "name": name,
        "image": image,
        "command": ["/bin/worker", "--serve"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            *({"name": f"SETTING_{index}", "value": f"value-{index}"} for index in range(5)),
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
        ],
        "resources": {"limits": {"cpu": "4", "memory": "16Gi"}, "requests": {"cpu": "2", "memory": "16Gi"}},
        "volumeMounts": [
            {"name": f"kube-api-access-{number:05x}", "mountPath": "/var/run/secrets/token", "readOnly": True}
        ],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
    }


def _status(name: str, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "state": state,
        "lastState": {},
        "ready": True,
        "started": True,
        "restartCount": 2,
        "image": _IMAGE,
        "imageID": f"{_IMAGE}@sha256:{'ab12' * 16}",
        "containerID": f"containerd://{'c' * 64}",
    }


def _affinity() -> dict[str, Any]:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-central-1a"]}
    pin = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    terms = [{"matchExpressions": [zone], "matchFields": [pin]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _managed(manager: str, subresource: str) -> dict[str, Any]:
    fields = {f'k:{{"name":"SETTING_{index}"}}': {".": {}, "f:name": {}, "f:value": {}} for index in range(12)}
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"worker"}': {".": {}, "f:env": {".": {}, **fields}}}}},
        "subresource": subresource,
    }
