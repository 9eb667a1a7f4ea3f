"""`mooring logs`, `exec` and `run`: the log of a worker, and commands inside it, with the rights of the caller."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mooring.cli.remote.claim import ClaimCommand, find_dispatch, hold_and_run, with_full_pool
from mooring.cli.remote.listings import WORKERS
from mooring.cli.remote.lookup import Lookup, find_one
from mooring.cli.remote.wait_reports import WaitReports
from mooring.client.connection import Connection, Endpoint
from mooring.client.kubectl import ClusterOptions, Kubectl, WorkerPod, find_kubeconfig
from mooring.client.sdk import Claim, Mooring


@dataclass(frozen=True, slots=True)
class WorkerCommand:
    """Which worker, and how the caller reaches its cluster."""

    name: str
    namespace: str
    options: ClusterOptions
    state: Path | None


def run_logs(asked: WorkerCommand, flags: Sequence[str], endpoint: Endpoint) -> None:
    """Becomes `kubectl logs` of the worker's pod."""
    pod, kubectl = _find(asked, endpoint)
    _become(kubectl.logs_words(pod, flags))


def run_exec(asked: WorkerCommand, command: Sequence[str], endpoint: Endpoint) -> None:
    """Becomes `kubectl exec` in the worker's pod; the exit code is that of the command."""
    pod, kubectl = _find(asked, endpoint)
    _become(kubectl.exec_words(pod, command, terminal=_at_terminal()))


def run_on_worker(asked: ClaimCommand, options: ClusterOptions, state: Path | None, endpoint: Endpoint) -> int:
    """Claim a worker, run the command there, release the worker; returns the exit code of the command."""
    asked = with_full_pool(asked, Connection(endpoint))
    dispatch, asked = find_dispatch(asked, endpoint)
    if dispatch == "Poll":
        return _run_session(asked, endpoint)
    kubectl = Kubectl(find_kubeconfig(endpoint, options, state), options)
    namespace = asked.pool.partition("/")[0]

    def find_words(claim: Claim) -> tuple[str, ...]:
        pod = WorkerPod(namespace, claim.worker.name, claim.worker.uid)
        kubectl.check(pod)
        return kubectl.exec_words(pod, asked.command, terminal=_at_terminal())

    return hold_and_run(asked, endpoint, find_words)


def _run_session(asked: ClaimCommand, endpoint: Endpoint) -> int:
    """A worker that polls runs the command itself, and reports its exit code and the end of its output."""
    reports = WaitReports()
    try:
        result = Mooring.at(endpoint).run(
            asked.pool,
            payload={"command": list(asked.command)},
            owner=asked.owner,
            ttl=asked.ttl,
            wait=asked.wait,
            key=asked.key,
            priority=asked.priority,
            detached=asked.detached,
            on_wait=reports,
        )
    finally:
        reports.end()
    sys.stdout.write(result.output)
    return result.exit_code


def _find(asked: WorkerCommand, endpoint: Endpoint) -> tuple[WorkerPod, Kubectl]:
    worker = find_one(Connection(endpoint), Lookup(WORKERS, asked.name.removeprefix("worker/"), asked.namespace))
    pod = WorkerPod(worker["namespace"], worker["name"], worker["uid"])
    kubectl = Kubectl(find_kubeconfig(endpoint, asked.options, asked.state), asked.options)
    kubectl.check(pod)
    return pod, kubectl


def _become(words: tuple[str, ...]) -> None:
    """Replace this process: signals, the terminal and the exit code are those of kubectl."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(words[0], words)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()
