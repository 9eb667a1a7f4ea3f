import asyncio

from mooring.ledger.records import ClaimFilter, PoolCount
from mooring.model.claim import ClaimState, EndCause, Hold, Verdict, WorkerSlot
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, claimed, on, queued, running


async def test_the_queue_is_served_by_priority_then_first_come(world: World) -> None:
    ledger = await world.open()
    for owner, priority in (("a", 0), ("b", 5), ("c", 0), ("d", 5)):
        await queued(ledger, owner=owner, priority=priority)
    assert [claim.owner for claim in await ledger.claims.queue("ci", "linux")] == ["b", "d", "a", "c"]
    served = []
    while (outcome := await ledger.claims.bind_next("ci", "linux", on(f"w{len(served)}"), now=NOW)) is not None:
        assert outcome.verdict is Verdict.DONE
        served.append(outcome.require())
    assert [claim.owner for claim in served] == ["b", "d", "a", "c"]
    assert all(claim.state is ClaimState.CLAIMED and claim.claimed_at == NOW for claim in served)


async def test_a_position_counts_those_ahead(world: World) -> None:
    ledger = await world.open()
    first, second = await queued(ledger), await queued(ledger)
    urgent = await queued(ledger, priority=9)
    await queued(ledger, pool="macos")
    positions = [await ledger.claims.position(claim.id) for claim in (urgent, first, second)]
    assert positions == [1, 2, 3]
    await ledger.claims.bind_next("ci", "linux", on("w"), now=NOW)
    assert await ledger.claims.position(urgent.id) is None
    assert await ledger.claims.position(second.id) == 2


async def test_binding_for_an_empty_queue_takes_nothing(world: World) -> None:
    ledger = await world.open()
    await queued(ledger, pool="macos")
    assert await ledger.claims.bind_next("ci", "linux", on("a"), now=NOW) is None


async def test_binding_to_a_taken_slot_names_its_holder_and_leaves_the_queue(world: World) -> None:
    ledger = await world.open()
    holder, waiting = await claimed(ledger, "a"), await queued(ledger)
    outcome = await ledger.claims.bind_next("ci", "linux", on("a"), now=NOW)
    assert outcome is not None
    assert (outcome.verdict, outcome.claim) == (Verdict.SLOT_TAKEN, holder)
    assert await ledger.claims.get(waiting.id) == waiting


