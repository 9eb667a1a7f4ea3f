"""Random faults by seed: when they stop, the cache equals a fresh list, and on the way it never went back."""

import asyncio

import pytest

from drydock import VirtualLoop, run_virtual
from drydock.faults import (
    Answer,
    CutStream,
    Delay,
    DropEvents,
    Effect,
    FailStream,
    Hang,
    LagEvents,
    LoseAnswer,
    Refuse,
    RepeatEvents,
    ReplayOldEvents,
    Rule,
    SilenceStream,
    Sometimes,
    StaleRead,
)
from hawser.clock import Entropy
from hawser.reflector import Pace
from packages.hawser.tests.tiny_api import START, TinyApi, World
from packages.hawser.tests.witness import Witness

SEEDS = 60
STORM_SECONDS = 900.0
CALM_SECONDS = 900.0

EFFECTS: tuple[Effect, ...] = (
    Delay(0.1, spread_seconds=40),
    Refuse(),
    LoseAnswer(),
    Hang(),
    StaleRead(age_seconds=60),
    Answer(410, "Expired"),
    Answer(429, retry_after_seconds=5),
    Answer(500),
    Answer(503, retry_after_seconds=3),
    Answer(504, "Timeout", cause="ResourceVersionTooLarge"),
    DropEvents(0.1),
    LagEvents(20),
    RepeatEvents(0.3),
    ReplayOldEvents(0.5),
    CutStream(3, "clean"),
    CutStream(2, "inside"),
    CutStream(1, "broken"),
    SilenceStream(4),
    FailStream(5),
)


async def stir(api: TinyApi, entropy: Entropy) -> None:
    """Somebody works on the cluster."""
    clock = VirtualLoop.running().clock
    while True:
        await clock.sleep(entropy.between(0, 6))
        name = "abcdefgh"[entropy.below(8)]
        match entropy.below(10):
            case 0 | 1 | 2 if name in api.pods:
                api.delete(name)
            case 3 if name in api.pods:
                api.put(name, uid=entropy.uuid())
            case 4:
                api.bookmark()
            case 5 if entropy.below(4) == 0:
                api.forget()
            case _:
                api.put(name, uid="" if name in api.pods else entropy.uuid())


async def beat(api: TinyApi) -> None:
    """The server's bookmarks."""
    while True:
        await VirtualLoop.running().clock.sleep(25)
        api.bookmark()


def storm(seed: int) -> tuple[str, dict[str, int]]:
    async def main() -> tuple[str, dict[str, int]]:
        entropy = Entropy(seed)
        rules = [
            Rule(effect, name=str(effect), probability=entropy.between(0, 0.25), until_seconds=STORM_SECONDS)
            for effect in EFFECTS
            if entropy.below(3)
        ]
        world = World(*rules, page_size=3, pace=Pace(silence_seconds=60, relist_seconds=300))
        witness = Witness()
        world.reflector.subscribe(witness.hear)
        for name in "abcdefg":
            world.api.put(name)
        stirring = asyncio.create_task(stir(world.api, entropy))
        beating = asyncio.create_task(beat(world.api))
        async with world.running():
            await world.clock.sleep(STORM_SECONDS)
            stirring.cancel()
            await world.clock.sleep(CALM_SECONDS)
            assert world.held == world.true
            assert witness.versions == world.true
            assert world.reflector.health.subscriber_failures == 0
            assert world.reflector.health.last_error == ""
            before = len(world.transport.calls)
            await world.clock.sleep(CALM_SECONDS)
            assert len(world.transport.calls) - before < 20
        beating.cancel()
        trace = VirtualLoop.running().trace
        trace.record(str(world.changes))
        return trace.digest, dict(world.transport.process.fired)

    return run_virtual(main, seed=seed, start=START)


@pytest.mark.slow
def test_after_any_storm_the_cache_equals_a_list_and_it_never_went_back() -> None:
    sometimes = Sometimes(str(effect) for effect in EFFECTS)
    for seed in range(SEEDS):
        sometimes.add(storm(seed)[1])
    assert sometimes.missing() == []


def test_a_storm_repeats_exactly() -> None:
    assert storm(11) == storm(11)
    assert storm(11)[0] != storm(12)[0]
