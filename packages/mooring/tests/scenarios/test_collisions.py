"""Replicas that serve claims side by side rarely choose the same slot."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from drydock.faults import Delay, LagEvents, Rule
from hawser.clock import Entropy
from mooring.controllers.claims.refusals import NoIdleWorker
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE, Harbour

POOL = f"{NAMESPACE}/linux"
CLIENTS, CLAIMS_EACH = 40, 5
NETWORK = (Rule(Delay(0.002, 0.004), watch=False), Rule(LagEvents(0.02), watch=True))
BAR = 0.05


class Measured:
    """The collisions of this process since now."""

    def __init__(self) -> None:
        self._before = self._now()

    def _now(self) -> float:
        return REGISTRY.get_sample_value("mooring_claim_collisions_total", {"pool": POOL}) or 0.0

    @property
    def collisions(self) -> float:
        return self._now() - self._before


async def serve(world: Harbour, workers: int) -> tuple[float, list[float]]:
    """The part of all tries that collided, and how long each claim waited for its worker."""
    replicas = [world.start(name, rules=NETWORK) for name in ("a", "b", "c")]
    await world.pool(warm=workers, max=workers, reuse="Always", idleSeconds=86_400)
    await world.until_idle(workers)
    measured, waits = Measured(), list[float]()

    async def work(number: int) -> None:
        chance = Entropy(number)
        await world.clock.sleep(chance.between(0.0, 0.5))
        for _ in range(CLAIMS_EACH):
            desk = replicas[chance.below(len(replicas))].mooring.claims.desk
            asked_at = world.seconds
            claim = await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=300, wait=60))
            waits.append(world.seconds - asked_at)
            await world.clock.sleep(chance.between(0.05, 0.6))
            await desk.release(claim.id, claim.epoch)
            await world.clock.sleep(chance.between(0.0, 0.1))

    await asyncio.gather(*(work(number) for number in range(CLIENTS)))
    return measured.collisions / (measured.collisions + len(waits)), waits


@pytest.mark.slow
@pytest.mark.parametrize("workers", [60, 25], ids=["enough workers", "with a queue"])
async def test_under_5_percent_of_all_tries_collide_at_40_clients_on_3_replicas(world: Harbour, workers: int) -> None:
    part, waits = await serve(world, workers)
    assert len(waits) == CLIENTS * CLAIMS_EACH
    assert part < BAR, f"{part:.1%} of all tries collided"


async def test_a_slot_that_another_replica_took_first_is_counted(world: Harbour) -> None:
    first, second = world.start("first"), world.start("second", rules=[Rule(LagEvents(8.0), watch=True)])
    await world.pool(warm=1, max=1, reuse="Always", idleSeconds=86_400)
    await world.until_idle(1)
    await world.clock.sleep(30)
    measured = Measured()
    await first.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=300))
    with pytest.raises(NoIdleWorker):
        await second.mooring.claims.desk.claim(POOL, ClaimRequest("acme", ttl_seconds=300))
    assert measured.collisions == 1


async def test_the_share_of_a_replica_that_died_is_served_by_the_others_before_its_death_is_known(
    world: Harbour,
) -> None:
    alive, dead = world.start("alive"), world.start("dead")
    await world.pool(warm=6, max=6, reuse="Always", idleSeconds=86_400)
    await world.until_idle(6)
    desk = alive.mooring.claims.desk
    held = [await desk.claim(POOL, ClaimRequest("acme", ttl_seconds=300)) for _ in range(6)]
    waiting = asyncio.gather(*(desk.claim(POOL, ClaimRequest("acme", ttl_seconds=300, wait=60)) for _ in held))
    await world.clock.sleep(1)
    await dead.kill()
    killed_at = world.seconds
    for claim in held:
        await desk.release(claim.id, claim.epoch)
    assert {claim.pod_uid for claim in await waiting} == {claim.pod_uid for claim in held}
    assert world.seconds - killed_at < 2.0
