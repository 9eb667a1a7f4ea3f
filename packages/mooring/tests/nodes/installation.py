"""Mooring on real nodes: installed by Helm from the built image, with a PostgreSQL in a pod."""

import base64
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drydock import RealKubernetes
from mooring.client.connection import Endpoint
from packages.mooring.tests.chart.cluster import RealCluster
from packages.mooring.tests.chart.rendering import CHART, Body
from packages.mooring.tests.nodes.images import EXAMPLES, POSTGRES, RELEASE
from packages.mooring.tests.requirements import require_kubectl

NAMESPACE = "mooring"
WORK = "work"
TOKEN = "operators-token"
SYSTEM_NODE = "node-1"  # has the database; tests drain and replace the others
PASSWORD = "a-password"
KINDS = ("workerpools", "warmups", "submissions", "managedservices")
VALUES: Body = {"image": {"tag": RELEASE, "pullPolicy": "Never"}}
_SERVE_DATABASE = f"""
set -e
printf %s "$PASSWORD" > /tmp/password
{POSTGRES}/initdb -D /data/db -U mooring --pwfile=/tmp/password --auth=scram-sha-256 -E UTF8 --no-locale
echo "host all all all scram-sha-256" >> /data/db/pg_hba.conf
exec {POSTGRES}/postgres -D /data/db -c listen_addresses='*' -c unix_socket_directories=/tmp
"""


@dataclass(slots=True)
class Installation(RealCluster):
    """The hands of an administrator of a cluster of real nodes that has Mooring."""

    nodes: RealKubernetes

    def make_database(self) -> None:
        """A PostgreSQL as a pod with a Service; its data end with the pod."""
        container = {
            "name": "postgres",
            "image": EXAMPLES,
            "command": ["sh", "-c", _SERVE_DATABASE],
            "env": [{"name": "PASSWORD", "value": PASSWORD}],
            "readinessProbe": {"tcpSocket": {"port": 5432}, "periodSeconds": 1},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        spec = {
            "nodeName": SYSTEM_NODE,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {"fsGroup": 65532},
            "containers": [container],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }
        labels = {"app": "postgres"}
        self.apply(
            manifest("v1", "Pod", "postgres", NAMESPACE, {"spec": spec}, labels),
            manifest("v1", "Service", "postgres", NAMESPACE, {"spec": {"selector": labels, "ports": [{"port": 5432}]}}),
        )

    def release(self, verb: str = "install", **values: Any) -> None:
        """Install or upgrade, and wait until every replica is ready."""
        arguments = (verb, "mooring", str(CHART), "--namespace", NAMESPACE, "--wait", "--timeout", "110s")
        self.helm(*arguments, values=VALUES | values)

    def authority(self) -> str:
        """The CA of Mooring's certificate."""
        secret = self.get("-n", NAMESPACE, "secret", "mooring-tls")
        return base64.b64decode(secret["data"]["ca.crt"]).decode()

    def replicas(self) -> list[Body]:
        """The pods of Mooring that are not being deleted."""
        pods = self.get("-n", NAMESPACE, "pods", "-l", "app.kubernetes.io/name=mooring")
        return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]

    def pool(self, name: str, namespace: str = WORK) -> Body:
        found: Body = self.get("-n", namespace, "workerpool", name)
        return found

    def until_idle(self, name: str, count: int, namespace: str = WORK) -> None:
        self.until(
            lambda: self.pool(name, namespace).get("status", {}).get("idle") == count,
            f"{count} idle workers of {namespace}/{name}",
            120,
        )

    def run_in(self, pod: str, *command: str, namespace: str = WORK) -> str:
        return self.kubectl("-n", namespace, "exec", pod, "--", *command)

    def kubectl_process(self, *arguments: str, stdin: int | None = None) -> "subprocess.Popen[str]":
        """kubectl, in the background."""
        command = [require_kubectl(), "--kubeconfig", str(self.kubeconfig), *arguments]
        return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @contextmanager
    def operator(self) -> Iterator[Endpoint]:
        """Mooring's API for the operator, through `kubectl port-forward`: the certificate is for localhost, too."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        forward = self.kubectl_process("-n", NAMESPACE, "port-forward", "service/mooring", f"{port}:443")
        assert forward.stdout is not None
        try:
            line = forward.stdout.readline()
            assert "Forwarding from" in line, line
            yield Endpoint(f"https://localhost:{port}", TOKEN, self.authority())
        finally:
            forward.terminate()
            forward.wait(10)
            forward.stdout.close()

    def describe(self) -> str:
        """What a reader of a failed test needs: pods, events and the logs of Mooring and of pods that failed."""
        parts = [
            self.kubectl("get", "nodes,workerpools,warmups,submissions,pods,jobs", "-A", "-o", "wide", fails=True),
            self.kubectl("get", "events", "-A", "--sort-by=.lastTimestamp", fails=True)[-6000:],
        ]
        for pod in self.get("pods", "-A"):
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", ())}
            if namespace == NAMESPACE or conditions.get("Ready") != "True":
                logs = self.kubectl("-n", namespace, "logs", name, "--all-containers", "--tail=40", fails=True)
                parts.append(f"--- {namespace}/{name}\n{logs}")
        return "\n".join(parts)


def manifest(api: str, kind: str, name: str, namespace: str, rest: Body, labels: dict[str, str] | None = None) -> Body:
    """An object."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        **rest,
    }


@contextmanager
def installed(nodes: RealKubernetes, folder: Path) -> Iterator[Installation]:
    """Until the end of the block. A test may have uninstalled the release."""
    found = Installation(nodes.kubeconfig, folder, nodes)
    for name in (NAMESPACE, WORK):
        found.kubectl("create", "namespace", name)
    url = f"postgresql://mooring:{PASSWORD}@postgres.{NAMESPACE}/postgres"
    literals = [f"--from-literal=database={url}", f"--from-literal=token={TOKEN}"]
    found.kubectl("-n", NAMESPACE, "create", "secret", "generic", "mooring", *literals)
    found.make_database()
    try:
        found.release()
        yield found
    finally:
        releases = json.loads(found.helm("list", "--namespace", NAMESPACE, "-o", "json").out)
        if releases:
            found.helm("uninstall", "mooring", "--namespace", NAMESPACE, "--wait", "--timeout", "110s")
        found.kubectl("delete", "crd", *(f"{kind}.mooring.dev" for kind in KINDS), "--timeout=50s")
        found.kubectl("delete", "namespace", WORK, NAMESPACE, "--timeout=50s")
