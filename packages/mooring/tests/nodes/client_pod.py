"""A pod that uses Mooring as programs in a cluster do: by the name of its Service, with its ServiceAccount's token."""

from packages.mooring.tests.chart.rendering import Body
from packages.mooring.tests.nodes.images import EXAMPLES
from packages.mooring.tests.nodes.installation import WORK, Installation, manifest

CLIENT = "client"
ACCOUNT = "builder"
POOL = "builders"
KEY = f"{WORK}/{POOL}"
WORKER_PORT = 8000


def make_client(mooring: Installation) -> None:
    """The pod, its account, and the right to claim in its namespace."""
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mooring-claimer"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": WORK}],
    }
    container = {
        "name": "main",
        "image": EXAMPLES,
        "command": ["sleep", "100000"],
        "env": [{"name": "MOORING_CA", "value": "/ca/ca.crt"}],
        "volumeMounts": [
            {"name": "token", "mountPath": "/var/run/secrets/mooring", "readOnly": True},
            {"name": "ca", "mountPath": "/ca", "readOnly": True},
        ],
    }
    token = {"serviceAccountToken": {"audience": "mooring", "path": "token", "expirationSeconds": 3600}}
    spec = {
        "serviceAccountName": ACCOUNT,
        "containers": [container],
        "terminationGracePeriodSeconds": 1,
        "volumes": [
            {"name": "token", "projected": {"sources": [token]}},
            {"name": "ca", "configMap": {"name": "mooring-ca"}},
        ],
    }
    mooring.apply(
        manifest("v1", "ServiceAccount", ACCOUNT, WORK, {}),
        manifest("rbac.authorization.k8s.io/v1", "RoleBinding", ACCOUNT, WORK, binding),
        manifest("v1", "ConfigMap", "mooring-ca", WORK, {"data": {"ca.crt": mooring.authority()}}),
        manifest("v1", "Pod", CLIENT, WORK, {"spec": spec}),
    )
    mooring.kubectl("-n", WORK, "wait", "--for=condition=Ready", f"pod/{CLIENT}", "--timeout=50s")


def make_pool(mooring: Installation, warm: int) -> None:
    """Workers that answer HTTP."""
    container: Body = {
        "name": "worker",
        "image": "busybox:stable",
        "command": ["sh", "-c", f"hostname > /tmp/index.html; exec httpd -f -p {WORKER_PORT} -h /tmp"],
        "readinessProbe": {"tcpSocket": {"port": WORKER_PORT}, "periodSeconds": 1},
    }
    template = {"spec": {"containers": [container]}}
    spec: Body = {"warm": warm, "max": warm, "reuse": "Always", "idleSeconds": 3600, "template": template}
    spec["protection"] = {"graceSeconds": 1}
    mooring.apply(manifest("mooring.dev/v1alpha1", "WorkerPool", POOL, WORK, {"spec": spec}))
    mooring.until_idle(POOL, warm)
