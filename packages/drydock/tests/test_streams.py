"""`kubectl exec` and `port-forward` into process pods: on the embedded API, under both loops, and on a real one."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop

from drydock.cluster import Cluster, LocalOptions, kubernetes_nodes, local_cluster, plain_nodes
from drydock.hosting import hosted
from drydock.kubernetes.launcher import ControlPlane
from hawser.clock import Entropy, SystemClock
from packages.drydock.tests.requirements import require_kubectl

pytestmark = pytest.mark.slow
OPTIONS = LocalOptions(nodes=plain_nodes(1))
PATIENCE_SECONDS = 30.0
WEB = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: shared, emptyDir: {}}]
  containers:
  - name: server
    image: python
    workingDir: /tmp
    env: [{name: GREETING, value: hello}]
    volumeMounts: [{name: shared, mountPath: /shared/place}]
    command: [python, -m, http.server, "8000", --bind, $(POD_IP)]
    readinessProbe: {tcpSocket: {port: 8000}, periodSeconds: 1}
  - {name: quiet, image: sleep, command: [sleep, infinity]}
"""


@dataclass(frozen=True)
class Box:
    """A cluster with a pod `web` in it, and kubectl for it."""

    kubectl: str
    kubeconfig: Path

    def command(self, *arguments: str) -> list[str]:
        return [self.kubectl, f"--kubeconfig={self.kubeconfig}", *arguments]

    def run(self, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(self.command(*arguments), input=stdin, capture_output=True, timeout=60, check=False)

    def exec(self, *command: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        flags = ["-i"] if stdin else []
        return self.run("exec", *flags, "web", "-c", "server", "--", *command, stdin=stdin)


@contextlib.asynccontextmanager
async def _embedded(folder: Path) -> AsyncIterator[Cluster]:
    async with local_cluster(folder, SystemClock(), Entropy(), OPTIONS) as cluster:
        yield cluster


@contextlib.asynccontextmanager
async def _real(folder: Path) -> AsyncIterator[Cluster]:
    clock, entropy = SystemClock(), Entropy()
    async with (
        ControlPlane.start(folder / "plane", clock=clock, entropy=entropy) as plane,
        kubernetes_nodes(plane, folder / "nodes", clock, entropy, OPTIONS) as cluster,
    ):
        yield cluster


_WORLDS: dict[str, tuple[Callable[[Path], contextlib.AbstractAsyncContextManager[Cluster]], Any]] = {
    "embedded": (_embedded, asyncio.run),
    "uvloop": (_embedded, uvloop.run),
    "kubernetes": (_real, asyncio.run),
}


@pytest.fixture(scope="module", params=["embedded", "uvloop", pytest.param("kubernetes", marks=pytest.mark.kubernetes)])
def box(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    kubectl = require_kubectl()
    open_cluster, run = _WORLDS[request.param]
    folder = tmp_path_factory.mktemp("streams")
    with hosted(lambda: open_cluster(folder), run=run) as host:
        assert host.value.kubeconfig is not None
        box = Box(kubectl, host.value.kubeconfig)
        _until(lambda: box.run("get", "serviceaccount", "default").returncode == 0)
        assert box.run("apply", "-f", "-", stdin=WEB.encode()).returncode == 0
        assert box.run("wait", "--for=condition=Ready", "pod/web", "--timeout=30s").returncode == 0
        yield box


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def _is_running(mark: str) -> bool:
    """Whether some `sleep` has this word on its command line."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                return True
    return False


def test_a_command_runs_as_the_container_does_and_its_exit_code_comes_back(box: Box) -> None:
    done = box.exec("sh", "-c", "pwd; echo $GREETING $HOSTNAME; touch /shared/place/x && echo oops >&2; exit 5")
    assert done.stdout.decode().splitlines() == ["/tmp", "hello web"]
    assert done.stderr.decode().splitlines() == ["oops", "command terminated with exit code 5"]
    assert done.returncode == 5
    assert box.exec("ls", "/shared/place").stdout == b"x\n"
    assert not Path("/shared/place").exists()


def test_a_command_reads_what_is_typed_to_its_end(box: Box) -> None:
    text = os.urandom(3_000_000)
    done = box.exec("cat", stdin=text)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == text


def test_a_command_that_does_not_read_its_input_ends_all_the_same(box: Box) -> None:
    assert box.exec("true", stdin=b"x" * 3_000_000).returncode == 0


def test_a_command_that_is_killed_ends_with_137(box: Box) -> None:
    assert box.exec("sh", "-c", "kill -9 $$").returncode == 137


def test_a_terminal_has_the_size_of_the_clients_window_and_follows_it(box: Box) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
    unsized = "[ $(stty size | tr -d ' ') = 00 ]"  # a terminal is made before its size is known
    unchanged = "[ \"$(stty size)\" = '33 101' ]"
    begin = f"while {unsized}; do sleep 0.05; done; tty; stty size"
    script = f"{begin}; read x; while {unchanged}; do sleep 0.05; done; stty size; exit 3"
    command = box.command("exec", "-it", "web", "-c", "server", "--", "sh", "-c", script)
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, start_new_session=True)
    os.close(slave)
    seen = b""
    while b"33 101" not in seen:
        seen += os.read(master, 1000)
    assert b"/dev/pts/" in seen
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 99, 0, 0))
    os.kill(process.pid, signal.SIGWINCH)
    os.write(master, b"go\r")
    with contextlib.suppress(OSError):
        while data := os.read(master, 1000):
            seen += data
    assert process.wait(20) == 3
    assert b"44 99" in seen
    assert process.stderr is not None
    process.stderr.close()
    os.close(master)


def test_a_client_that_is_killed_leaves_nothing_running(box: Box) -> None:
    mark = f"86{os.getpid()}.5"
    script = f"setsid sleep {mark} & exec sleep {mark}"
    with subprocess.Popen(box.command("exec", "web", "-c", "server", "--", "sh", "-c", script)) as client:
        try:
            _until(lambda: _is_running(mark))
        finally:
            client.kill()
    _until(lambda: not _is_running(mark))


def test_a_command_ends_with_its_container(box: Box) -> None:
    pod = WEB.replace("name: web", "name: brief").replace("8000", "8001")
    assert box.run("apply", "-f", "-", stdin=pod.encode()).returncode == 0
    assert box.run("wait", "--for=condition=Ready", "pod/brief", "--timeout=30s").returncode == 0
    mark = f"87{os.getpid()}.5"
    command = box.command("exec", "brief", "-c", "server", "--", "sleep", mark)
    with subprocess.Popen(command, stderr=subprocess.PIPE) as client:
        try:
            _until(lambda: _is_running(mark))
            assert box.run("delete", "pod", "brief").returncode == 0
            _, errors = client.communicate(timeout=20)
            assert client.returncode == 137, errors
        finally:
            client.kill()
    assert not _is_running(mark)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["web", "-c", "nobody", "--", "ls"], "container nobody is not valid for pod web"),
        (["nobody", "--", "ls"], 'pods "nobody" not found'),
        (["web", "-c", "server", "--", "no-such-program"], '"no-such-program": executable file not found in $PATH'),
    ],
)
def test_what_cannot_be_run_is_told(box: Box, arguments: list[str], words: str) -> None:
    done = box.run("exec", *arguments)
    assert done.returncode == 1
    assert words in done.stderr.decode()


def test_a_container_that_does_not_run_is_told(box: Box) -> None:
    pod = WEB.replace("name: web", "name: stuck").replace("image: python", "image: example.invalid/x")
    assert box.run("apply", "-f", "-", stdin=pod.encode()).returncode == 0
    _until(lambda: b"ImagePullBackOff" in box.run("get", "pod", "stuck").stdout)
    done = box.run("exec", "stuck", "-c", "server", "--", "ls")
    assert done.returncode == 1
    assert 'container "server" in pod "stuck" is not running: ImagePullBackOff' in done.stderr.decode()


@contextlib.contextmanager
def _forwarding(box: Box, port: int) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    """A free local port that leads to a port of `web`."""
    command = box.command("port-forward", "pod/web", f":{port}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found
        try:
            yield int(found[1]), process
        finally:
            process.kill()


def test_a_port_can_be_reached_again_and_again(box: Box) -> None:
    with _forwarding(box, 8000) as (port, _):
        for _ in range(5):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
                assert answer.status == 200
                assert b"Directory listing" in answer.read()


def test_a_port_that_nobody_listens_on_is_told(box: Box) -> None:
    with _forwarding(box, 9) as (port, process):
        with pytest.raises(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10)
        assert process.stderr is not None
        assert "error forwarding port 9: Connection refused" in process.stderr.read()


def test_nothing_stays_open_afterwards(box: Box) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    box.exec("true")
    _until(lambda: not _changes(open_files))
    before = open_files()
    for _ in range(5):
        box.exec("echo", "x")
        box.exec("cat", stdin=b"x")
        with _forwarding(box, 8000) as (port, _):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).close()
    _until(lambda: open_files() <= before + 1)  # one for a connection that is about to be closed


def _changes(read: Callable[[], int]) -> bool:
    first = read()
    time.sleep(0.3)
    return read() != first
