"""Random storms by seed: whatever happens, never more than `max` exist, no worker has two holders, and none that is
held is taken away. In the end exactly the floor stands.

`MOORING_STORM_SEEDS` sets how many seeds are tried (default 40, ten of them in the fast lane; a thousand take about ten
minutes).
"""

import asyncio
import contextlib
import os

import pytest

from drydock.faults import (
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
from hawser.clock import Entropy
from hawser.resources import PODS
from mooring.model import names
from mooring.model.claim import Claim, ClaimState
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import Conflict, MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, Replica, harbour, play
from packages.testing.lanes import fast_first

SEEDS = int(os.environ.get("MOORING_STORM_SEEDS", "40"))
FAST_SEEDS = 3
STORM_SECONDS = 180.0
MAX = 7
POOL = f"{NAMESPACE}/linux"


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


class Clients:
    """A few programs that hold workers through the storm, and repeat what was not answered under the same key."""

    def __init__(self, world: Harbour, chance: Entropy) -> None:
        self._world = world
        self._chance = chance
        self._keys = 0
        self._pending = ""
        self.held: dict[str, Claim] = {}
        self.killed: set[str] = set()  # uids of workers that somebody else took away

    async def act(self, replica: Replica) -> None:
        """Beat; then claim or release something."""
        for claim in list(self.held.values()):
            await self._beat(replica, claim)
        if self._pending or len(self.held) < 2:
            await self._claim(replica)
        elif self._chance.below(2):
            await self._release(replica, self._chance.below(2))

    async def finish(self, replica: Replica) -> None:
        """Ask once more for what was never answered, and give everything back."""
        if self._pending:
            await self._claim(replica)
        for claim in list(self.held.values()):
            await self._beat(replica, claim)
        while self.held:
            await self._release(replica, 0)

    async def _claim(self, replica: Replica) -> None:
        if not self._pending:
            self._keys += 1
            self._pending = f"key-{self._keys}"
        wish = ClaimRequest("acme", ttl_seconds=80_000, wait=5, idempotency_key=self._pending)
        with contextlib.suppress(MooringError, TimeoutError):
            try:
                async with asyncio.timeout(20):
                    claim = await replica.mooring.claims.desk.claim(POOL, wish)
            except Conflict:  # its worker was lost before the answer came
                self._pending = ""
                return
            if claim.state is ClaimState.RUNNING:
                self._pending = ""
                assert claim.pod_uid not in {other.pod_uid for other in self.held.values()}, "held twice"
                self.held[claim.id] = claim

    async def _beat(self, replica: Replica, claim: Claim) -> None:
        try:
            await replica.mooring.claims.desk.heartbeat(claim.id, claim.epoch)
        except Conflict:
            assert claim.pod_uid in self.killed, "a holder that beats lost its claim"
            del self.held[claim.id]
            return
        assert claim.pod_uid in self._world.witness.alive | self.killed, "a worker was taken from its holder"

    async def _release(self, replica: Replica, which: int) -> None:
        claim = list(self.held.values())[which]
        with contextlib.suppress(MooringError):
            await replica.mooring.claims.desk.release(claim.id, claim.epoch)
        del self.held[claim.id]


async def _live_through(world: Harbour, seed: int) -> None:
    chance = Entropy(seed + 1)
    clients = Clients(world, Entropy(seed + 2))
    world.words.otherwise = False  # type: ignore[attr-defined]
    replica = world.start("a", storm(seed))
    await world.pool(warm=4, max=MAX, idleSeconds=20, reuse="Always", protection={"graceSeconds": 3})
    for step in range(12):
        await world.clock.sleep(chance.between(2, 25))
        await clients.act(replica)
        match chance.below(5):
            case 0:
                await replica.kill()
                replica = world.start(f"life-{step}", storm(seed + step))
            case 1:
                pods = await world.pods()
                if pods:
                    victim = pods[chance.below(len(pods))]
                    clients.killed.add(victim.metadata.uid)
                    await world.client.delete(PODS, victim.metadata.name, NAMESPACE, grace_seconds=chance.below(3))
            case 2:
                await world.change({"warm": 1 + chance.below(5)})
            case _:
                pass
    await replica.kill()
    calm = world.start("calm")
    await world.change({"warm": 4})
    await world.clock.sleep(30)
    await clients.finish(calm)

    async def settled() -> bool:
        pods = await world.pods()
        whole = all(pod.ready and not pod.terminating and names.OWNER not in pod.metadata.labels for pod in pods)
        return len(pods) == 4 and whole and not (await world.ledger.claims.live()).claims

    await world.until(settled, 1000, "exactly the floor, and no claim")


@pytest.mark.parametrize("seed", fast_first(range(SEEDS), FAST_SEEDS))
async def test_never_more_than_max_exist_and_the_floor_stands_after_the_storm(seed):
    async with harbour(seed) as world:
        await _live_through(world, seed)
        assert world.witness.most <= MAX
        calm = world.replicas[-1].process
        before = calm.mutations
        await world.clock.sleep(60)
        assert calm.mutations == before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_world():
    async def scenario() -> list[str]:
        async with harbour(7) as world:
            await _live_through(world, 7)
            return [f"{call.method} {call.path} {call.effects}" for r in world.replicas for call in r.process.calls]

    assert play(scenario, 7) == play(scenario, 7)
