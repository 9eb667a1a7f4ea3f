"""A control plane that dies before or after any of its calls leaves a service that the next one brings to serve."""

import pytest

from drydock.faults import Crash, Rule
from hawser.resources import BUDGETS, DEPLOYMENTS, SERVICES
from mooring.incidents.split_nodes import demo_nodes
from mooring.incidents.stage import NAMESPACE, Stage, open_stage
from packages.mooring.tests.controllers.services.hands import create, until_serving

OURS = rf"/namespaces/{NAMESPACE}/.*/api(/status)?$"
CALLS = 7  # a look and an apply for each of three objects, and the first status; a test below counts them


async def made(stage: Stage) -> list[int]:
    return [len((await stage.client.list(kind, NAMESPACE)).items) for kind in (DEPLOYMENTS, SERVICES, BUDGETS)]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("call", range(1, CALLS + 1))
async def test_after_a_crash_at_any_call_the_service_serves_and_everything_is_there_once(call: int, moment: str):
    async with open_stage(call, demo_nodes()) as stage:
        crash = Rule(Crash(moment), path=OURS, nth=frozenset({call}))  # type: ignore[arg-type]
        first = stage.start("a", [crash])
        await create(stage, placement={"nodePool": "blast"})
        await stage.clock.sleep(5)
        assert any("Crash" in effect for one in first.process.calls for effect in one.effects)
        await first.kill()
        stage.start("b")
        await until_serving(stage, within=120)
        assert await made(stage) == [1, 1, 1] and len(await stage.pods()) == 1


async def test_the_sweep_covers_every_call_of_the_first_pass():
    async with open_stage(1, demo_nodes()) as stage:
        replica = stage.start()
        await create(stage, placement={"nodePool": "blast"})
        await until_serving(stage)
        paths = [one.path for one in replica.process.calls if one.path.endswith(("/api", "/api/status"))]
        assert paths.index(next(path for path in paths if path.endswith("/status"))) + 1 == CALLS
