"""Pools whose floor follows demand, in the whole application."""

import re

import pytest

from drydock import Script
from hawser.errors import KubeError
from mooring.controllers.claims.refusals import NoIdleWorker, QueueFull, WaitTimedOut
from mooring.model.claim_request import ClaimRequest
from mooring.queries.claims import read_waiting
from mooring.queries.pool_detail import read_pool
from packages.mooring.tests.scenarios.harbour import NAMESPACE

START_SECONDS = 20.0
slow_starts = pytest.mark.world(scripts=lambda _: Script(start_seconds=START_SECONDS))


async def claim_for(world, replica, seconds, every, hold=15.0, name="elastic"):
    """Claims that come at a steady pace, each held for a while."""
    desk = replica.mooring.claims.desk

    async def one():
        claim = await desk.claim(f"{NAMESPACE}/{name}", ClaimRequest("acme", ttl_seconds=600, wait=120.0))
        await world.clock.sleep(hold)
        await desk.release(claim.id, claim.epoch)

    tasks, end = [], world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        tasks.append(world.enter(one()))
        await world.clock.sleep(every)
    return tasks


async def floor(world, name="elastic"):
    return (await world.status(name)).get("demand", {}).get("floor", 0)


@pytest.mark.slow
@slow_starts
async def test_the_floor_follows_a_step_comes_down_slowly_and_never_takes_a_held_worker(world):
    first = world.start("a")
    demand = {"wait": "500ms", "min": 1, "scaleDownAfter": "120s"}
    await world.pool("elastic", max=60, demand=demand)
    await world.until_idle(1, name="elastic")
    await claim_for(world, first, 400, every=10.0)
    before = await floor(world)
    held = await first.mooring.claims.desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("keeper", ttl_seconds=3600))
    await claim_for(world, first, 100, every=1.0)
    peak = await floor(world)
    assert peak >= before + 8, "five times more than before come within one start"
    status = (await world.status("elastic"))["demand"]
    assert status["startSeconds"] == pytest.approx(START_SECONDS, rel=0.3)
    assert status["because"].startswith(f"{peak} idle: ")

    await world.clock.sleep(60)
    assert await floor(world) == peak, "not before scaleDownAfter"
    await world.clock.sleep(300)
    between = await floor(world)
    await world.clock.sleep(1200)
    assert await floor(world) < between <= peak
    desk = first.mooring.claims.desk
    assert (await desk.heartbeat(held.id, held.epoch)).state == "running", "held all the time"


@pytest.mark.slow
@slow_starts
async def test_what_was_learnt_survives_the_leader(world):
    first = world.start("a")
    await world.pool("elastic", max=60, demand={"min": 1})
    await world.until_idle(1, name="elastic")
    await claim_for(world, first, 320, every=4.0)
    await world.clock.sleep(20)  # the last claims are given back
    before = (await world.status("elastic"))["demand"]
    await first.kill()
    second = world.start("b")
    await world.clock.sleep(40)
    await claim_for(world, second, 30, every=4.0)
    after = (await world.status("elastic"))["demand"]
    assert after["floor"] >= before["floor"] - 2
    assert after["startSeconds"] == pytest.approx(before["startSeconds"], rel=0.2)


@pytest.mark.slow
@slow_starts
async def test_a_pool_at_zero_serves_its_first_claim_after_one_start_and_is_empty_again_later(world):
    first = world.start("a")
    await world.pool("elastic", max=5, demand={"min": 0, "scaleDownAfter": "60s"})
    await world.clock.sleep(120)
    assert (await world.status("elastic")).get("replicas", 0) == 0
    began = world.clock.monotonic()
    claim = await first.mooring.claims.desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", wait=120.0))
    assert world.clock.monotonic() - began == pytest.approx(START_SECONDS, abs=3)
    await first.mooring.claims.desk.release(claim.id, claim.epoch)
    await world.clock.sleep(600)
    status = await world.status("elastic")
    assert (status.get("replicas", 0), status["demand"]["floor"]) == (0, 0)
    assert "no claim came for 60s" in status["demand"]["because"]


@slow_starts
async def test_a_claim_that_does_not_wait_for_the_first_start_is_refused_with_the_time_it_takes(world):
    first = world.start("a")
    await world.pool("elastic", max=5, demand={"min": 0})
    await world.clock.sleep(60)
    with pytest.raises(WaitTimedOut, match=r"expected in about [0-9]+ s") as raised:
        await first.mooring.claims.desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", wait=2.0))
    (seconds,) = re.findall(r"about ([0-9]+) s", raised.value.message)
    assert 0 < int(seconds) <= 2 * START_SECONDS
    assert f"expected in about {seconds} s" in raised.value.detail["why"]["message"]


