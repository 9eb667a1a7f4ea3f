"""`claim`: hold a worker while a command runs, and give it back."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from mooring.cli.output import printable
from mooring.client.connection import Endpoint
from mooring.client.leases import Lease
from mooring.client.leasing import Waiting
from mooring.client.sdk import Mooring

STOP_SECONDS = 10.0
_LOOK_SECONDS = 0.25
_NOT_RUNNABLE, _NOT_FOUND = 126, 127  # as shells say it
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ClaimCommand:
    """The arguments of `claim`."""

    pool: str
    command: tuple[str, ...]
    owner: str
    ttl: str
    wait: str
    key: str
    priority: int


def run_claim(asked: ClaimCommand, endpoint: Endpoint) -> int:
    """The exit code of the command. A lost lease ends the command and is raised."""
    signals = _Signals()
    lease = Mooring(endpoint.url, endpoint.token).claim(
        asked.pool,
        owner=asked.owner,
        ttl=asked.ttl,
        wait=asked.wait,
        key=asked.key,
        priority=asked.priority,
        on_wait=_tell_wait,
    )
    with signals, lease:
        _say(f"claim/{lease.id}: worker {lease.worker.name} at {lease.worker.address}")
        try:
            child = _start(asked.command, lease)
        except FileNotFoundError as error:
            _say(f"{error.filename}: {error.strerror}")
            return _NOT_FOUND
        except OSError as error:
            _say(f"{asked.command[0]}: {error.strerror}")
            return _NOT_RUNNABLE
        with _in_foreground(child):
            signals.pass_on_to(child)
            return _await_end(child, lease)


class _Signals:
    """Signals go to the command; before there is one, they end the wait for it."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}

    def pass_on_to(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, self._handle) for number in _PASSED_ON}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._child is None:
            raise KeyboardInterrupt
        _signal_group(self._child, number)


def _start(command: tuple[str, ...], lease: Lease) -> subprocess.Popen[bytes]:
    environment = {
        "MOORING_CLAIM_ID": lease.id,
        "MOORING_EPOCH": str(lease.epoch),
        "MOORING_WORKER_NAME": lease.worker.name,
        "MOORING_WORKER_ADDRESS": lease.worker.address,
    }
    if lease.payload is not None:
        environment["MOORING_PAYLOAD"] = json.dumps(lease.payload)
    # A group of its own: when the lease is lost, everything it started has to end with it.
    return subprocess.Popen(command, env={**os.environ, **environment}, process_group=0)


def _await_end(child: subprocess.Popen[bytes], lease: Lease) -> int:
    ended = threading.Event()

    def wait() -> None:
        child.wait()
        ended.set()

    threading.Thread(target=wait, name="mooring-command", daemon=True).start()
    while not ended.wait(_LOOK_SECONDS):
        if (lost := lease.lost) is not None:
            _say(f"{lost.message}; the command is stopped")
            _signal_group(child, signal.SIGTERM)
            ended.wait(STOP_SECONDS)
            _signal_group(child, signal.SIGKILL)
            ended.wait(STOP_SECONDS)
            raise lost
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


@contextlib.contextmanager
def _in_foreground(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """On a terminal the command gets the keyboard, as it would from a shell."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    ours = os.getpgrp()
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError):  # it has ended already, or the terminal is not ours
            os.tcsetpgrp(terminal, child.pid)
            os.killpg(child.pid, signal.SIGCONT)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(terminal, ours)
        signal.signal(signal.SIGTTOU, before)


def _tell_wait(waiting: Waiting) -> None:
    _say(f"{waiting.why.message}, for {waiting.waited_seconds:.0f} s ({'; '.join(waiting.why.blockers)})")


def _say(message: str) -> None:
    print(printable(f"mooring: {message}"), file=sys.stderr, flush=True)
