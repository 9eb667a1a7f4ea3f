"""The history of pools: written once for all pools, summed up, read by range, forgotten by age."""

from datetime import timedelta

from mooring.model.claim import EndCause
from mooring.model.pool_history import COARSE_SECONDS, FINE_SECONDS, Gauges, Sample, bucket_of, compute_percentiles
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, claimed, on, queued, running


def gauges(pool: str = "linux", **changes: int) -> Gauges:
    return Gauges("ci", pool, {"idle": 2, "busy": 1}, **({"queued": 0, "warm": 2, "max": 5} | changes))


async def read(world: World, pool: str = "linux", step: int = FINE_SECONDS) -> tuple[Sample, ...]:
    ledger = await world.open()
    return await ledger.history.of_pool("ci", pool, step_seconds=step, since=after(-1000), until=after(1000))


async def test_a_sample_has_the_pool_as_it_was_given(world: World) -> None:
    ledger = await world.open()
    await ledger.history.write([gauges(queued=3), gauges("windows")], since=NOW, at=after(10))
    assert await read(world) == (Sample("ci", "linux", after(10), {"idle": 2, "busy": 1}, 3, 2, 5),)
    assert [one.pool for one in await read(world, "windows")] == ["windows"]
    assert await read(world, "absent") == ()


async def test_a_claim_counts_with_its_wait_in_the_sample_in_which_it_got_its_worker(world: World) -> None:
    ledger = await world.open()
    waiting = await queued(ledger)
    await ledger.claims.bind_next("ci", "linux", on("a"), now=after(7))
    await claimed(ledger, "b", owner="other")  # at once
    for begin in (0, 10):
        await ledger.history.write([gauges()], since=after(begin), at=after(begin + 10))
    first, second = await read(world)
    assert first.waits == {bucket_of(0.0): 1, bucket_of(7.0): 1}
    assert second.waits == {}
    assert waiting.id


async def test_a_claim_that_ended_within_its_first_sample_still_counts_with_its_wait(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=after(4), reason="done")
    await ledger.history.write([gauges()], since=NOW, at=after(10))
    (sample,) = await read(world)
    assert (sample.waits, sample.holds, sample.ended) == ({bucket_of(0.0): 1}, {bucket_of(4.0): 1}, 1)


async def test_a_claim_that_never_ran_ends_without_a_hold(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger)
    await ledger.claims.end(claim.id, claim.epoch, EndCause.NOT_STARTED, now=after(12), reason="no answer")
    await ledger.history.write([gauges()], since=after(10), at=after(20))
    (sample,) = await read(world)
    assert (sample.waits, sample.holds, sample.ended) == ({}, {}, 1)


async def test_claims_of_other_pools_are_not_counted(world: World) -> None:
    ledger = await world.open()
    await ledger.claims.insert_claimed(asked(pool="windows"), on("w"), now=after(1))
    await ledger.history.write([gauges()], since=NOW, at=after(10))
    assert [one.waits for one in await read(world)] == [{}]


async def test_the_first_writer_of_a_sample_wins(world: World) -> None:
    ledger, other = await world.open(), await world.open()
    await ledger.history.write([gauges(queued=1)], since=NOW, at=after(10))
    await other.history.write([gauges(queued=9)], since=NOW, at=after(10))
    assert [one.queued for one in await read(world)] == [1]


async def test_summaries_are_kept_beside_the_samples_and_come_back_as_they_were(world: World) -> None:
    ledger = await world.open()
    assert await ledger.history.summarised_until() is None
    summary = Sample("ci", "linux", after(300), {"idle": 1.25}, 4, 2, 5, {3: 7}, {40: 2}, 2)
    await ledger.history.summarise([summary])
    await ledger.history.summarise([Sample("ci", "linux", after(300))])
    assert await read(world, step=COARSE_SECONDS) == (summary,)
    assert await read(world) == ()
    assert await ledger.history.summarised_until() == after(300)


async def test_a_range_has_its_end_and_not_its_beginning(world: World) -> None:
    ledger = await world.open()
    for end in (10, 20, 30, 40):
        await ledger.history.write([gauges(), gauges("a")], since=after(end - 10), at=after(end))
    found = await ledger.history.of_all(step_seconds=FINE_SECONDS, since=after(10), until=after(30))
    assert [(one.pool, one.at) for one in found] == [
        ("a", after(20)), ("a", after(30)), ("linux", after(20)), ("linux", after(30)),
    ]  # fmt: skip


async def test_samples_age_out_by_their_resolution_in_batches_also_those_of_pools_that_are_gone(world: World) -> None:
    ledger = await world.open()
    for end in (10, 20, 30):
        await ledger.history.write([gauges("gone")], since=after(end - 10), at=after(end))
    await ledger.history.summarise([Sample("ci", "gone", after(300))])
    day = NOW + timedelta(days=1, seconds=25)
    assert await ledger.history.prune(now=day, limit=1) == 1
    assert await ledger.history.prune(now=day, limit=10) == 1
    assert [one.at for one in await read(world, "gone")] == [after(30)]
    assert len(await read(world, "gone", COARSE_SECONDS)) == 1
    assert await ledger.history.prune(now=NOW + timedelta(days=31)) == 2


def test_percentiles_are_within_a_tenth_of_the_exact_ones() -> None:
    durations = [0.02 * 1.01**n for n in range(1000)]
    counts: dict[int, int] = {}
    for seconds in durations:
        counts[bucket_of(seconds)] = counts.get(bucket_of(seconds), 0) + 1
    found = compute_percentiles(counts)
    assert found is not None
    for estimate, rank in ((found.p50, 500), (found.p95, 950), (found.p99, 990)):
        assert abs(estimate - durations[rank]) <= 0.1 * durations[rank]
    assert compute_percentiles({}) is None
