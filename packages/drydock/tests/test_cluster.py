"""Clusters as a whole: the API, what moves in it and the nodes, in virtual time, on this machine and for Kubernetes."""

import asyncio
import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drydock.cluster import Cluster, LocalOptions, kubernetes_nodes, local_cluster, plain_nodes, virtual_cluster
from drydock.kubernetes.launcher import ControlPlane
from drydock.state_lock import state_folder
from drydock.virtual.loop import VirtualLoop, run_virtual
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.errors import Misconfigured
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import DEPLOYMENTS, JOBS, NODES, PODS, ROLEBINDINGS, ROLES, SERVICEACCOUNTS
from packages.drydock.tests.requirements import require_kubectl

START = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE_SECONDS = 20.0


def deployment(name: str, replicas: int, **container: Any) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"terminationGracePeriodSeconds": 1, "containers": [{"name": "app", "image": "sh", **container}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def job(name: str, **container: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "app", "image": "sh", **container}]}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": {"spec": pod}}}


async def until(client: KubeClient, kind: Any, name: str, holds: Callable[[dict[str, Any]], bool]) -> None:
    found: dict[str, Any] = {}
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(found := await client.get(kind.raw(), name, "default")):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{name} is {found.get('status')}") from None


def available(count: int) -> Callable[[dict[str, Any]], bool]:
    return lambda found: found.get("status", {}).get("availableReplicas", 0) == count


def restarted_once(pod: dict[str, Any]) -> bool:
    return bool(pod["status"]["containerStatuses"][0]["restartCount"] == 1)


def completed(found: dict[str, Any]) -> bool:
    return bool(found.get("status", {}).get("succeeded") == 1)


def virtual_day(seed: int) -> tuple[str, int]:
    async def main() -> tuple[str, int]:
        loop = VirtualLoop.running()
        async with virtual_cluster(loop.clock, Entropy(seed), plain_nodes(3)) as cluster:
            await loop.clock.sleep(1)
            await cluster.client.create(DEPLOYMENTS, deployment("web", 5))
            await cluster.client.create(JOBS, job("once"))
            await loop.clock.sleep(600)
            web = await cluster.client.get(DEPLOYMENTS.raw(), "web", "default")
            assert completed(await cluster.client.get(JOBS.raw(), "once", "default"))
            await cluster.client.delete(DEPLOYMENTS, "web", "default", propagation="Foreground")
            await loop.clock.sleep(60)
            left = [pod.metadata.name for pod in (await cluster.client.list(PODS)).items]
            assert [name.split("-")[0] for name in left] == ["once"]
            return loop.trace.digest, int(web["status"]["availableReplicas"])

    return run_virtual(main, seed=seed, start=START)


def test_a_virtual_cluster_runs_deployments_and_jobs_and_the_same_seed_gives_the_same_run() -> None:
    first, second = virtual_day(7), virtual_day(7)
    assert first == second
    assert first[1] == 5


async def use(cluster: Cluster) -> None:
    client = cluster.client
    nodes = [node.metadata.name for node in (await client.list(NODES)).items]
    assert set(cluster.fleet.node_names) <= set(nodes)
    await client.create(DEPLOYMENTS, deployment("web", 2, command=["sleep", "1000"]))
    await client.create(JOBS, job("once", command=["echo", "done"]))
    await until(client, DEPLOYMENTS, "web", available(2))
    await until(client, JOBS, "once", completed)
    pods = (await client.list(PODS, "default")).items
    assert [pod.status.phase for pod in pods if pod.metadata.name.startswith("once")] == ["Succeeded"]
    [name] = [pod.metadata.name for pod in pods if pod.metadata.name.startswith("once")]
    assert await client.logs(name, "default") == "done\n"


@pytest.mark.realtime
async def test_a_local_cluster_runs_processes_and_is_reached_through_its_kubeconfig(tmp_path: Path) -> None:
    clock = SystemClock()
    options = LocalOptions(nodes=plain_nodes(2))
    async with local_cluster(tmp_path / "state", clock, Entropy(), options) as cluster:
        assert cluster.kubeconfig
        assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
        connection = await connect(load_kubeconfig(cluster.kubeconfig).target(), clock)
        try:
            listed = await KubeClient(connection).list(NODES)
            assert [node.metadata.name for node in listed.items] == ["node-1", "node-2"]
        finally:
            await connection.close()
        await use(cluster)


