"""A real Buildbot master and real `buildbot-worker`s on a `mooring up`."""

import asyncio
from collections.abc import Callable

import pytest

from integrations.buildbot.demo.__main__ import BUILDERS, drain_under, run_builds
from integrations.buildbot.demo.master import Master
from integrations.stage import Stage

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


async def until(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not await asyncio.to_thread(holds):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:.0f} s: {what}") from None


def no_claims(stage: Stage) -> Callable[[], bool]:
    return lambda: not stage.mooring.claims(stage.pool)


async def test_builders_share_a_pool_and_every_build_gives_its_worker_back(stage: Stage, master: Master) -> None:
    outcomes = await run_builds(master, [f"shared-{number}" for number in range(6)], 0.2)
    assert {(outcome.result, outcome.runs) for outcome in outcomes} == {("success", 1)}
    await until(no_claims(stage), "all claims are released")
    assert "Traceback" not in master.log()


async def test_a_cancelled_build_gives_its_worker_back_while_it_runs_and_while_it_waits(
    stage: Stage, master: Master
) -> None:
    running = [await master.force(BUILDERS[0], f"running-{number}", 300) for number in range(4)]
    for number in range(4):
        await master.until_running(f"running-{number}")
    await master.stop_build((await master.builds(running[0]))[0]["buildid"])
    assert await master.result(running[0]) == "cancelled"
    await until(lambda: len(stage.mooring.claims(stage.pool)) == 3, "the cancelled build's claim is released")
    waiting = await master.force(BUILDERS[1], "waiting", 300)
    await master.until_running("waiting")
    for request in (*running[1:], waiting):
        await master.cancel(request)
    assert [await master.result(request) for request in (*running[1:], waiting)] == ["cancelled"] * 4
    await until(no_claims(stage), "all claims are released")


async def test_a_build_survives_the_drain_of_its_node_and_the_drain_ends_after_it(stage: Stage, master: Master) -> None:
    said = await drain_under(stage, master, "drained")
    assert "ended with success and ran 1 time(s)" in said
    await until(no_claims(stage), "the claim is released")


async def test_a_master_that_is_killed_leaves_no_worker_behind_and_its_successor_builds_again(
    stage: Stage, master: Master
) -> None:
    request = await master.force(BUILDERS[0], "interrupted", 300)
    await master.until_running("interrupted")
    (before,) = stage.mooring.claims(stage.pool)
    master.kill()
    await master.start()
    await until(lambda: stage.mooring.get_claim(before.id).state == "released", "the old claim is released")
    await until(lambda: master.runs("interrupted") == 2, "Buildbot builds the request again")
    master.finish("interrupted")
    assert await master.result(request) == "success"
    await until(no_claims(stage), "all claims are released")


async def test_a_claim_that_is_revoked_under_a_build_fails_fast_and_the_build_is_repeated(
    stage: Stage, master: Master
) -> None:
    request = await master.force(BUILDERS[0], "revoked", 300)
    await master.until_running("revoked")
    (claim,) = stage.mooring.claims(stage.pool)
    stage.mooring.release(claim.id, reason="the operator needs the node")
    await until(lambda: master.runs("revoked") == 2, "Buildbot repeats the build", 90)
    master.finish("revoked")
    assert await master.result(request) == "success"
    assert "the operator needs the node" in master.log()
