"""`mooring claim`: hold a worker while a command runs, then release it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import FrameType
from urllib.parse import quote

from hawser.clock import SystemClock
from mooring.cli.output import printable
from mooring.cli.remote.listings import POOLS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.cli.remote.wait_reports import WaitReports
from mooring.client.connection import Connection, Endpoint
from mooring.client.durations import parse_seconds
from mooring.client.errors import RemoteError
from mooring.client.records import read_dispatch
from mooring.client.sdk import Claim, Mooring
from mooring.model.errors import InvalidInput

STOP_SECONDS = 10.0
_CHECK_SECONDS = 0.25
_LOOK_SECONDS = 5.0  # at the pool, before it is claimed
_NOT_RUNNABLE, _NOT_FOUND = 126, 127  # as in shells
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
    detached: bool = False


def run_claim(asked: ClaimCommand, endpoint: Endpoint) -> int:
    """Returns the exit code of the command. A lost claim ends the command and raises `LeaseLost`."""
    asked = with_full_pool(asked, Connection(endpoint))
    dispatch, asked = find_dispatch(asked, endpoint)
    if dispatch == "Poll":
        # Such workers run what the payload says and end the claim themselves: nothing would be held here.
        rule = (
            "a pool with 'dispatch: Push'; workers of this one fetch their sessions:"
            " 'mooring run POOL -- CMD', or run() of the SDK"
        )
        raise InvalidInput("pool", asked.pool, rule)
    return hold_and_run(asked, endpoint, lambda _: asked.command)


def hold_and_run(asked: ClaimCommand, endpoint: Endpoint, find_words: Callable[[Claim], tuple[str, ...]]) -> int:
    """Hold a worker while the words that belong to it run here as a command; returns its exit code."""
    signals, reports = _Signals(), WaitReports()
    claim = Mooring.at(endpoint).claim(
        asked.pool,
        owner=asked.owner,
        ttl=asked.ttl,
        wait=asked.wait,
        key=asked.key,
        priority=asked.priority,
        detached=asked.detached,
        on_wait=reports,
    )
    with signals, contextlib.ExitStack() as stack:
        try:
            stack.enter_context(claim)
        finally:
            reports.end()
        _print(f"claim/{claim.id}: worker {claim.worker.name} at {claim.worker.address}")
        try:
            child = _start(find_words(claim), claim)
        except FileNotFoundError as error:
            _print(f"{error.filename}: {error.strerror}")
            return _NOT_FOUND
        except OSError as error:
            _print(f"{asked.command[0]}: {error.strerror}")
            return _NOT_RUNNABLE
        with _in_foreground(child):
            signals.forward_to(child)
            return _await_end(child, claim)


def with_full_pool(asked: ClaimCommand, connection: Connection) -> ClaimCommand:
    """A pool without a namespace is the only one of that name; `NotFound` or `InvalidInput` if it is not."""
    if "/" in asked.pool or not asked.pool:
        return asked
    found = find_one(connection, Lookup(POOLS, asked.pool))
    return replace(asked, pool=f"{found['namespace']}/{found['name']}")


def find_dispatch(asked: ClaimCommand, endpoint: Endpoint) -> tuple[str, ClaimCommand]:
    """How workers of the pool get their sessions, and the command with what is left of its wait.

    The first is empty if it cannot be read: the claim itself gives the reason.
    """
    namespace, _, name = asked.pool.partition("/")
    path, wait = f"/v1/pools/{quote(namespace, safe='')}/{quote(name, safe='')}", parse_seconds("wait", asked.wait)
    timeout = min(_LOOK_SECONDS, wait / 2) if wait else _LOOK_SECONDS
    clock = SystemClock()
    began = clock.monotonic()
    try:
        dispatch = read_dispatch(Connection(endpoint).request("GET", path, timeout_seconds=timeout))
    except RemoteError:
        dispatch = ""
    if not wait:
        return dispatch, asked
    return dispatch, replace(asked, wait=f"{max(wait / 2, wait - (clock.monotonic() - began)):f}s")


class _Signals:
    """Forwards signals to the command. Before it is started, a signal interrupts the wait for a worker."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}

    def forward_to(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, self._handle) for number in _FORWARDED}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._child is None:
            raise KeyboardInterrupt
        _signal_group(self._child, number)


def _start(command: tuple[str, ...], claim: Claim) -> subprocess.Popen[bytes]:
    environment = {
        "MOORING_CLAIM_ID": claim.id,
        "MOORING_EPOCH": str(claim.epoch),
        "MOORING_WORKER_NAME": claim.worker.name,
        "MOORING_WORKER_ADDRESS": claim.worker.address,
    }
    if claim.payload is not None:
        environment["MOORING_PAYLOAD"] = json.dumps(claim.payload)
    # One process group: when the claim is lost, the command ends together with its child processes.
    return subprocess.Popen(command, env={**os.environ, **environment}, process_group=0)


def _await_end(child: subprocess.Popen[bytes], claim: Claim) -> int:
    ended = threading.Event()

    def wait() -> None:
        child.wait()
        ended.set()

    threading.Thread(target=wait, name="mooring-command", daemon=True).start()
    while not ended.wait(_CHECK_SECONDS):
        if (lost := claim.lost) is not None:
            _print(f"{lost.message}; the command is stopped")
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
    """On a terminal, the command is the foreground process group, as if a shell had started it."""
    if not sys.stdin.isatty():
        yield
        return
    terminal = sys.stdin.fileno()
    ours = os.getpgrp()
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError):  # the command has ended, or this is not our controlling terminal
            os.tcsetpgrp(terminal, child.pid)
            os.killpg(child.pid, signal.SIGCONT)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.tcsetpgrp(terminal, ours)
        signal.signal(signal.SIGTTOU, before)


def _print(message: str) -> None:
    print(printable(f"mooring: {message}"), file=sys.stderr, flush=True)
