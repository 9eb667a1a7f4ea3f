"""A real receiver, real workers of a `mooring up`, and a GitHub that is held to the published schemas."""

import asyncio
from collections.abc import Callable

import pytest

from ..demo.__main__ import Demo, drain_under  # type: ignore[import-not-found]

pytestmark = [pytest.mark.slow, pytest.mark.realtime]


async def until(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not await asyncio.to_thread(holds):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:.0f} s: {what}") from None


async def all_is_given_back(demo: Demo) -> None:
    await until(lambda: not demo.stage.mooring.claims(demo.stage.pool), "all claims are released")
    await until(lambda: not demo.fake.runners, "no runner is registered any more")


async def test_jobs_run_once_though_webhooks_are_lost_repeated_and_late_and_the_receiver_is_killed(demo: Demo) -> None:
    send, late = demo.fake.deliver, []
    demo.fake.deliver = lambda headers, body: None
    lost = demo.fake.push()
    demo.fake.deliver = lambda headers, body: [send(headers, body), send(headers, body)]
    repeated = demo.fake.push()
    demo.fake.deliver = lambda headers, body: late.append((headers, body))
    delayed = demo.fake.push()
    await demo.until_done([lost, repeated, delayed])
    await demo.stop_receiver()
    while_down = demo.fake.push()
    await demo.start_receiver()
    for headers, body in reversed(late):
        demo.fake.deliver(headers, body)
    jobs = [lost, repeated, delayed, while_down]
    await demo.until_done(jobs)
    assert {(job.conclusion, job.runs) for job in jobs} == {("success", 1)}
    await all_is_given_back(demo)


async def test_a_cancelled_job_gives_its_worker_back_while_it_waits_and_when_its_runner_is_idle(demo: Demo) -> None:
    running = [demo.fake.push(held=True) for _ in range(4)]
    for job in running:
        await demo.until_running(job)
    waiting = demo.fake.push()
    claims = lambda: demo.stage.mooring.claims(demo.stage.pool)  # noqa: E731
    await until(lambda: len(claims()) == 5, "the fifth job waits in the queue of the pool")
    demo.fake.cancel(waiting)
    await until(lambda: len(claims()) < 5, "its place in the queue is given back")
    for job in running:
        job.held = False
    await demo.until_done(running)
    assert {(job.conclusion, job.runs) for job in running} == {("success", 1)}
    assert waiting.runs == 0
    await all_is_given_back(demo)


async def test_a_job_survives_the_drain_of_its_node(demo: Demo) -> None:
    said = await drain_under(demo)
    assert "success, ran 1 time(s)" in said
    assert demo.stage.refused, "the drain had to wait"
    await all_is_given_back(demo)
