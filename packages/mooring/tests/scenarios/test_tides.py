"""The rhythm of the demo's traffic, in virtual time: the floor follows it, and the history shows that."""

import pytest

from drydock import Script
from mooring.demo.fleet import TIDAL_DEMAND
from mooring.demo.traffic import EBB_PAUSE_SECONDS, FLOOD_PAUSE_SECONDS, RHYTHM_SECONDS, compute_tide
from mooring.model.claim_request import ClaimRequest
from packages.mooring.tests.scenarios.harbour import NAMESPACE


async def surge(world, desk):
    """Sessions that come more and more often, then less, as in the demo."""

    async def one():
        claim = await desk.claim(f"{NAMESPACE}/sessions", ClaimRequest("hooli", ttl_seconds=60, wait=20.0))
        await world.clock.sleep(4.0)
        await desk.release(claim.id, claim.epoch)

    began = world.clock.monotonic()
    while True:
        tide = compute_tide(world.clock.monotonic() - began)
        pause = EBB_PAUSE_SECONDS * (FLOOD_PAUSE_SECONDS / EBB_PAUSE_SECONDS) ** tide
        await world.clock.sleep(world.entropy.between(0.5 * pause, 1.5 * pause))
        world.enter(one())


@pytest.mark.world(scripts=lambda _: Script(start_seconds=6.0))
async def test_the_floor_of_the_demo_follows_the_rhythm_of_its_traffic(world):
    first = world.start("a")
    await world.pool("sessions", max=10, demand=TIDAL_DEMAND)
    await world.until_idle(1, name="sessions")
    world.enter(surge(world, first.mooring.claims.desk))
    began = world.clock.now()
    await world.clock.sleep(3 * RHYTHM_SECONDS)
    shown = await first.mooring.queries.history.of_pool(NAMESPACE, "sessions", int(3 * RHYTHM_SECONDS), 30)
    high, low = [], []
    for point in shown.points:
        tide = compute_tide((point.at - began).total_seconds() - 60)  # a floor comes a little after its claims
        if tide > 0.8:
            high.append(point.warm)
        elif tide < 0.2:
            low.append(point.warm)
    assert sum(high) / len(high) >= sum(low) / len(low) + 1.0
    assert max(high) > min(low)
