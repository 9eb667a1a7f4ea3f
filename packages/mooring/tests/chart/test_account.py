"""Mooring with the rights that the chart gives it, and nothing more, on a real API server."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from packages.mooring.tests.acceptance.world import MOORING, clean_environment, run_command
from packages.mooring.tests.chart.cluster import RealCluster, cluster
from packages.mooring.tests.chart.rendering import Body, by_name
from packages.mooring.tests.postgres import PostgresForTests, postgres

__all__ = ["cluster", "postgres"]
pytestmark = [pytest.mark.kubernetes, pytest.mark.slow]

TOKEN = "a-token-that-an-operator-chose"
AS_OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
MARKS = ("mooring.dev/owner", "mooring.dev/busy", "mooring.dev/claim", "karpenter.sh/do-not-disrupt")


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[str]:
    """The address of a `mooring serve` with these settings."""
    log = folder / "log"
    environment = {"MOORING_PORT": "0", "MOORING_STATE": str(folder / "state"), "MOORING_TOKEN": TOKEN, **settings}
    with open(log, "wb") as out:
        running = subprocess.Popen([MOORING, "serve"], stdout=out, stderr=out, env=clean_environment() | environment)
    try:
        RealCluster(folder, folder).until(lambda: "mooring serves http" in log.read_text(), "it serves")
        yield log.read_text().split("mooring serves ")[1].split()[0]
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(30)


def pool(namespace: str) -> Body:
    template = {"spec": {"containers": [{"name": "main", "image": "worker"}]}}
    meta = {"name": "linux", "namespace": namespace}
    spec = {"warm": 2, "max": 4, "reuse": "Always", "serviceAccount": "PerWorker", "template": template}
    return {"apiVersion": "mooring.dev/v1alpha1", "kind": "WorkerPool", "metadata": meta, "spec": spec}


def workers(cluster: RealCluster, namespace: str) -> list[Body]:
    found: list[Body] = cluster.get("-n", namespace, "pods", "-l", "mooring.dev/pool=linux")
    return found


def marks(pods: list[Body]) -> list[str]:
    everything = [{**pod["metadata"].get("labels", {}), **pod["metadata"].get("annotations", {})} for pod in pods]
    return [mark for one in everything for mark in MARKS if mark in one]


@pytest.mark.parametrize("wide", [True, False], ids=["all namespaces", "one namespace"])
def test_a_release_works_and_leaves_with_the_rights_of_its_account(
    cluster: RealCluster, postgres: PostgresForTests, tmp_path: Path, wide: bool
):
    home, work = ("wide", "wide-work") if wide else ("narrow", "narrow-work")
    for name in (home, work):
        cluster.make_namespace(name)
    values: Body = {"crds": {"keep": False}, "replicas": 1, **({} if wide else {"watchNamespaces": [work]})}
    cluster.install("mooring", home, values)
    manifest = cluster.helm("get", "hooks", "mooring", "--namespace", home).out
    account = cluster.as_account(home)
    cluster.kubectl("wait", "--for=condition=established", "crd/workerpools.mooring.dev")
    settings = {
        "MOORING_DATABASE": postgres.fresh_database(),
        "MOORING_KUBECONFIG": str(account),
        "MOORING_NAMESPACES": "" if wide else work,
    }
    with serving(tmp_path, **settings) as url:
        cluster.until(lambda: httpx.get(f"{url}/readyz").status_code == 200, "it is ready")
        cluster.apply(pool(work))
        cluster.until(lambda: len(workers(cluster, work)) == 2, "the floor is held")
        cluster.until(lambda: claim(url, work) == 201, "a worker is claimed")
        failed = [check for check in doctor(url) if check["status"] == "fail" and "permission" in check["id"]]
        assert failed == []
    before = {pod["metadata"]["uid"] for pod in workers(cluster, work)}
    assert marks(workers(cluster, work)), "it was killed with a session running"

    [container] = by_name(manifest)["Job", "mooring-uninstall"]["spec"]["template"]["spec"]["containers"]
    cluster.kubectl("-n", home, "delete", "pods", "--all", "--wait=false")
    done = run_command(*container["args"], "--kubeconfig", str(account), within=120)
    assert done.code == 0, done.err
    pods = workers(cluster, work)
    assert {pod["metadata"]["uid"] for pod in pods} == before and marks(pods) == []
    assert cluster.get("-n", work, "pdb") == []
    cluster.helm("uninstall", "mooring", "--namespace", home, "--wait", "--timeout", "90s")


def claim(url: str, namespace: str) -> int:
    body = {"owner": "acme", "ttlSeconds": 3600, "wait": 1}
    return httpx.post(f"{url}/v1/pools/{namespace}/linux/claims", json=body, headers=AS_OPERATOR).status_code


def doctor(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{url}/v1/doctor", headers=AS_OPERATOR, timeout=30).json()["checks"]
    return found