async def test_a_dry_run_only_shows_the_floor(world):
    first = world.start("a")
    await world.pool("elastic", warm=2, max=10, demand={"min": 5, "dryRun": True})
    await world.until_idle(2, name="elastic")
    await world.clock.sleep(30)
    status = await world.status("elastic")
    assert (status["idle"], status["demand"]["floor"]) == (2, 5)
    condition = next(one for one in status["conditions"] if one["type"] == "DemandMet")
    assert (condition["status"], condition["reason"]) == ("False", "DryRun")
    assert first


async def test_a_pool_with_demand_refuses_to_be_scaled(world):
    world.start("a")
    await world.pool("elastic", max=10, demand={"min": 1})
    await world.until_idle(1, name="elastic")
    with pytest.raises(KubeError, match=r"spec\.demand"):
        await world.change({"warm": 4}, "elastic")
    assert await floor(world) == 1


@slow_starts
async def test_a_claim_that_does_not_wait_is_refused_and_still_counts_as_demand(world):
    first = world.start("a")
    await world.pool("elastic", max=5, demand={"min": 0, "scaleDownAfter": "60s"})
    await world.clock.sleep(30)
    desk = first.mooring.claims.desk
    with pytest.raises(NoIdleWorker):
        await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("hasty"))
    await world.clock.sleep(15 + START_SECONDS)
    assert (await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("hasty"))).state == "running"


@slow_starts
async def test_a_waiting_claim_reads_its_place_and_how_long_it_is_expected_to_wait(world):
    first = world.start("a")
    await world.pool("elastic", max=5, demand={"min": 1})
    await world.until_idle(1, name="elastic")
    desk, fleet = first.mooring.claims.desk, first.mooring.queries.fleet
    await desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme"))
    world.enter(desk.claim(f"{NAMESPACE}/elastic", ClaimRequest("acme", wait=60.0, idempotency_key="second")))
    await world.clock.sleep(5)
    waiting = await first.mooring.context.ledger.claims.find_by_key(NAMESPACE, "elastic", "second")
    reading = read_waiting(fleet, waiting, await desk.position(waiting), held=True)
    assert reading.position == 1
    assert 0 < reading.expected_wait_seconds <= START_SECONDS
    assert f"expected in about {reading.expected_wait_seconds:.0f} s" in reading.why.message
    shown = (await read_pool(first.mooring.queries, NAMESPACE, "elastic", world.clock.now())).queue
    assert [one.expected_seconds for one in shown] == [reading.expected_wait_seconds], "the page says the same"


@slow_starts
async def test_the_sum_behind_the_floor_is_that_of_the_status_at_any_time(world):
    first = world.start("a")
    await world.pool("elastic", max=60, demand={"min": 1})
    await world.until_idle(1, name="elastic")
    for seconds in (20, 60, 90):
        await claim_for(world, first, seconds, every=2.0)
        await world.clock.sleep(5)  # the status is written soon after each step of ten seconds
        queries = first.mooring.queries
        reading = await queries.history.demand.of_pool(queries.fleet.find_pool(NAMESPACE, "elastic"))
        needed = re.search(r"so (\d+) idle", reading.status.because)[1]
        assert any(f": {needed} needed" in line for line in reading.sum), (reading.status.because, reading.sum)
        assert f"floor: {reading.status.floor}" in reading.sum
        assert reading.targets


async def test_a_flood_of_one_owner_does_not_starve_another_in_a_fair_queue(world):
    first = world.start("a")
    await world.pool("fair", warm=1, max=1, reuse="Always", fairness={"weights": {}}, limits={"maxQueued": 4})
    await world.until_idle(1, name="fair")
    desk, served = first.mooring.claims.desk, []
    held = await desk.claim(f"{NAMESPACE}/fair", ClaimRequest("flood"))

    async def wait_and_pass_on(owner):
        claim = await desk.claim(f"{NAMESPACE}/fair", ClaimRequest(owner, wait=300.0))
        served.append(owner)
        await world.clock.sleep(5)
        await desk.release(claim.id, claim.epoch)

    tasks = []
    for owner in ("flood", "flood", "flood", "flood", "late"):
        tasks.append(world.enter(wait_and_pass_on(owner)))
        await world.clock.sleep(1)
    with pytest.raises(QueueFull, match="is full for flood") as refused:
        await desk.claim(f"{NAMESPACE}/fair", ClaimRequest("flood", wait=60.0))
    assert "at most 4 claims of flood may wait" in refused.value.detail["why"]["message"]
    await desk.release(held.id, held.epoch)
    await world.clock.sleep(60)
    assert served.index("late") <= 1
    assert len(served) == 5
    assert all(task.done() for task in tasks)
