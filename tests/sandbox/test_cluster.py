"""Clusters as a whole: the API, what moves in it and the nodes, in virtual time, on this machine and for Kubernetes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mooring.clock import Entropy, SystemClock
from mooring.kube.client import KubeClient
from mooring.kube.connection import connect
from mooring.kube.kubeconfig import load_kubeconfig
from mooring.kube.resources import DEPLOYMENTS, JOBS, NODES, PODS
from mooring.model.errors import Misconfigured
from mooring.sandbox.cluster import LocalOptions, Sandbox, kubernetes_nodes, local_sandbox, plain_nodes, virtual_sandbox
from mooring.sandbox.kubernetes.launcher import ControlPlane
from mooring.sandbox.state_lock import state_folder
from mooring.sandbox.virtual import VirtualLoop, run_virtual

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
        async with virtual_sandbox(loop.clock, Entropy(seed), plain_nodes(3)) as sandbox:
            await loop.clock.sleep(1)
            await sandbox.client.create(DEPLOYMENTS, deployment("web", 5))
            await sandbox.client.create(JOBS, job("once"))
            await loop.clock.sleep(600)
            web = await sandbox.client.get(DEPLOYMENTS.raw(), "web", "default")
            assert completed(await sandbox.client.get(JOBS.raw(), "once", "default"))
            await sandbox.client.delete(DEPLOYMENTS, "web", "default", propagation="Foreground")
            await loop.clock.sleep(60)
            left = [pod.metadata.name for pod in (await sandbox.client.list(PODS)).items]
            assert [name.split("-")[0] for name in left] == ["once"]
            return loop.trace.digest, int(web["status"]["availableReplicas"])

    return run_virtual(main, seed=seed, start=START)


def test_a_virtual_cluster_runs_deployments_and_jobs_and_the_same_seed_gives_the_same_run() -> None:
    first, second = virtual_day(7), virtual_day(7)
    assert first == second
    assert first[1] == 5


async def use(sandbox: Sandbox) -> None:
    client = sandbox.client
    nodes = [node.metadata.name for node in (await client.list(NODES)).items]
    assert set(sandbox.fleet.node_names) <= set(nodes)
    await client.create(DEPLOYMENTS, deployment("web", 2, command=["sleep", "1000"]))
    await client.create(JOBS, job("once", command=["echo", "done"]))
    await until(client, DEPLOYMENTS, "web", available(2))
    await until(client, JOBS, "once", completed)
    pods = (await client.list(PODS, "default")).items
    assert [pod.status.phase for pod in pods if pod.metadata.name.startswith("once")] == ["Succeeded"]
    [name] = [pod.metadata.name for pod in pods if pod.metadata.name.startswith("once")]
    assert await client.logs(name, "default") == "done\n"


def test_a_local_cluster_runs_processes_and_is_reached_through_its_kubeconfig(tmp_path: Path) -> None:
    async def main() -> None:
        clock = SystemClock()
        options = LocalOptions(nodes=plain_nodes(2))
        async with local_sandbox(tmp_path / "state", clock, Entropy(), options) as sandbox:
            assert sandbox.kubeconfig
            assert sandbox.kubeconfig.stat().st_mode & 0o777 == 0o600
            connection = await connect(load_kubeconfig(sandbox.kubeconfig).target(), clock)
            try:
                listed = await KubeClient(connection).list(NODES)
                assert [node.metadata.name for node in listed.items] == ["node-1", "node-2"]
            finally:
                await connection.close()
            await use(sandbox)

    asyncio.run(main())


def test_what_a_local_cluster_held_runs_again_at_the_next_start(tmp_path: Path) -> None:
    async def first() -> None:
        options = LocalOptions(nodes=plain_nodes(2))
        async with local_sandbox(tmp_path, SystemClock(), Entropy(), options) as sandbox:
            await sandbox.client.create(DEPLOYMENTS, deployment("web", 2, command=["sleep", "1000"]))
            await until(sandbox.client, DEPLOYMENTS, "web", available(2))
            await sandbox.fleet.remove_node("node-2")
            await sandbox.fleet.add_node("node-x")

    async def second() -> list[str]:
        options = LocalOptions(nodes=plain_nodes(2))
        async with local_sandbox(tmp_path, SystemClock(), Entropy(), options) as sandbox:
            await until(sandbox.client, DEPLOYMENTS, "web", available(2))
            return sorted(sandbox.fleet.node_names)

    asyncio.run(first())
    assert asyncio.run(second()) == ["node-1", "node-x"], "the nodes it had, not those it was first made with"


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    in_use = pytest.raises(Misconfigured, match=f"in use by process {os.getpid()}")
    with state_folder(tmp_path), in_use, state_folder(tmp_path):
        pytest.fail("two owners")
    with state_folder(tmp_path):
        pass


def start_command(folder: Path, *more: str) -> subprocess.Popen[str]:
    program = (
        "import sys; from pathlib import Path; from mooring.cli.failures import guarded;"
        "from mooring.cli.sandbox import SandboxCommand, run_sandbox;"
        "guarded(lambda: run_sandbox(SandboxCommand(1, Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))"
    )
    argv = [sys.executable, "-c", program, str(folder), *(more or ("0", "process"))]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_says_when_it_is_ready_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    assert command.stdout
    line = command.stdout.readline()
    assert line.startswith("ready: https://127.0.0.1:")
    mark = f"MOORING_SUPERVISOR={tmp_path.resolve() / 'nodes'}".encode()

    async def make() -> None:
        connection = await connect(load_kubeconfig(tmp_path / "kubeconfig").target(), SystemClock())
        client = KubeClient(connection)
        await client.create(DEPLOYMENTS, deployment("web", 1, command=["sleep", "1000"]))
        await until(client, DEPLOYMENTS, "web", available(1))
        await connection.close()

    asyncio.run(make())
    assert marked(mark)
    command.send_signal(signal.SIGINT)
    _, told = command.communicate(timeout=20)
    assert command.returncode == 0, told
    deadline = time.monotonic() + 5
    while marked(mark):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_cluster_that_was_killed_leaves_no_process_and_goes_on_with_what_it_held(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    assert command.stdout
    command.stdout.readline()
    mark = f"MOORING_SUPERVISOR={tmp_path.resolve() / 'nodes'}".encode()

    async def make() -> None:
        connection = await connect(load_kubeconfig(tmp_path / "kubeconfig").target(), SystemClock())
        client = KubeClient(connection)
        await client.create(DEPLOYMENTS, deployment("web", 1, command=["sleep", "1000"]))
        await until(client, DEPLOYMENTS, "web", available(1))
        await connection.close()

    asyncio.run(make())
    command.kill()
    command.communicate()
    deadline = time.monotonic() + 5
    while marked(mark):
        assert time.monotonic() < deadline
        time.sleep(0.02)

    async def again() -> None:
        async with local_sandbox(tmp_path, SystemClock(), Entropy()) as sandbox:
            [pod] = (await sandbox.client.list(PODS, "default")).items
            await until(sandbox.client, PODS, pod.metadata.name, restarted_once)
            await until(sandbox.client, DEPLOYMENTS, "web", available(1))

    asyncio.run(again())


def marked(mark: bytes) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("folder", "more", "code", "told"),
    [
        ("/proc/mooring", ("0", "process"), 1, "cannot keep state in /proc/mooring"),
        ("state", ("0", "docker"), 2, "--runtime must be process or simulated"),
    ],
)
def test_a_command_that_cannot_start_says_why_in_a_line(
    tmp_path: Path, folder: str, more: tuple[str, ...], code: int, told: str
) -> None:
    command = start_command(tmp_path / folder, *more)
    _, said = command.communicate(timeout=20)
    assert command.returncode == code
    assert told in said
    assert "Traceback" not in said


def test_a_taken_port_is_told_in_a_line(tmp_path: Path) -> None:
    async def main() -> None:
        async with local_sandbox(tmp_path / "one", SystemClock(), Entropy(), LocalOptions(nodes={})) as sandbox:
            port = int(sandbox.url.rsplit(":", 1)[1])
            options = LocalOptions(nodes={}, port=port)
            with pytest.raises(Misconfigured, match=f"cannot listen on 127.0.0.1:{port}"):
                async with local_sandbox(tmp_path / "two", SystemClock(), Entropy(), options):
                    pytest.fail("two on one port")

    asyncio.run(main())


@pytest.mark.kubernetes
def test_nodes_join_a_real_control_plane(control_plane: ControlPlane, tmp_path: Path) -> None:
    async def main() -> None:
        options = LocalOptions(nodes=plain_nodes(2))
        async with kubernetes_nodes(control_plane, tmp_path, SystemClock(), Entropy(), options) as sandbox:
            await use(sandbox)
            await sandbox.client.delete(DEPLOYMENTS, "web", "default", propagation="Background")
            await sandbox.client.delete(JOBS, "once", "default", propagation="Background")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while (await sandbox.client.list(PODS, "default")).items:
                    await asyncio.sleep(0.05)
            for name in list(sandbox.fleet.node_names):
                await sandbox.fleet.remove_node(name)

    asyncio.run(main())
