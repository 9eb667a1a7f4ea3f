"""Demand beside other controllers on a real control plane: `/scale`, autoscalers, and the scheduler's preemption."""

from typing import Any

import pytest

from drydock import Script, plain_nodes
from hawser.errors import KubeError
from mooring.controllers.pools.autoscalers import AUTOSCALERS
from mooring.incidents.real_stage import open_real_stage
from mooring.incidents.stage import NAMESPACE, Stage
from mooring.kinds.resources import WORKERPOOLS
from mooring.model import names
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.requirements import require_kubernetes
from packages.mooring.tests.scenarios.test_headroom import TEMPLATE

pytestmark = [pytest.mark.kubernetes, pytest.mark.realtime]


async def scale(stage: Stage, name: str, replicas: int) -> None:
    """As `kubectl scale`, an HPA and KEDA do."""
    patch = {"spec": {"replicas": replicas}}
    await stage.client.merge_patch(WORKERPOOLS.raw(), name, patch, NAMESPACE, subresource="scale")


def autoscaler(pool: str) -> dict[str, Any]:
    target = {"apiVersion": WORKERPOOLS.api_version, "kind": "WorkerPool", "name": pool}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    return {
        "apiVersion": AUTOSCALERS.api_version,
        "kind": AUTOSCALERS.kind,
        "metadata": {"name": f"keda-hpa-{pool}"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4, "metrics": [metric]},
    }


async def condition(stage: Stage, name: str, kind: str) -> dict[str, str]:
    found = (await stage.status(name)).get("conditions", ())
    return next((one for one in found if one["type"] == kind), {})


@pytest.mark.slow
async def test_demand_refuses_to_be_scaled_names_the_autoscaler_and_keeps_headroom_that_workers_preempt():
    require_kubernetes()
    async with open_real_stage(1.0, plain_nodes(2), lambda _: Script(start_seconds=1.0)) as stage:
        desk = stage.start("a").mooring.claims.desk
        await stage.pool("fixed", warm=0, max=4)
        await scale(stage, "fixed", 2)
        await stage.until_idle(2, name="fixed")
        await scale(stage, "fixed", 0)

        await stage.client.create(AUTOSCALERS, autoscaler("elastic"), NAMESPACE)
        demand = {"min": 1, "max": 1, "headroom": {"workers": 1}}
        await stage.pool("elastic", max=3, template=TEMPLATE, protection={"graceSeconds": 1}, demand=demand)
        await stage.until_idle(1, name="elastic")
        with pytest.raises(KubeError, match=r"spec\.demand"):
            await scale(stage, "elastic", 3)

        async def contested() -> bool:
            found = await condition(stage, "elastic", "Uncontested")
            return found.get("reason") == "AutoscalerConflict" and "keda-hpa-elastic" in found["message"]

        await stage.until(contested, 60, "the condition names the autoscaler")

        async def room() -> tuple[int, int]:
            found = ((await stage.status("elastic")).get("demand") or {}).get("headroom") or {}
            return found.get("holding", 0), found.get("waiting", 0)

        claim = await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", ttl_seconds=600, wait=30))
        await desk.release(claim.id, claim.epoch)  # now claims are expected

        async def holds() -> bool:
            return await room() == (1, 0)

        await stage.until(holds, 90, "one worker on a node, one placeholder on the other")
        claim = await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", ttl_seconds=600, wait=30))

        async def taken() -> bool:
            workers = [pod for pod in await stage.pods() if pod.metadata.labels.get(names.POOL) == "elastic"]
            return {pod.spec.node_name for pod in workers if pod.spec.node_name} == {"node-1", "node-2"}

        await stage.until(taken, 60, "the second worker takes the room of the placeholder")

        async def waits() -> bool:
            return await room() == (0, 1)

        await stage.until(waits, 60, "another placeholder waits for a node")
        await stage.client.delete(WORKERPOOLS, "elastic", NAMESPACE)

        async def gone() -> bool:
            return not any(names.HEADROOM in pod.metadata.labels for pod in await stage.pods())

        await stage.until(gone, 60, "placeholders go with their pool")
