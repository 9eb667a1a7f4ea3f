"""The history of a pool, recorded by the leader and read by range."""

import pytest

from mooring.model.claim_request import ClaimRequest
from mooring.model.errors import InvalidInput
from packages.mooring.tests.scenarios.harbour import NAMESPACE


async def test_workers_and_claims_of_a_pool_are_found_in_its_history(world):
    first, second = world.start("a"), world.start("b")
    await world.pool("charted", warm=2, max=3, reuse="Always")
    await world.until_idle(2, name="charted")
    await world.clock.sleep(60)
    claim = await second.mooring.claims.desk.claim(f"{NAMESPACE}/charted", ClaimRequest("acme", ttl_seconds=600))
    await world.clock.sleep(60)
    await second.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(30)

    history = await first.mooring.queries.history.of_pool(NAMESPACE, "charted", 300)
    assert history.step_seconds == 10
    times = [point.at for point in history.points]
    assert times == sorted(set(times)), "one sample a step, though two replicas run"
    assert {point.workers["busy"] for point in history.points} == {0, 1}
    assert history.points[-1].workers["idle"] == 3, "the pool grew, and the worker came back"
    assert (history.points[-1].warm, history.points[-1].max) == (2, 3)
    assert (history.total.claims, history.total.ended) == (1, 1)
    assert history.total.hold is not None and history.total.hold.p50 == pytest.approx(60, rel=0.2)


@pytest.mark.slow
async def test_five_minutes_are_summed_up_and_stay_when_the_leader_changes(world):
    first = world.start("a")
    await world.pool("summed", warm=1, max=1)
    await world.until_idle(1, name="summed")
    await world.clock.sleep(700)
    await first.kill()
    second = world.start("b")
    await world.clock.sleep(700)
    history = await second.mooring.queries.history.of_pool(NAMESPACE, "summed", 7200, 300)
    assert history.step_seconds == 300
    assert len(history.points) >= 4
    assert all(point.workers["idle"] == pytest.approx(1, abs=0.5) for point in history.points[1:])


async def test_a_range_or_step_that_makes_no_sense_is_refused_with_its_field(world):
    history = world.start("a").mooring.queries.history
    for seconds, step, field in ((10, 0, "range"), (31 * 86400, 0, "range"), (3600, 7, "step"), (86400, 10, "step")):
        with pytest.raises(InvalidInput) as refused:
            await history.of_pool(NAMESPACE, "any", seconds, step)
        assert refused.value.field == field
