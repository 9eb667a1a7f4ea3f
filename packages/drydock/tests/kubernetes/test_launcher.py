"""The real control plane: it starts, serves, keeps what it holds, and never outlives whoever started it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yaml

from drydock.kubernetes.binaries import Binaries, find_binaries
from drydock.kubernetes.components import PlaneOptions
from drydock.kubernetes.launcher import ControlPlane, ControlPlaneFailed
from drydock.kubernetes.toolchain import BinariesMissing
from hawser.client import KubeClient
from hawser.clock import Entropy, SystemClock
from hawser.connection import connect
from hawser.kubeconfig import load_kubeconfig
from hawser.resources import CONFIGMAPS, SERVICEACCOUNTS
from packages.drydock.tests.requirements import require_kubernetes

pytestmark = [pytest.mark.kubernetes, pytest.mark.realtime]


@pytest.fixture(autouse=True)
def needs_programs() -> None:
    require_kubernetes()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_token_for_our_audience_can_be_requested_and_reviewed(control_plane: ControlPlane) -> None:
    connection = await connect(load_kubeconfig(control_plane.kubeconfig).target(), SystemClock())
    client = KubeClient(connection)
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"name": "default"},
        "spec": {"audiences": ["mooring-dispatch"], "expirationSeconds": 600},
    }
    answer = await client.create(SERVICEACCOUNTS.raw(), body, "default", subresource="token")
    review = await client.review_token(answer["status"]["token"], ["mooring-dispatch"])
    await connection.close()
    assert review.authenticated
    assert review.username == "system:serviceaccount:default:default"


def test_the_kubeconfig_is_for_its_owner_only_and_complete(control_plane: ControlPlane) -> None:
    assert control_plane.kubeconfig.stat().st_mode & 0o777 == 0o600
    document = yaml.safe_load(control_plane.kubeconfig.read_text())
    assert document["clusters"][0]["cluster"]["server"] == control_plane.url
    assert document["clusters"][0]["cluster"]["certificate-authority-data"]
    assert document["users"][0]["user"]["token"] == control_plane.token


_OWNER = """
import asyncio, sys
from pathlib import Path
from hawser.clock import Entropy, SystemClock
from drydock.kubernetes.launcher import ControlPlane

async def main():
    async with ControlPlane.start(Path(sys.argv[1]), clock=SystemClock(), entropy=Entropy()) as plane:
        print(*plane.pids.values(), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_what_it_holds_survives_the_kill_of_its_owner_and_its_programs_do_not(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 4

    target = load_kubeconfig(tmp_path / "kubeconfig").target()
    connection = await connect(target, SystemClock())
    body = {"metadata": {"name": "kept", "namespace": "default"}, "data": {"a": "1"}}
    await KubeClient(connection).create(CONFIGMAPS, body)
    await connection.close()
    server = target.server
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 30
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    async def read() -> None:
        clock = SystemClock()
        async with ControlPlane.start(tmp_path, clock=clock, entropy=Entropy()) as plane:
            assert plane.url == server, "a kubeconfig that was handed out stays true"
            connection = await connect(load_kubeconfig(plane.kubeconfig).target(), clock)
            found = await KubeClient(connection).get(CONFIGMAPS.raw(), "kept", "default")
            await connection.close()
            assert found["data"] == {"a": "1"}

    await read()


async def test_a_temporary_plane_leaves_no_folder_and_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async with ControlPlane.start(None, clock=SystemClock(), entropy=Entropy()) as plane:
        assert plane.kubeconfig.is_relative_to(tmp_path)
        assert 100 < plane.memory_bytes() / 1e6 < 1200
        pids = list(plane.pids.values())
    assert not any(is_alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


async def test_a_program_that_ends_at_start_is_told_with_the_end_of_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_binaries()
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho 'the disk is on fire' >&2\nexit 3\n")
    broken.chmod(0o755)
    binaries = Binaries(broken, found.controller_manager, found.scheduler, found.etcd)
    monkeypatch.setattr("drydock.kubernetes.launcher.find_binaries", lambda: binaries)

    with pytest.raises(ControlPlaneFailed, match="kube-apiserver ended with code 3:\nthe disk is on fire"):
        async with ControlPlane.start(tmp_path / "state", clock=SystemClock(), entropy=Entropy()):
            pytest.fail("it cannot have started")


async def test_a_taken_port_is_told_at_once(tmp_path: Path) -> None:
    async def main(port: int) -> None:
        options = PlaneOptions(port=port)
        async with ControlPlane.start(tmp_path, clock=SystemClock(), entropy=Entropy(), options=options):
            pytest.fail("it cannot have started")

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ControlPlaneFailed, match=f"port {port} is taken"):
            await main(port)


def test_missing_programs_are_named_with_the_way_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(BinariesMissing, match="kube-apiserver, kube-controller-manager, kube-scheduler") as missing:
        find_binaries()
    assert missing.value.fix == "drydock build, or make kubernetes in a clone of the repository"


def test_an_interrupted_start_leaves_no_process(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    log = tmp_path / "logs" / "etcd.log"
    deadline = time.monotonic() + 20
    while not log.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    mark = f"DRYDOCK_SUPERVISOR={tmp_path.resolve()}".encode()
    while any(mark in environment(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