async def test_many_servers_of_one_queue_serve_everyone_once(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    waiting = [await queued(processes[0]) for _ in range(12)]

    async def serve(number: int) -> list[str]:
        ledger, mine = processes[number % 3], []
        for slot in range(2):
            outcome = await ledger.claims.bind_next("ci", "linux", on(f"w{number}", slot), now=NOW)
            if outcome is not None and outcome.verdict is Verdict.DONE:
                mine.append(outcome.require().id)
        return mine

    served = [claim for some in await asyncio.gather(*(serve(number) for number in range(6))) for claim in some]
    while (late := await processes[0].claims.bind_next("ci", "linux", on(f"late{len(served)}"), now=NOW)) is not None:
        served.append(late.require().id)
    assert sorted(served) == sorted(claim.id for claim in waiting)


async def test_servers_that_race_for_one_slot_bind_one_claim(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    for _ in range(6):
        await queued(processes[0])
    outcomes = await asyncio.gather(
        *(processes[i % 3].claims.bind_next("ci", "linux", on("a"), now=NOW) for i in range(6))
    )
    verdicts = [outcome.verdict for outcome in outcomes if outcome]
    assert verdicts.count(Verdict.DONE) == 1
    assert len((await processes[0].claims.live()).claims) == 1
    assert len(await processes[0].claims.queue("ci", "linux")) == 5


async def test_those_whose_wait_is_over_are_passed_by_and_then_expired(world: World) -> None:
    ledger = await world.open()
    impatient, patient = await queued(ledger, wait_seconds=10), await queued(ledger, wait_seconds=100)
    assert await ledger.claims.expire_waiting(now=after(9.9)) == ()
    bound = await ledger.claims.bind_next("ci", "linux", on("a"), now=after(10))
    assert bound is not None and bound.require().id == patient.id
    (expired,) = await ledger.claims.expire_waiting(now=after(10))
    assert (expired.id, expired.state, expired.ended_at) == (impatient.id, ClaimState.EXPIRED, after(10))
    assert "in time" in expired.reason
    assert await ledger.claims.expire_waiting(now=after(10)) == ()


async def test_expiring_the_waiting_ones_takes_the_oldest_up_to_the_limit(world: World) -> None:
    ledger = await world.open()
    claims = [await queued(ledger, wait_seconds=1) for _ in range(3)]
    first_two = await ledger.claims.expire_waiting(now=after(2), limit=2)
    assert [claim.id for claim in first_two] == [claim.id for claim in claims[:2]]
    assert len(await ledger.claims.expire_waiting(now=after(2), limit=2)) == 1


async def test_the_live_claims_come_with_the_incarnation_they_were_read_from(world: World) -> None:
    ledger = await world.open()
    nothing = await ledger.claims.live()
    assert (nothing.incarnation, nothing.armed, nothing.claims) == (ledger.incarnation.id, True, ())
    one, two = await claimed(ledger, "a"), await running(ledger, "b", pool="macos")
    await queued(ledger)
    gone = await claimed(ledger, "c")
    await ledger.claims.end(gone.id, gone.epoch, EndCause.WORKER_LOST, now=NOW, reason="")
    assert (await ledger.claims.live()).claims == (one, two)
    assert (await ledger.claims.live("ci", "macos")).claims == (two,)
    assert (await ledger.claims.live("other")).claims == ()


async def test_a_pools_live_claims_are_counted_by_pod_together_with_its_queue(world: World) -> None:
    ledger = await world.open()
    nothing = await ledger.claims.occupancy("ci", "linux")
    assert (nothing.incarnation, nothing.armed, nothing.held, nothing.queued) == (ledger.incarnation.id, True, {}, 0)
    (await ledger.claims.insert_claimed(asked(), on("a", 0), now=NOW)).require()
    (await ledger.claims.insert_claimed(asked(), on("a", 1), now=NOW)).require()
    await running(ledger, "b")
    await running(ledger, "c", pool="macos")
    gone = await claimed(ledger, "d")
    await ledger.claims.end(gone.id, gone.epoch, EndCause.RELEASED, now=NOW, reason="")
    await queued(ledger)
    found = await ledger.claims.occupancy("ci", "linux")
    assert (found.held, found.queued) == ({"uid-a": 2, "uid-b": 1}, 1)
    assert (await ledger.claims.occupancy("ci", "macos")).held == {"uid-c": 1}


async def test_live_claims_are_found_by_their_pods(world: World) -> None:
    ledger = await world.open()
    second = (await ledger.claims.insert_claimed(asked(), on("a", 1), now=NOW)).require()
    first = (await ledger.claims.insert_claimed(asked(), on("a", 0), now=NOW)).require()
    await claimed(ledger, "b")
    assert await ledger.claims.live_by_pods(["uid-a", "uid-z"]) == (first, second)
    assert await ledger.claims.live_by_pods([]) == ()


async def test_open_claims_are_counted_by_pool_with_the_oldest_that_waits(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a")
    await running(ledger, "b")
    await running(ledger, "c", pool="macos")
    await ledger.claims.insert_queued(asked(), now=after(5), wait_until=after(60))
    await queued(ledger)
    ended = await claimed(ledger, "d", pool="gone")
    await ledger.claims.end(ended.id, ended.epoch, EndCause.RELEASED, now=NOW, reason="")
    assert await ledger.claims.count_by_pool() == (
        PoolCount("ci", "linux", queued=2, claimed=1, running=1, oldest_queued_at=NOW),
        PoolCount("ci", "macos", queued=0, claimed=0, running=1),
    )


async def test_claims_are_listed_newest_first_in_pages_with_a_true_total(world: World) -> None:
    ledger = await world.open()
    claims = [await claimed(ledger, f"w{i}") for i in range(5)]
    first = await ledger.claims.list(ClaimFilter(), limit=2)
    assert (first.items, first.total) == ((claims[4], claims[3]), 5)
    second = await ledger.claims.list(ClaimFilter(), limit=2, before_ticket=first.next_ticket)
    assert (second.items, second.total) == ((claims[2], claims[1]), 5)
    last = await ledger.claims.list(ClaimFilter(), limit=2, before_ticket=second.next_ticket)
    assert (last.items, last.next_ticket) == ((claims[0],), None)


async def test_a_list_can_be_narrowed_in_every_way(world: World) -> None:
    ledger = await world.open()
    one = await claimed(ledger, "a", owner="one")
    two = await running(ledger, "b", owner="two", pool="macos")
    three = await queued(ledger, owner="two", namespace="other")

    async def found(**narrow: object) -> tuple[str, ...]:
        return tuple(claim.id for claim in (await ledger.claims.list(ClaimFilter(**narrow))).items)  # type: ignore[arg-type]

    assert await found(owner="two") == (three.id, two.id)
    assert await found(pool="macos") == (two.id,)
    assert await found(namespace="other") == (three.id,)
    assert await found(pod_uid="uid-a") == (one.id,)
    assert await found(states=frozenset({ClaimState.CLAIMED, ClaimState.QUEUED})) == (three.id, one.id)
    assert await found(states=frozenset()) == ()


async def test_forgetting_old_claims_frees_their_keys_and_spares_the_open_ones(world: World) -> None:
    ledger = await world.open()
    old = await claimed(ledger, "a", idempotency_key="k", request_hash="h")
    await ledger.claims.end(old.id, old.epoch, EndCause.RELEASED, now=NOW, reason="")
    recent = await claimed(ledger, "b")
    await ledger.claims.end(recent.id, recent.epoch, EndCause.RELEASED, now=after(50), reason="")
    held = await claimed(ledger, "c")
    assert await ledger.claims.prune(ended_before=after(10)) == 1
    assert await ledger.claims.prune(ended_before=after(10)) == 0
    assert await ledger.claims.get(old.id) is None
    assert await ledger.claims.get(held.id) == held
    assert (await claimed(ledger, "a", idempotency_key="k", request_hash="other")).id != old.id


async def test_what_protection_needs_of_live_claims_comes_in_a_narrow_read(world: World) -> None:
    ledger = await world.open()
    nothing = await ledger.claims.holds()
    assert (nothing.incarnation, nothing.armed, nothing.items) == (ledger.incarnation.id, True, ())
    where = WorkerSlot("w", "uid-w", 0, "127.64.0.1", after(3600))
    claim = (await ledger.claims.insert_claimed(asked("acme"), where, now=NOW)).require()
    bare = await running(ledger, "b")
    await queued(ledger)
    gone = await claimed(ledger, "c")
    await ledger.claims.end(gone.id, gone.epoch, EndCause.WORKER_LOST, now=NOW, reason="")
    assert set((await ledger.claims.holds()).items) == {
        Hold("uid-w", claim.id, claim.epoch, "acme", NOW, after(3600)),
        Hold("uid-b", bare.id, bare.epoch, bare.owner, NOW, None),
    }


async def test_claims_are_found_by_the_beginning_of_their_id(world: World) -> None:
    ledger = await world.open()
    for number, id_ in enumerate(("abc-1", "abc-2", "ab%-3")):
        await claimed(ledger, f"w{number}", id=id_)
    assert [claim.id for claim in await ledger.claims.find_by_prefix("abc")] == ["abc-2", "abc-1"]
    assert [claim.id for claim in await ledger.claims.find_by_prefix("ab", limit=2)] == ["ab%-3", "abc-2"]
    assert [claim.id for claim in await ledger.claims.find_by_prefix("ab%")] == ["ab%-3"]
    assert await ledger.claims.find_by_prefix("abd") == ()


async def test_old_claims_are_counted_up_to_a_limit(world: World) -> None:
    ledger = await world.open()
    for pod in ("a", "b", "c"):
        claim = await claimed(ledger, pod)
        await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    await claimed(ledger, "d")
    assert await ledger.claims.count_ended(ended_before=after(10), limit=100) == 3
    assert await ledger.claims.count_ended(ended_before=after(10), limit=2) == 2
    assert await ledger.claims.count_ended(ended_before=NOW, limit=100) == 0
    assert await ledger.audit.count_completed(before=after(10), limit=5) == 0


async def test_claims_that_expired_on_a_pod_are_found(world: World) -> None:
    ledger = await world.open()
    ended = []
    for pod, cause in (
        ("a", EndCause.EXPIRED),
        ("a", EndCause.RELEASED),
        ("b", EndCause.EXPIRED),
        ("a", EndCause.EXPIRED),
    ):
        claim = await claimed(ledger, pod)
        await ledger.claims.end(claim.id, claim.epoch, cause, now=NOW, reason="")
        ended.append(claim.id)
    await claimed(ledger, "a")
    assert [claim.id for claim in await ledger.claims.expired_on(on("a").pod_uid)] == [ended[0], ended[3]]
