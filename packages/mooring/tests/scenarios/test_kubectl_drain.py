"""The real `kubectl drain` of every node in turn, on a real control plane: working pods go last, or at the ceiling."""

import asyncio

import pytest

from drydock import plain_nodes
from mooring.incidents.real_stage import open_real_stage
from mooring.incidents.sessions import Sessions
from mooring.incidents.stage import NAMESPACE, Stage
from packages.mooring.tests.requirements import require_kubectl, require_kubernetes

pytestmark = [pytest.mark.slow, pytest.mark.kubernetes, pytest.mark.realtime]

POOL = f"{NAMESPACE}/linux"
CEILING_SECONDS = 25


async def kubectl(stage: Stage, *arguments: str) -> tuple[int, str]:
    program = await asyncio.create_subprocess_exec(
        require_kubectl(),
        f"--kubeconfig={stage.sandbox.kubeconfig}",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await program.communicate()
    return program.returncode or 0, out.decode()


async def drain_everything_in_turn() -> None:
    async with open_real_stage(1.0, plain_nodes(3)) as stage:
        control = stage.start()
        protection = {"ceilingSeconds": CEILING_SECONDS, "graceSeconds": 1}
        await stage.pool(warm=6, max=30, reuse="Always", protection=protection)
        await stage.until_idle(6)
        sessions = Sessions(stage, control, POOL)
        for seconds in (4, 10, 600):
            await sessions.begin(seconds)
        began = stage.seconds
        told = ""
        for node in sorted(stage.sandbox.fleet.node_names):
            code, out = await kubectl(stage, "drain", node, "--force", "--ignore-daemonsets", "--timeout=60s")
            assert code == 0, out
            told += out
            await kubectl(stage, "uncordon", node)
        assert "Cannot evict pod as it would violate the pod's disruption budget" in told
        assert sessions.finished == 2
        (held,) = sessions.died  # it would have gone on for ten minutes
        assert held.died_at is not None and CEILING_SECONDS <= held.died_at - began <= CEILING_SECONDS + 15


async def test_kubectl_drains_every_node_and_no_session_ends_before_it_is_over_or_at_its_ceiling():
    require_kubernetes()
    await drain_everything_in_turn()
