"""`mooring sandbox`, as a process of its own: the same cluster as `drydock up`."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.realtime


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "mooring", "sandbox", "--state", str(folder), *more]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_it_says_when_it_is_ready_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    command = start(tmp_path, "--nodes", "2", "--runtime", "simulated")
    assert command.stdout
    line = command.stdout.readline()
    assert line.startswith("ready: https://127.0.0.1:")
    assert line.endswith(f"kubectl --kubeconfig {tmp_path / 'kubeconfig'} get nodes\n")
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=20)
    assert (command.returncode, said) == (0, "stopping\n")


@pytest.mark.parametrize(
    ("folder", "more", "code", "told"),
    [
        ("/proc/mooring", (), 1, "cannot keep state in /proc/mooring"),
        ("state", ("--runtime", "docker"), 2, "--runtime must be process or simulated"),
    ],
)
def test_a_command_that_cannot_start_says_why_in_a_line(
    tmp_path: Path, folder: str, more: tuple[str, ...], code: int, told: str
) -> None:
    command = start(tmp_path / folder, *more)
    _, said = command.communicate(timeout=20)
    assert command.returncode == code
    assert told in said
    assert "Traceback" not in said
