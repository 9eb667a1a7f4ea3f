"""What a kubelet refuses before it leaves HTTP."""

from pathlib import Path

import pytest

from drydock.actors.kubelet.server import KubeletServer
from drydock.streaming.upgrade import Upgrade
from hawser.transport import Request
from packages.drydock.tests.actors.kubelet.node_worlds import embedded_world, is_ready, phase
from packages.drydock.tests.actors.kubelet.virtual_nodes import virtual_nodes

Query = tuple[tuple[str, str], ...]
WEBSOCKET = {"connection": "Upgrade", "upgrade": "websocket"}
V4 = {**WEBSOCKET, "sec-websocket-protocol": "v4.channel.k8s.io"}
V5 = {**WEBSOCKET, "sec-websocket-protocol": "v5.channel.k8s.io"}
LS: Query = (("command", "ls"), ("output", "1"))
REFUSED: list[tuple[str, Query, dict[str, str], str]] = [
    ("/exec/test/web/app", (("command", "ls"),), V5, "you must specify at least 1 of stdin, stdout, stderr"),
    ("/exec/test/web/app", (("output", "1"),), V5, "you must specify at least one command for the container"),
    ("/exec/test/web/app", LS, {}, "Upgrade request required"),
    ("/exec/test/web/app", LS, {**V5, "upgrade": "h2c"}, "Upgrade request required"),
    ("/exec/test/web/app", LS, WEBSOCKET, "client supports [], server accepts ['v5.channel.k8s.io', 'v4."),
    ("/exec/test/web/none", LS, V5, 'container "none" in pod "web" is not available'),
    ("/exec/test/none/app", LS, V5, 'pod "none" not found on this node'),
    ("/portForward/test/web", (("ports", "0"),), V4, "ports must be numbers from 1 to 65535, not '0'"),
    ("/portForward/test/web", (), V4, "ports must be numbers from 1 to 65535"),
    ("/portForward/test/web", (), V5, "server accepts ['SPDY/3.1+portforward.k8s.io']"),
    ("/attach/test/web/app", LS, V5, "404 page not found"),
]
MISSING = ("is not available", "not found")


async def test_simulated_pods_cannot_be_entered() -> None:
    async with virtual_nodes() as world:
        await world.create_pod("web")
        await world.clock.sleep(1)
        kubelet = KubeletServer(world.fleet)
        for path, query in (("/exec/default/web/app", LS), ("/portForward/default/web", ())):
            answer = await kubelet.send(Request("GET", path, query, V5))
            told = 'pod "web" is simulated: exec and port-forward need nodes whose pods are processes'
            assert (answer.status, await answer.read()) == (400, told.encode())


@pytest.mark.realtime
async def test_a_request_that_cannot_be_served_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    async with embedded_world(tmp_path) as world:
        await world.create_pod("web", {"command": ["sleep", "60"]})
        await world.create_pod("over", {"command": ["true"]}, restartPolicy="Never")
        await world.until("web", is_ready)
        await world.until("over", phase("Succeeded"))
        kubelet = KubeletServer(world.fleet)
        for path, query, headers, words in REFUSED:
            answer = await kubelet.send(Request("GET", path, query, headers))
            told = (await answer.read()).decode()
            assert words in told
            assert answer.status == (404 if any(word in told for word in MISSING) else 400)
        for path in ("/exec/test/over/app", "/portForward/test/over"):
            answer = await kubelet.send(Request("GET", path, LS, V5))
            assert answer.status in (400, 404) and not isinstance(answer, Upgrade)
