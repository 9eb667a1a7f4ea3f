"""A cluster of real nodes in the foreground: nothing outlives it, however it ends, and a second start goes on."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from packages.drydock.tests.requirements import require_kubectl, require_nodes

pytestmark = [pytest.mark.nodes, pytest.mark.slow, pytest.mark.realtime]

GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture(autouse=True)
def machine() -> None:
    require_nodes()


def start(folder: Path) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "drydock", "nodes", "--nodes", "1", "--state", str(folder)]
    command = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert command.stdout
    line = command.stdout.readline()
    assert line.startswith("ready: https://10."), command.stderr and command.stderr.read()
    return command


def kubectl(folder: Path, *arguments: str) -> str:
    argv = [require_kubectl(), "--kubeconfig", str(folder / "kubeconfig"), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def processes_of(folder: Path) -> Iterator[str]:
    """Processes with the folder in their command line, or that live on its disks."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
                mounted = str(folder) in (entry / "mountinfo").read_text()
            except OSError:
                continue
            if str(folder) in line or mounted:
                yield line


def left_by(folder: Path) -> list[str]:
    """What is left of the cluster in that folder: processes, mounts, links. Namespaces go with their processes."""
    found = [f"process {line}" for line in processes_of(folder)]
    found += [f"mount {line}" for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line]
    links = json.loads(subprocess.run(["ip", "-json", "link"], check=True, capture_output=True, text=True).stdout)
    own = f"dry{sha256(str(folder).encode()).hexdigest()[:8]}"
    found += [f"link {link['ifname']}" for link in links if link["ifname"] == own]
    return found


def until_nothing_is_left(folder: Path, pid: int) -> None:
    deadline = time.monotonic() + 20
    while found := [*left_by(folder), *groups_of(pid)]:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)


def groups_of(pid: int) -> list[Path]:
    return [*GROUPS.glob(f"*/drydock-*-{pid}"), *GROUPS.glob(f"drydock-*-{pid}")]


def test_nothing_is_left_after_an_interrupt(tmp_path: Path) -> None:
    command = start(tmp_path)
    kubectl(tmp_path, "run", "p", "--image=busybox:stable", "--", "sleep", "1000")
    kubectl(tmp_path, "wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
    assert groups_of(command.pid)
    assert any(found.startswith("link ") for found in left_by(tmp_path))
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=60)
    assert (command.returncode, "Traceback" in said) == (0, False), said
    until_nothing_is_left(tmp_path, command.pid)


def test_a_killed_cluster_leaves_no_process_and_goes_on_at_its_second_start(tmp_path: Path) -> None:
    command = start(tmp_path)
    kubectl(tmp_path, "run", "p", "--image=busybox:stable", "--", "sleep", "1000")
    kubectl(tmp_path, "wait", "pod/p", "--for=condition=Ready", "--timeout=60s")
    boot = kubectl(tmp_path, "get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.bootID}")
    command.kill()
    command.communicate()
    until_nothing_is_left(tmp_path, command.pid)

    again = start(tmp_path)
    try:
        kubectl(
            tmp_path, "wait", "pod/p", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "--timeout=90s"
        )
        assert boot != kubectl(tmp_path, "get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.bootID}")
    finally:
        again.send_signal(signal.SIGTERM)
        _, said = again.communicate(timeout=60)
    assert (again.returncode, "Traceback" in said) == (0, False), said
    until_nothing_is_left(tmp_path, again.pid)