@pytest.mark.realtime
async def test_a_process_finds_the_api_and_its_account_as_in_a_cluster(tmp_path: Path) -> None:
    """With kubectl, which looks for both by itself."""
    require_kubectl()

    async def main() -> None:
        async with local_cluster(tmp_path, SystemClock(), Entropy()) as cluster:
            client = cluster.client
            await client.create(SERVICEACCOUNTS, {"metadata": {"name": "looker"}}, "default")
            rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
            await client.create(ROLES, {"metadata": {"name": "look"}, "rules": rules}, "default")
            bound = {
                "metadata": {"name": "look"},
                "subjects": [{"kind": "ServiceAccount", "name": "looker", "namespace": "default"}],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "look"},
            }
            await client.create(ROLEBINDINGS, bound, "default")
            for name, account in (("allowed", "looker"), ("refused", "default")):
                body = job(name, command=["kubectl", "get", "pods", "-o", "name"])
                body["spec"]["template"]["spec"] |= {"serviceAccountName": account}
                await client.create(JOBS, body)
            await until(client, JOBS, "allowed", completed)
            pods = {pod.metadata.labels["job-name"]: pod.metadata.name for pod in (await client.list(PODS)).items}
            assert f"pod/{pods['allowed']}" in (await client.logs(pods["allowed"], "default")).splitlines()
            told = ""
            while "cannot list resource" not in told:
                told = await client.logs(pods["refused"], "default")
                await asyncio.sleep(0.1)
            assert 'User "system:serviceaccount:default:default"' in told

    await asyncio.wait_for(main(), 120)


@pytest.mark.realtime
async def test_what_a_local_cluster_held_runs_again_at_the_next_start(tmp_path: Path) -> None:
    async def second() -> list[str]:
        options = LocalOptions(nodes=plain_nodes(2))
        async with local_cluster(tmp_path, SystemClock(), Entropy(), options) as cluster:
            await until(cluster.client, DEPLOYMENTS, "web", available(2))
            return sorted(cluster.fleet.node_names)

    options = LocalOptions(nodes=plain_nodes(2))
    async with local_cluster(tmp_path, SystemClock(), Entropy(), options) as cluster:
        await cluster.client.create(DEPLOYMENTS, deployment("web", 2, command=["sleep", "1000"]))
        await until(cluster.client, DEPLOYMENTS, "web", available(2))
        await cluster.fleet.remove_node("node-2")
        await cluster.fleet.add_node("node-x")
    assert await second() == ["node-1", "node-x"], "the nodes it had, not those it was first made with"


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    in_use = pytest.raises(Misconfigured, match=f"in use by process {os.getpid()}")
    with state_folder(tmp_path), in_use, state_folder(tmp_path):
        pytest.fail("two owners")
    with state_folder(tmp_path):
        pass


def test_a_full_disk_is_reported_and_not_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", no_space)
    full = pytest.raises(Misconfigured, match="No space left on device")
    with full, state_folder(tmp_path):
        raise AssertionError("nobody holds it")


@pytest.mark.realtime
async def test_a_taken_port_is_told_in_a_line(tmp_path: Path) -> None:
    async with local_cluster(tmp_path / "one", SystemClock(), Entropy(), LocalOptions(nodes={})) as cluster:
        port = int(cluster.url.rsplit(":", 1)[1])
        options = LocalOptions(nodes={}, port=port)
        with pytest.raises(Misconfigured, match=f"cannot listen on 127.0.0.1:{port}"):
            async with local_cluster(tmp_path / "two", SystemClock(), Entropy(), options):
                pytest.fail("two on one port")


@pytest.mark.realtime
@pytest.mark.kubernetes
async def test_nodes_join_a_real_control_plane(control_plane: ControlPlane, tmp_path: Path) -> None:
    options = LocalOptions(nodes=plain_nodes(2))
    async with kubernetes_nodes(control_plane, tmp_path, SystemClock(), Entropy(), options) as cluster:
        await use(cluster)
        await cluster.client.delete(DEPLOYMENTS, "web", "default", propagation="Background")
        await cluster.client.delete(JOBS, "once", "default", propagation="Background")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await cluster.client.list(PODS, "default")).items:
                await asyncio.sleep(0.05)
        for name in list(cluster.fleet.node_names):
            await cluster.fleet.remove_node(name)
