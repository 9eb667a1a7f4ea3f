"""The recorded answers are still what a real kube-apiserver says: one without controllers is asked again."""

import asyncio
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from drydock.certificates import Authority
from drydock.kubernetes.binaries import find_binaries
from drydock.kubernetes.components import (
    LOOPBACK,
    PlaneOptions,
    Ports,
    apiserver_command,
    etcd_command,
    issue_credentials,
)
from hawser.clock import SystemClock
from packages.drydock.tests.api.facts.play import HERE, Send, answers
from packages.drydock.tests.api.facts.record import record, sender
from packages.drydock.tests.api.strategies.test_facts import without_actors
from packages.drydock.tests.requirements import require_kubernetes

TOKEN = "facts"
START_SECONDS = 90.0
SETTLED = ["system-node-critical", "system-cluster-critical"]

pytestmark = [pytest.mark.kubernetes, pytest.mark.realtime, pytest.mark.slow]


@pytest.fixture(scope="module")
def send(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Send]:
    """A throwaway API server: no controllers, no service accounts."""
    require_kubernetes()
    folder = tmp_path_factory.mktemp("apiserver")
    binaries, ports = find_binaries(), Ports(*_free_ports(3))
    credentials = issue_credentials(Authority(folder / "pki", SystemClock().now()), LOOPBACK)
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,admin,system:masters\n")
    commands = [
        etcd_command(binaries, ports, credentials, folder / "etcd"),
        [
            *apiserver_command(binaries, ports, credentials, tokens, PlaneOptions()),
            "--disable-admission-plugins=ServiceAccount",
        ],
    ]
    with ExitStack() as stack:
        for command in commands:
            log = stack.enter_context((folder / f"{Path(command[0]).name}.log").open("wb"))
            process = stack.enter_context(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log))
            stack.callback(process.kill)
        address = f"https://127.0.0.1:{ports.apiserver}"
        _await_start(address)
        yield stack.enter_context(sender(address, TOKEN))


def _await_start(address: str) -> None:
    """Until the server answers and has made what the cases build on."""
    paths = ["/api/v1/namespaces/default"]
    paths += [f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}" for name in SETTLED]
    deadline = time.monotonic() + START_SECONDS
    while not asyncio.run(_has_all(address, paths)):
        assert time.monotonic() < deadline, "the API server did not start"
        time.sleep(0.2)


async def _has_all(address: str, paths: list[str]) -> bool:
    with sender(address, TOKEN) as send:
        try:
            return all([(await send("GET", path, None, ""))[0] == 200 for path in paths])
        except OSError:
            return False


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@pytest.mark.parametrize("family", sorted(path.stem for path in HERE.glob("*.yaml")))
async def test_a_real_server_still_answers_as_recorded(send: Send, family: str) -> None:
    for case, got in (await record(send, family)).items():
        assert [*map(_comparable, got)] == [*map(_comparable, answers(family)[case])], case


def _comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Managers are told in the order of the second they wrote in: whether two wrote in the same one is chance."""
    answer = without_actors(answer)
    shown = answer.get("object") or {}
    metadata = shown.get("metadata") or {}
    if "managedFields" not in metadata:
        return answer
    managers = sorted(metadata["managedFields"], key=lambda one: (one["operation"], one["manager"], str(one)))
    return {**answer, "object": {**shown, "metadata": {**metadata, "managedFields": managers}}}
