"""`mooring up --cluster nodes`: a serving Mooring beside real nodes, with workers that are real containers."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from packages.mooring.tests.acceptance.world import until
from packages.mooring.tests.requirements import require_kubectl, require_nodes

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

POOL = {
    "apiVersion": "mooring.dev/v1alpha1",
    "kind": "WorkerPool",
    "metadata": {"name": "builders", "namespace": "default"},
    "spec": {
        "warm": 2,
        "max": 4,
        "template": {
            "spec": {"containers": [{"name": "worker", "image": "busybox:stable", "command": ["sleep", "100000"]}]}
        },
    },
}


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz") as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False


def test_up_starts_real_nodes_and_a_pool_of_containers(tmp_path: Path) -> None:
    require_nodes()
    kubectl = [require_kubectl(), "--kubeconfig", str(tmp_path / "kubeconfig")]
    argv = [sys.executable, "-m", "mooring", "up", "--cluster", "nodes", "--nodes", "2", "--port", "0"]
    command = subprocess.Popen(
        [*argv, "--state", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert command.stdout
    try:
        line = command.stdout.readline()
        assert line.startswith("Mooring is up: http://127.0.0.1:"), command.stderr and command.stderr.read()
        url = line.split()[-1]
        until(lambda: is_ready(url), 60, "it is ready: caches that a busy machine leaves stale are fresh again")
        ready = subprocess.run(
            [*kubectl, "wait", "node", "--all", "--for=condition=Ready"], check=True, capture_output=True, text=True
        )
        assert ready.stdout.count("condition met") == 2
        subprocess.run(
            [*kubectl, "apply", "-f", "-"], input=json.dumps(POOL), check=True, capture_output=True, text=True
        )
        asked = [*kubectl, "get", "workerpool", "builders", "-o", "jsonpath={.status.idle}"]
        until(lambda: subprocess.run(asked, capture_output=True, text=True).stdout == "2", 60, "two idle workers")
        path = [*kubectl, "get", "pods", "-o", "jsonpath={.items[0].metadata.name}"]
        worker = subprocess.run(path, check=True, capture_output=True, text=True).stdout
        host = subprocess.run(
            [*kubectl, "config", "view", "--minify"], check=True, capture_output=True, text=True
        ).stdout
        address = host.split("server: https://")[1].split(":")[0]
        reached = f"wget -qO- http://{address}:{url.rsplit(':', 1)[1]}/healthz"
        answered = subprocess.run(
            [*kubectl, "exec", worker, "--", "sh", "-c", reached], check=True, capture_output=True, text=True
        )
        assert "ok" in answered.stdout, "workers reach Mooring at the address of this machine in their network"
    finally:
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 0, said
