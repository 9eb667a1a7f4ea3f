"""Pools of silent workers by seed: they heal in time, and nothing that still speaks is killed.

The seed decides how sessions reach workers, how many workers hang, who hears the others, and whether the leader dies.
`MOORING_SILENCE_SEEDS` sets how many seeds are tried (default 40, five of them in the fast lane).
"""

import contextlib
import os

import pytest

from drydock.faults import Crashed, LagEvents, Rule
from hawser.clock import Entropy
from mooring.model.claim import Claim
from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import MooringError
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour, harbour, play
from packages.testing.lanes import fast_first

SEEDS = int(os.environ.get("MOORING_SILENCE_SEEDS", "40"))
BATCH = 5
BATCHES = [range(1), *(range(first, min(first + BATCH, SEEDS)) for first in range(1, SEEDS, BATCH))]
POOL = f"{NAMESPACE}/linux"
SILENT_SECONDS = 600
HEALED_WITHIN = SILENT_SECONDS + 70
TAKEOVER_SECONDS = 30
LAG_SECONDS = 2.0


class Sessions:
    """Sessions whose holders have left. The workers of some still execute, and say so at any replica."""

    def __init__(self, world: Harbour, seed: int) -> None:
        self.world = world
        self.chance = Entropy(seed)
        self.polls = self.chance.fraction() < 0.5
        self.claims: list[Claim] = []
        self.speaking: list[Claim] = []

    async def begin(self, count: int) -> None:
        """One session on each worker, of which some go on without their claim."""
        mooring = self.world.replicas[0].mooring
        for worker in mooring.fleet.workers(POOL):
            await mooring.polls.record(worker)
        for _ in range(count):
            request = ClaimRequest("gone", ttl_seconds=int(self.chance.between(20, 90)), wait=30)
            self.claims.append(await mooring.claims.desk.claim(POOL, request))
        self.speaking = [claim for claim in self.claims if self.chance.fraction() < 0.4]
        for claim in self.speaking:
            self.world.enter(self._speak(claim))

    async def _speak(self, claim: Claim) -> None:
        while True:
            alive = [replica for replica in self.world.replicas if not replica.task.done()]
            mooring = alive[int(self.chance.between(0, len(alive) - 0.01))].mooring if alive else None
            with contextlib.suppress(MooringError, Crashed):
                if mooring is not None and self.polls:
                    worker = mooring.fleet.worker(POOL, claim.pod_uid or "")
                    if worker is not None:
                        await mooring.claims.dispatch.next_session(worker, 0, executing=True)
                elif mooring is not None and not (await mooring.claims.desk.get(claim.id)).live:
                    await mooring.claims.desk.heartbeat(claim.id, claim.epoch)
            await self.world.clock.sleep(self.chance.between(20, 200))

    def hung(self) -> set[str]:
        """Names of the workers that hang and are still there, as the witness sees them."""
        present = {pod.metadata.uid for pod in self.world.watch.cache.values() if not pod.terminating}
        hung = [claim for claim in self.claims if claim not in self.speaking]
        return {claim.pod_name or "" for claim in hung if claim.pod_uid in present}

    async def killed(self) -> set[str]:
        """Names of the workers that still executed and were taken away."""
        present = {pod.metadata.uid for pod in await self.world.pods() if not pod.terminating}
        return {claim.pod_name or "" for claim in self.speaking if claim.pod_uid not in present}


async def _play_silence(seed: int) -> None:
    chance = Entropy(seed + 1_000_000)
    async with harbour(seed=seed) as world:
        rules = [Rule(LagEvents(LAG_SECONDS), resource="pods", watch=True)] if chance.fraction() < 0.3 else []
        first = world.start("a", rules)
        if chance.fraction() < 0.5:
            world.start("b", rules)
        sessions = Sessions(world, seed)
        size = int(chance.between(2, 5.99))
        reuse = "Always" if sessions.polls and chance.fraction() < 0.5 else "Never"
        dispatch = "Poll" if sessions.polls else "Push"
        await world.pool(warm=size, max=size, dispatch=dispatch, reuse=reuse, protection={"graceSeconds": 1})
        await world.until_idle(size)
        for replica in world.replicas:
            await replica.mooring.wait_synced()
        await sessions.begin(size)
        await world.until(lambda: _all_ended(world, sessions), 400, "all claims ended")
        within = HEALED_WITHIN + LAG_SECONDS
        if chance.fraction() < 0.3:
            await world.clock.sleep(chance.between(0, 500))
            await first.kill()
            world.start("c", rules)
            within += TAKEOVER_SECONDS
        await world.until(lambda: _healed(sessions), within, "all hung workers are gone")
        await world.clock.sleep(SILENT_SECONDS)
        assert not await sessions.killed(), f"seed {seed}"


async def _all_ended(world: Harbour, sessions: Sessions) -> bool:
    return not {claim.id for claim in (await world.ledger.claims.live()).claims} & {one.id for one in sessions.claims}


async def _healed(sessions: Sessions) -> bool:
    return not sessions.hung()


@pytest.mark.parametrize("seeds", fast_first(BATCHES, 1), ids=lambda seeds: f"seeds from {seeds.start}")
def test_a_pool_of_silent_workers_heals_in_time_and_no_running_work_is_killed(seeds: range) -> None:
    for seed in seeds:
        play(lambda seed=seed: _play_silence(seed), seed)
