"""Mooring in a cluster that was there before: installed with kubectl, served from settings, counted at the door."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from drydock import ClusterAccess, write_kubeconfig
from packages.mooring.tests.acceptance.counting import CountingDoor, counting_door
from packages.mooring.tests.acceptance.world import MOORING, Up, clean_environment, run_command, until
from packages.mooring.tests.postgres import PostgresForTests, postgres
from packages.mooring.tests.requirements import require_kubectl

__all__ = ["postgres"]
pytestmark = pytest.mark.slow

TOKEN = "a-token-that-an-operator-chose"
QUIET_SECONDS = 20
POOL: dict[str, Any] = {
    "apiVersion": "mooring.dev/v1alpha1",
    "kind": "WorkerPool",
    "metadata": {"name": "builders", "namespace": "default"},
    "spec": {
        "warm": 3,
        "max": 5,
        "template": {
            "spec": {"containers": [{"name": "worker", "image": "busybox", "command": ["sleep", "infinity"]}]}
        },
    },
}


class Cluster:
    """A `mooring sandbox` whose door is watched."""

    def __init__(self, folder: Path, door: CountingDoor) -> None:
        self.door = door
        self.token = (folder / "token").read_text().strip()
        self.kubeconfig = folder / "kubeconfig"
        self.through_the_door = folder / "kubeconfig-counted"
        write_kubeconfig(self.through_the_door, ClusterAccess(door.url, token=self.token, name="counted"))

    def as_mooring(self, folder: Path) -> Path:
        """A kubeconfig with the account that was installed: the admission policy reserves its marks to it."""
        token = self.kubectl("-n", "mooring", "create", "token", "mooring").strip()
        write_kubeconfig(folder / "kubeconfig", ClusterAccess(self.door.url, token=token, name="counted"))
        return folder / "kubeconfig"

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        command = [require_kubectl(), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pods(self) -> list[str]:
        found = json.loads(self.kubectl("get", "pods", "-l", "mooring.dev/pool=builders", "-o", "json"))["items"]
        return sorted(pod["metadata"]["name"] for pod in found)


@contextmanager
def process(*arguments: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A `mooring` command that runs until it is interrupted, and then ends well."""
    with open(log, "wb") as out:
        running = subprocess.Popen(
            [MOORING, *arguments], stdout=out, stderr=out, env={**clean_environment(), **environment}
        )
    try:
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0, log.read_text()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require_kubectl()
    home = tmp_path_factory.mktemp("cluster")
    folder, log = home / "sandbox", home / "log"
    with process("sandbox", "--state", str(folder), "--nodes", "2", "--runtime", "simulated", log=log):
        until(lambda: log.read_text().startswith("ready: "), 30, "the sandbox is ready")
        upstream = log.read_text().split()[1]
        with counting_door(upstream) as door:
            yield Cluster(folder, door)


@pytest.fixture(scope="module")
def served(cluster: Cluster, postgres: PostgresForTests, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a `mooring serve` on that cluster."""
    cluster.kubectl("apply", "-f", "-", text=run_command("install").out)
    home = tmp_path_factory.mktemp("served")
    settings = {
        "MOORING_PORT": "0",
        "MOORING_STATE": str(home / "state"),
        "MOORING_DATABASE": postgres.fresh_database(),
        "MOORING_KUBECONFIG": str(cluster.as_mooring(home)),
        "MOORING_TOKEN": TOKEN,
    }
    log = home / "log"
    with process("serve", log=log, **settings):
        until(lambda: "mooring serves http" in log.read_text(), 30, "it serves")
        yield log.read_text().split("mooring serves ")[1].split()[0]


@pytest.fixture(scope="module")
def floor(cluster: Cluster, served: str) -> list[str]:
    """A pool whose floor is held, and every write that led there."""
    before = len(cluster.door.writes)
    cluster.kubectl("apply", "-f", "-", text=json.dumps(POOL))

    def held() -> bool:
        pools = httpx.get(f"{served}/v1/pools", headers={"Authorization": f"Bearer {TOKEN}"}).json()["items"]
        return any(pool["status"]["idle"] == 3 for pool in pools)

    until(held, 30, "3 idle workers")
    return cluster.door.writes[before:]


def test_what_install_prints_is_what_serve_needs(served: str):
    assert httpx.get(f"{served}/readyz").status_code == 200


def test_a_floor_of_three_costs_three_creates(floor: list[str], cluster: Cluster):
    assert floor.count("POST /api/v1/namespaces/default/pods") == 3
    assert cluster.pods() == ["builders-0", "builders-1", "builders-2"]


def test_a_settled_fleet_writes_nothing(floor: list[str], cluster: Cluster):
    time.sleep(3)
    before, reads = list(cluster.door.writes), cluster.door.reads
    time.sleep(QUIET_SECONDS)
    assert cluster.door.writes[len(before) :] == []
    print(f"{QUIET_SECONDS} s: no writes, {cluster.door.reads - reads} reads")


@pytest.mark.parametrize("path", ["/", "/audit", "/workers.json", "/stream"])
def test_in_a_cluster_pages_want_a_login(served: str, path: str):
    assert httpx.get(f"{served}{path}").status_code == 401


def test_in_a_cluster_a_browser_is_led_to_the_login_and_then_in(served: str):
    with httpx.Client(base_url=served, headers={"Accept": "text/html"}, follow_redirects=True) as visitor:
        assert "<h1>Log in</h1>" in visitor.get("/").text
        assert "<h1>Fleet</h1>" in visitor.post("/login", data={"token": TOKEN}).text


def test_up_on_an_existing_cluster_brings_no_demo_and_takes_nothing_away(cluster: Cluster):
    namespaces = cluster.kubectl("get", "namespaces", "-o", "name")
    pods = cluster.pods()
    up = Up("--context", "counted", environment={"KUBECONFIG": str(cluster.through_the_door)})
    try:
        up.start()
        assert "kubectl --context counted" in up.err()
        assert not up.kubeconfig.exists()
        assert up.interrupt() == 0
        assert not up.processes()
    finally:
        up.close()
    assert cluster.kubectl("get", "namespaces", "-o", "name") == namespaces
    assert cluster.pods() == pods
