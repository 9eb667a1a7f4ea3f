"""Random storms by seed: whatever happens, never more than `max` exist, and in the end exactly the floor stands.

`MOORING_STORM_SEEDS` sets how many seeds are tried (default 40; a thousand take about ten minutes).
"""

import os

import pytest

from mooring.clock import Entropy
from mooring.kube.resources import PODS
from mooring.sandbox.faults import (
    Answer,
    CutStream,
    Delay,
    FailStream,
    LagEvents,
    LoseAnswer,
    Refuse,
    RepeatEvents,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    StaleRead,
)
from tests.scenarios.harbour import NAMESPACE, Harbour, harbour, play

SEEDS = int(os.environ.get("MOORING_STORM_SEEDS", "40"))
STORM_SECONDS = 180.0
MAX = 7


def storm(seed: int) -> list[Rule]:
    """A handful of faults, chosen and tuned by the seed; all of them end with the storm."""
    chance = Entropy(seed)
    writes = frozenset({"POST", "PATCH", "DELETE"})
    menu = [
        Rule(LagEvents(chance.between(1, 40)), watch=True, probability=0.7),
        Rule(LoseAnswer(), methods=writes, probability=0.2),
        Rule(Answer(500, "InternalError"), methods=writes, probability=0.15),
        Rule(Answer(500, "InternalError", after_effect=True), methods=writes, probability=0.15),
        Rule(Answer(429, "TooManyRequests", retry_after_seconds=2), probability=0.15),
        Rule(Refuse(), probability=0.1),
        Rule(Delay(0.1, 5.0), probability=0.3),
        Rule(CutStream(after_events=3, how="inside"), watch=True, probability=0.5),
        Rule(FailStream(after_events=2), watch=True, probability=0.5),
        Rule(SilenceStream(after_events=4), watch=True, probability=0.3),
        Rule(RepeatEvents(0.3), watch=True),
        Rule(ReplayOldEvents(0.3), watch=True),
        Rule(StaleRead(5.0), probability=0.3),
        Rule(Answer(410, "Expired"), watch=False, methods=frozenset({"GET"}), probability=0.1),
    ]
    chosen = [rule for rule in menu if chance.fraction() < 0.4]
    return [_until_the_end(rule) for rule in chosen]


def _until_the_end(rule: Rule) -> Rule:
    from dataclasses import replace

    return replace(rule, until_seconds=STORM_SECONDS)


async def _live_through(world: Harbour, seed: int) -> None:
    chance = Entropy(seed + 1)
    replica = world.start("a", storm(seed))
    await world.pool(warm=4, max=MAX, idleSeconds=20, protection={"graceSeconds": 3})
    for step in range(12):
        await world.clock.sleep(chance.between(2, 25))
        match chance.below(5):
            case 0:
                await replica.kill()
                replica = world.start(f"life-{step}", storm(seed + step))
            case 1:
                pods = await world.pods()
                if pods:
                    victim = pods[chance.below(len(pods))]
                    await world.client.delete(PODS, victim.metadata.name, NAMESPACE, grace_seconds=chance.below(3))
            case 2:
                await world.change({"warm": 1 + chance.below(5)})
            case _:
                pass
    await replica.kill()
    world.start("calm")
    await world.change({"warm": 4})
    await world.clock.sleep(30)

    async def settled() -> bool:
        pods = await world.pods()
        return len(pods) == 4 and all(pod.ready and not pod.terminating for pod in pods)

    await world.until(settled, 400, "exactly the floor")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_never_more_than_max_exist_and_the_floor_stands_after_the_storm(seed):
    async def scenario():
        async with harbour(seed) as world:
            await _live_through(world, seed)
            assert world.witness.most <= MAX
            calm = world.replicas[-1].process
            before = calm.mutations
            await world.clock.sleep(60)
            assert calm.mutations == before

    play(scenario, seed)


def test_the_same_seed_gives_the_same_world():
    async def scenario() -> list[str]:
        async with harbour(7) as world:
            await _live_through(world, 7)
            return [f"{call.method} {call.path} {call.effects}" for r in world.replicas for call in r.process.calls]

    assert play(scenario, 7) == play(scenario, 7)
