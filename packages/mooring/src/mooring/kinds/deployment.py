"""The Deployment of Mooring, built as data. `deploy/helm/templates/deployment.yaml` renders the same by default."""

from typing import Any

from mooring.kinds.release import Release

Body = dict[str, Any]

USER = 65532  # of the image, and of the chart's security context
REPLICAS = 2
PRE_STOP_SECONDS = 5  # until every node has taken the pod out of the Service
GRACE_SECONDS = 40
TLS_FOLDER = "/tls"
# The Secret of the chart also has the key of the CA, which no pod needs.
_TLS_ITEMS = [{"key": name, "path": name} for name in ("tls.crt", "tls.key", "ca.crt")]


def tls_secret(release: Release) -> str:
    """The Secret with `tls.crt`, `tls.key` and `ca.crt` that the pods serve with."""
    return f"{release.name}-tls"


def deployment(release: Release, image: str, secret: str, placement: Body) -> Body:
    """The Deployment. The Secret `secret` has the keys `database` and `token`."""
    labels, spread = release.selector, "topology.kubernetes.io/zone"
    pod: Body = {
        "serviceAccountName": release.name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,  # else a Service called `mooring` sets variables that look like settings
        "securityContext": {
            "fsGroup": USER,
            "runAsGroup": USER,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "affinity": {"podAntiAffinity": _apart(labels)},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": spread,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels},
            }
        ],
        "containers": [_container(release, image, secret)],
        "volumes": [
            {"name": "state", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "tls", "secret": {"secretName": tls_secret(release), "items": _TLS_ITEMS}},
        ],
    }
    pod.update({field: value for field, value in placement.items() if field != "affinity"})
    pod["affinity"] |= placement.get("affinity", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": release.name, "namespace": release.namespace, "labels": release.labels},
        "spec": {
            "replicas": REPLICAS,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _apart(labels: dict[str, str]) -> Body:
    """Replicas prefer nodes without another replica."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}


def _container(release: Release, image: str, secret: str) -> Body:
    return {
        "name": "mooring",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["serve"],
        "ports": [{"name": "http", "containerPort": 8080}],
        "env": _environment(release, secret),
        "startupProbe": _probe("/healthz", periodSeconds=1, timeoutSeconds=2, failureThreshold=60),
        "livenessProbe": _probe("/healthz", periodSeconds=10, timeoutSeconds=5, failureThreshold=6),
        "readinessProbe": _probe("/readyz", periodSeconds=5, timeoutSeconds=3, failureThreshold=3),
        "lifecycle": {"preStop": {"sleep": {"seconds": PRE_STOP_SECONDS}}},
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [
            {"name": "state", "mountPath": "/state"},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True},
        ],
    }


def _environment(release: Release, secret: str) -> list[Body]:
    fixed = {
        "MOORING_HOST": "0.0.0.0",
        "MOORING_PORT": "8080",
        "MOORING_STATE": "/state",
        "MOORING_WORKER_URL": f"https://{release.name}.{release.namespace}.svc",
        "MOORING_LOG_LEVEL": "info",
        "MOORING_TLS_CERTIFICATE": f"{TLS_FOLDER}/tls.crt",
        "MOORING_TLS_KEY": f"{TLS_FOLDER}/tls.key",
        "MOORING_WORKER_CA": f"{TLS_FOLDER}/ca.crt",
    }
    from_secret = {"MOORING_DATABASE": "database", "MOORING_TOKEN": "token"}
    return [
        *({"name": name, "value": value} for name, value in fixed.items()),
        {"name": "MOORING_REPLICA", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        *(
            {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
            for name, key in from_secret.items()
        ),
    ]


def _probe(path: str, **times: int) -> Body:
    return {"httpGet": {"path": path, "port": "http", "scheme": "HTTPS"}, **times}
