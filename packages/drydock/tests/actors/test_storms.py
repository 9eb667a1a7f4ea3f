"""Controllers behind an API that fails, lies, lags and forgets: when it calms down, everything is as asked for."""

from typing import Any

import pytest

from drydock.actors.machinery.objects import condition_is_true, finalizers_of, owners_of
from drydock.actors.machinery.pods import is_active
from drydock.faults import Answer, CutStream, Delay, FailStream, LagEvents, LoseAnswer, Plan, Refuse, Rule
from drydock.virtual.loop import run_virtual
from hawser.resources import BUDGETS, DEPLOYMENTS, JOBS, PODS, REPLICASETS, SERVICES
from packages.drydock.tests.actors.cluster import START, Cluster, cluster, deployment, job, script
from packages.testing.lanes import fast_first

Object = dict[str, Any]
STORM_SECONDS = 120.0
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def a_storm() -> Plan:
    """Everything at once, for two minutes."""

    def rule(effect: Any, probability: float, **when: Any) -> Rule:
        return Rule(effect, probability=probability, until_seconds=STORM_SECONDS, **when)

    return Plan(
        [
            rule(Delay(0.0, 2.0), 0.2),
            rule(LoseAnswer(), 0.04, methods=WRITES),
            rule(Answer(500, "InternalError"), 0.04, methods=WRITES),
            rule(Answer(409, "Conflict"), 0.04, methods=frozenset({"PUT", "PATCH"})),
            rule(Answer(429, "TooManyRequests", retry_after_seconds=1), 0.02),
            rule(Refuse(), 0.02),
            rule(LagEvents(3.0), 0.5, watch=True),
            rule(CutStream(20, "broken"), 0.3, watch=True),
            rule(FailStream(30), 0.2, watch=True),
        ]
    )


async def work(world: Cluster) -> None:
    await world.add_nodes("a", "b", "c")
    for number in range(8):
        body = job(f"j{number}", completions=3, parallelism=2, annotations=script(runSeconds=5))
        await world.create(JOBS, body)
    for name in ("web", "api"):
        await world.create(DEPLOYMENTS, deployment(name, 4))
        spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
        await world.create(SERVICES, {"metadata": {"name": name}, "spec": spec})
        selector = {"matchLabels": {"app": name}}
        await world.create(BUDGETS, {"metadata": {"name": name}, "spec": {"selector": selector, "maxUnavailable": 1}})
    await world.sleep(30)
    template = {"spec": {"containers": [{"name": "main", "image": "alpine"}]}}
    await world.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
    await world.patch(DEPLOYMENTS, "api", {"spec": {"replicas": 6}})
    await world.create(DEPLOYMENTS, deployment("doomed", 3))
    await world.sleep(20)
    await world.delete(DEPLOYMENTS, "doomed")
    await world.fleet.remove_node("c")


async def check(world: Cluster) -> None:
    for number in range(8):
        found = await world.get(JOBS, f"j{number}")
        assert condition_is_true(found, "Complete") and found["status"]["succeeded"] >= 3
        assert found["status"]["uncountedTerminatedPods"] == {}
    for name, replicas in (("web", 4), ("api", 6)):
        status = (await world.get(DEPLOYMENTS, name))["status"]
        counts = (status["replicas"], status["updatedReplicas"], status["availableReplicas"])
        assert counts == (replicas, replicas, replicas)
        alive = [one for one in await world.pods(f"app={name}") if is_active(one)]
        assert len(alive) == replicas
        budget = (await world.get(BUDGETS, name))["status"]
        assert (budget["expectedPods"], budget["currentHealthy"]) == (replicas, replicas)
    assert await world.items(PODS, labels="app=doomed") == []
    assert await world.items(REPLICASETS, labels="app=doomed") == []
    for one in await world.pods():
        assert not finalizers_of(one) and owners_of(one)
        assert one["spec"]["nodeName"] in ("a", "b")


def writes(world: Cluster) -> dict[str, int]:
    """What was written, heartbeats aside."""
    quiet = ("leases", "api", "apis")
    return {
        place: count
        for place, count in world.counts.items()
        if place.split()[0] in WRITES and place.split()[1] not in quiet
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first(range(4), 1))
async def test_after_a_storm_everything_is_as_asked_for_and_then_quiet(seed: int) -> None:
    storm = a_storm()
    async with cluster(seed, storm) as world:
        await work(world)
        await world.sleep(STORM_SECONDS + 240)
        await check(world)
        assert all(world.process.fired[one.label] > 0 for one in storm.rules)
        before = writes(world)
        await world.sleep(240)
        assert writes(world) == before


@pytest.mark.slow
async def test_an_idle_hour_costs_the_controllers_nothing_but_their_watches() -> None:
    async with cluster() as world:
        await world.add_nodes("a", "b", "c", "d")
        await world.create(DEPLOYMENTS, deployment("web", 40))
        await world.sleep(60)
        begin = len(world.process.calls)
        await world.sleep(3600)
        calls = world.process.calls[begin:]
        assert not any(call.mutation for call in calls)
        assert len(calls) < 600  # two dozen watches, each renewed every five to ten minutes, listed once an hour


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace() -> None:
    async def story() -> tuple[str, dict[str, int]]:
        async with cluster(3, a_storm()) as world:
            await work(world)
            await world.sleep(60)
            names = ",".join(sorted(one["metadata"]["name"] for one in await world.pods()))
            return names, dict(world.counts)

    assert run_virtual(story, seed=9, start=START) == run_virtual(story, seed=9, start=START)


@pytest.mark.slow
@pytest.mark.parametrize("seed", fast_first(range(2), 1))
async def test_controllers_that_die_again_and_again_count_every_pod_once(seed: int) -> None:
    async with cluster(seed) as world:
        await world.add_nodes("a", "b")
        for number in range(6):
            body = job(f"j{number}", completions=4, parallelism=2, annotations=script(runSeconds=5))
            await world.create(JOBS, body)
        await world.create(DEPLOYMENTS, deployment("web", 5))
        for _ in range(25):
            await world.sleep(world.entropy.between(0.1, 4.0))
            await world.restart_controllers()
        await world.sleep(120)
        for number in range(6):
            found = await world.get(JOBS, f"j{number}")
            assert condition_is_true(found, "Complete")
            assert (found["status"]["succeeded"], found["status"].get("failed")) == (4, None)
            assert len(await world.pods(f"job-name=j{number}")) == 4
        assert len(await world.pods("app=web")) == 5
