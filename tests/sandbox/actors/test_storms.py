"""Controllers behind an API that fails, lies, lags and forgets: when it calms down, everything is as asked for."""

from typing import Any

import pytest

from mooring.kube.resources import BUDGETS, DEPLOYMENTS, JOBS, PODS, REPLICASETS, SERVICES
from mooring.sandbox.actors.objects import condition_is_true, finalizers_of, owners_of
from mooring.sandbox.actors.pods import is_active
from mooring.sandbox.faults import Answer, CutStream, Delay, FailStream, LagEvents, LoseAnswer, Plan, Refuse, Rule
from mooring.sandbox.virtual import run_virtual
from tests.sandbox.actors.cluster import START, Cluster, cluster, deployment, job, script

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


async def work(sandbox: Cluster) -> None:
    await sandbox.add_nodes("a", "b", "c")
    for number in range(8):
        body = job(f"j{number}", completions=3, parallelism=2, annotations=script(runSeconds=5))
        await sandbox.create(JOBS, body)
    for name in ("web", "api"):
        await sandbox.create(DEPLOYMENTS, deployment(name, 4))
        spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
        await sandbox.create(SERVICES, {"metadata": {"name": name}, "spec": spec})
        selector = {"matchLabels": {"app": name}}
        await sandbox.create(BUDGETS, {"metadata": {"name": name}, "spec": {"selector": selector, "maxUnavailable": 1}})
    await sandbox.sleep(30)
    template = {"spec": {"containers": [{"name": "main", "image": "alpine"}]}}
    await sandbox.patch(DEPLOYMENTS, "web", {"spec": {"template": template}})
    await sandbox.patch(DEPLOYMENTS, "api", {"spec": {"replicas": 6}})
    await sandbox.create(DEPLOYMENTS, deployment("doomed", 3))
    await sandbox.sleep(20)
    await sandbox.delete(DEPLOYMENTS, "doomed")
    await sandbox.fleet.remove_node("c")


async def check(sandbox: Cluster) -> None:
    for number in range(8):
        found = await sandbox.get(JOBS, f"j{number}")
        assert condition_is_true(found, "Complete") and found["status"]["succeeded"] >= 3
        assert found["status"]["uncountedTerminatedPods"] == {}
    for name, replicas in (("web", 4), ("api", 6)):
        status = (await sandbox.get(DEPLOYMENTS, name))["status"]
        counts = (status["replicas"], status["updatedReplicas"], status["availableReplicas"])
        assert counts == (replicas, replicas, replicas)
        alive = [one for one in await sandbox.pods(f"app={name}") if is_active(one)]
        assert len(alive) == replicas
        budget = (await sandbox.get(BUDGETS, name))["status"]
        assert (budget["expectedPods"], budget["currentHealthy"]) == (replicas, replicas)
    assert await sandbox.items(PODS, labels="app=doomed") == []
    assert await sandbox.items(REPLICASETS, labels="app=doomed") == []
    for one in await sandbox.pods():
        assert not finalizers_of(one) and owners_of(one)
        assert one["spec"]["nodeName"] in ("a", "b")


def writes(sandbox: Cluster) -> dict[str, int]:
    """What was written, heartbeats aside."""
    quiet = ("leases", "api", "apis")
    return {
        place: count
        for place, count in sandbox.counts.items()
        if place.split()[0] in WRITES and place.split()[1] not in quiet
    }


@pytest.mark.parametrize("seed", range(4))
def test_after_a_storm_everything_is_as_asked_for_and_then_quiet(seed: int) -> None:
    async def story() -> None:
        storm = a_storm()
        async with cluster(seed, storm) as sandbox:
            await work(sandbox)
            await sandbox.sleep(STORM_SECONDS + 240)
            await check(sandbox)
            assert all(sandbox.process.fired[one.label] > 0 for one in storm.rules)
            before = writes(sandbox)
            await sandbox.sleep(240)
            assert writes(sandbox) == before

    run_virtual(story, seed=seed, start=START)


def test_an_idle_hour_costs_the_controllers_nothing_but_their_watches() -> None:
    async def story() -> None:
        async with cluster() as sandbox:
            await sandbox.add_nodes("a", "b", "c", "d")
            await sandbox.create(DEPLOYMENTS, deployment("web", 40))
            await sandbox.sleep(60)
            begin = len(sandbox.process.calls)
            await sandbox.sleep(3600)
            calls = sandbox.process.calls[begin:]
            assert not any(call.mutation for call in calls)
            assert len(calls) < 600  # two dozen watches, each renewed every five to ten minutes, listed once an hour

    run_virtual(story, seed=1, start=START)


def test_the_same_seed_gives_the_same_trace() -> None:
    async def story() -> tuple[str, dict[str, int]]:
        async with cluster(3, a_storm()) as sandbox:
            await work(sandbox)
            await sandbox.sleep(60)
            names = ",".join(sorted(one["metadata"]["name"] for one in await sandbox.pods()))
            return names, dict(sandbox.counts)

    assert run_virtual(story, seed=9, start=START) == run_virtual(story, seed=9, start=START)


@pytest.mark.parametrize("seed", range(2))
def test_controllers_that_die_again_and_again_count_every_pod_once(seed: int) -> None:
    async def story() -> None:
        async with cluster(seed) as sandbox:
            await sandbox.add_nodes("a", "b")
            for number in range(6):
                body = job(f"j{number}", completions=4, parallelism=2, annotations=script(runSeconds=5))
                await sandbox.create(JOBS, body)
            await sandbox.create(DEPLOYMENTS, deployment("web", 5))
            for _ in range(25):
                await sandbox.sleep(sandbox.entropy.between(0.1, 4.0))
                await sandbox.restart_controllers()
            await sandbox.sleep(120)
            for number in range(6):
                found = await sandbox.get(JOBS, f"j{number}")
                assert condition_is_true(found, "Complete")
                assert (found["status"]["succeeded"], found["status"].get("failed")) == (4, None)
                assert len(await sandbox.pods(f"job-name=j{number}")) == 4
            assert len(await sandbox.pods("app=web")) == 5

    run_virtual(story, seed=seed, start=START)
