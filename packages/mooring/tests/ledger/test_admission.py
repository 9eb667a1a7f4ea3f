import asyncio

import pytest

from mooring.model.claim import AdmissionVerdict, ClaimState, EndCause, KeyReused, LimitReached, SlotTaken
from mooring.model.errors import Conflict
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, claimed, on, queued


async def test_a_claim_keeps_what_was_asked_and_where_it_is(world: World) -> None:
    ledger = await world.open()
    new = asked(priority=3, idempotency_key="k", request_hash="h", retryable=True, payload={"job": [1, "ü"]})
    admission = await ledger.claims.insert_claimed(new, on("a", 1), now=NOW)
    claim = admission.require()
    assert admission.verdict is AdmissionVerdict.CREATED
    assert claim.state is ClaimState.CLAIMED
    assert (claim.pod_name, claim.pod_uid, claim.slot, claim.address) == ("a", "uid-a", 1, "127.64.0.1")
    assert (claim.priority, claim.idempotency_key, claim.request_hash, claim.retryable) == (3, "k", "h", True)
    assert claim.payload == {"job": [1, "ü"]}
    assert claim.created_at == claim.claimed_at == claim.heartbeat_at == NOW
    assert claim.queued_at is None and claim.ended_at is None
    assert await ledger.claims.get(claim.id) == claim


async def test_of_two_claims_on_one_slot_the_second_is_refused(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a")
    admission = await ledger.claims.insert_claimed(asked(), on("a"), now=NOW)
    assert admission.verdict is AdmissionVerdict.SLOT_TAKEN
    with pytest.raises(SlotTaken):
        admission.require()


async def test_slots_of_one_worker_are_held_separately(world: World) -> None:
    ledger = await world.open()
    for slot in (0, 1):
        assert (await ledger.claims.insert_claimed(asked(), on("a", slot), now=NOW)).require().slot == slot


async def test_a_slot_is_free_again_after_each_way_to_end(world: World) -> None:
    ledger = await world.open()
    epochs = []
    for cause in EndCause:
        claim = await claimed(ledger, "a")
        epochs.append(claim.epoch)
        ended = (await ledger.claims.end(claim.id, claim.epoch, cause, now=NOW, reason="")).require()
        assert (ended.state, ended.cause) == (cause.state, cause)
    assert epochs == sorted(set(epochs))


async def test_many_claimers_of_few_slots_never_share_one(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    attempts = [
        processes[i % 3].claims.insert_claimed(asked(), on(f"w{i % 5}"), now=NOW, overtake=True) for i in range(60)
    ]
    verdicts = [admission.verdict for admission in await asyncio.gather(*attempts)]
    assert verdicts.count(AdmissionVerdict.CREATED) == 5
    assert verdicts.count(AdmissionVerdict.SLOT_TAKEN) == 55
    live = await processes[0].claims.live()
    assert len({(claim.pod_uid, claim.slot) for claim in live.claims}) == len(live.claims) == 5


async def test_epochs_of_a_slot_rise_in_the_order_of_its_holders(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    holders: list[int] = []

    async def claim_and_release(number: int) -> None:
        ledger = processes[number % 3]
        for _ in range(8):
            admission = await ledger.claims.insert_claimed(asked(), on("a"), now=NOW)
            if admission.verdict is AdmissionVerdict.CREATED:
                claim = admission.require()
                holders.append(claim.epoch)
                await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")

    await asyncio.gather(*(claim_and_release(number) for number in range(9)))
    assert len(holders) > 5
    assert holders == sorted(set(holders))


async def test_the_same_key_and_request_answer_the_same_claim_even_after_its_end(world: World) -> None:
    ledger = await world.open()
    first = await claimed(ledger, "a", idempotency_key="build-42", request_hash="same")
    again = await ledger.claims.insert_claimed(
        asked(idempotency_key="build-42", request_hash="same"), on("b"), now=after(1)
    )
    assert (again.verdict, again.require()) == (AdmissionVerdict.EXISTING, first)
    await ledger.claims.end(first.id, first.epoch, EndCause.RELEASED, now=NOW, reason="")
    later = await ledger.claims.insert_queued(
        asked(idempotency_key="build-42", request_hash="same"), now=NOW, wait_until=after(9)
    )
    assert later.require().id == first.id
    found = await ledger.claims.find_by_key("ci", "linux", "build-42")
    assert found is not None and found.state is ClaimState.RELEASED


async def test_the_same_key_with_another_request_is_refused_and_leaves_no_row(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a", idempotency_key="k", request_hash="one")
    new = asked(idempotency_key="k", request_hash="two")
    admission = await ledger.claims.insert_claimed(new, on("b"), now=NOW)
    assert admission.verdict is AdmissionVerdict.KEY_REUSED
    with pytest.raises(KeyReused) as caught:
        admission.require()
    assert caught.value.code == "key_reused"
    assert await ledger.claims.get(new.id) is None


async def test_a_key_belongs_to_its_pool(world: World) -> None:
    ledger = await world.open()
    one = await claimed(ledger, "a", idempotency_key="k", request_hash="x")
    other = await claimed(ledger, "b", idempotency_key="k", request_hash="y", pool="macos")
    assert one.id != other.id


async def test_an_insert_repeated_after_a_lost_answer_answers_the_first_one(world: World) -> None:
    ledger = await world.open()
    new, where = asked(), on("a")
    first = (await ledger.claims.insert_claimed(new, where, now=NOW)).require()
    again = await ledger.claims.insert_claimed(new, where, now=after(3))
    assert (again.verdict, again.require()) == (AdmissionVerdict.EXISTING, first)
    waiting = asked()
    queued_first = (await ledger.claims.insert_queued(waiting, now=NOW, wait_until=after(9))).require()
    assert (await ledger.claims.insert_queued(waiting, now=NOW, wait_until=after(9))).require() == queued_first


async def test_copies_of_one_request_at_the_same_time_make_one_claim(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    attempts = [
        processes[i % 3].claims.insert_claimed(asked(idempotency_key="k", request_hash="h"), on(f"w{i}"), now=NOW)
        for i in range(12)
    ]
    admissions = await asyncio.gather(*attempts)
    assert len({admission.require().id for admission in admissions}) == 1
    assert [admission.verdict for admission in admissions].count(AdmissionVerdict.CREATED) == 1


async def test_an_owner_at_the_limit_is_refused_others_are_not(world: World) -> None:
    ledger = await world.open()
    await claimed(ledger, "a")
    await queued(ledger)
    admission = await ledger.claims.insert_claimed(asked(), on("c"), now=NOW, owner_limit=2, overtake=True)
    assert admission.verdict is AdmissionVerdict.LIMIT_REACHED
    with pytest.raises(LimitReached) as caught:
        admission.require()
    assert caught.value.code == "limit_reached"
    waiting = await ledger.claims.insert_queued(asked(), now=NOW, wait_until=after(9), owner_limit=2)
    assert waiting.verdict is AdmissionVerdict.LIMIT_REACHED
    other = await ledger.claims.insert_claimed(asked("other"), on("c"), now=NOW, owner_limit=2, overtake=True)
    assert other.verdict is AdmissionVerdict.CREATED
    assert await ledger.claims.count_open("ci", "linux", "acme") == 2


async def test_a_repeat_at_the_limit_still_answers_its_claim(world: World) -> None:
    ledger = await world.open()
    new = asked(idempotency_key="k", request_hash="h")
    first = (await ledger.claims.insert_claimed(new, on("a"), now=NOW, owner_limit=1)).require()
    again = await ledger.claims.insert_claimed(
        asked(idempotency_key="k", request_hash="h"), on("b"), now=NOW, owner_limit=1
    )
    assert again.require().id == first.id


async def test_a_limit_holds_against_requests_at_the_same_time(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    claimed_ones = [
        processes[i % 3].claims.insert_claimed(asked(), on(f"w{i}"), now=NOW, owner_limit=4, overtake=True)
        for i in range(15)
    ]
    queued_ones = [
        processes[i % 3].claims.insert_queued(asked(), now=NOW, wait_until=after(60), owner_limit=4) for i in range(15)
    ]
    verdicts = [admission.verdict for admission in await asyncio.gather(*claimed_ones, *queued_ones)]
    assert verdicts.count(AdmissionVerdict.CREATED) == 4
    assert verdicts.count(AdmissionVerdict.LIMIT_REACHED) == 26


async def test_nobody_overtakes_those_who_wait(world: World) -> None:
    ledger = await world.open()
    await queued(ledger, priority=1)
    admission = await ledger.claims.insert_claimed(asked(priority=1), on("a"), now=NOW)
    assert admission.verdict is AdmissionVerdict.QUEUE_AHEAD
    with pytest.raises(Conflict):
        admission.require()
    more_urgent = await ledger.claims.insert_claimed(asked(priority=2), on("a"), now=NOW)
    assert more_urgent.verdict is AdmissionVerdict.CREATED
    elsewhere = await ledger.claims.insert_claimed(asked(pool="macos"), on("b"), now=NOW)
    assert elsewhere.verdict is AdmissionVerdict.CREATED
    after_their_wait = await ledger.claims.insert_claimed(asked(), on("c"), now=after(61))
    assert after_their_wait.verdict is AdmissionVerdict.CREATED


async def test_a_full_queue_does_not_hide_an_existing_claim(world: World) -> None:
    ledger = await world.open()
    first = await claimed(ledger, "a", idempotency_key="k", request_hash="h")
    await queued(ledger)
    again = await ledger.claims.insert_claimed(asked(idempotency_key="k", request_hash="h"), on("b"), now=NOW)
    assert again.require().id == first.id


async def test_a_key_is_free_again_when_its_claim_never_got_a_worker(world: World) -> None:
    ledger = await world.open()
    failed = await claimed(ledger, "a", idempotency_key="k", request_hash="h")
    await ledger.claims.end(failed.id, failed.epoch, EndCause.NOT_STARTED, now=after(1), reason="no mint")
    waited = await queued(ledger, idempotency_key="k", request_hash="h", wait_seconds=9)
    assert waited.id != failed.id
    assert [claim.id for claim in await ledger.claims.expire_waiting(now=after(10))] == [waited.id]
    served = await claimed(ledger, "a", idempotency_key="k", request_hash="h", retryable=True)
    await ledger.claims.mark_running(served.id, served.epoch, now=after(11))
    await ledger.claims.requeue(
        served.id, served.epoch, EndCause.WORKER_LOST, now=after(12), reason="", wait_until=after(13)
    )
    [over] = await ledger.claims.expire_waiting(now=after(14))
    assert (over.id, over.idempotency_key) == (served.id, "k")  # it was handed out once: a repeat is told how it ended


async def test_the_queue_of_a_pool_takes_as_many_claims_as_it_may_and_exactly_as_many(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    limits = {"wait_until": after(60), "queue_limit": 4}
    tries = [processes[i % 3].claims.insert_queued(asked(owner=f"o{i}"), now=NOW, **limits) for i in range(30)]
    verdicts = [admission.verdict for admission in await asyncio.gather(*tries)]
    assert verdicts.count(AdmissionVerdict.CREATED) == 4
    assert verdicts.count(AdmissionVerdict.QUEUE_FULL) == 26
    unlimited = await processes[0].claims.insert_queued(asked(), now=NOW, wait_until=after(60))
    assert unlimited.verdict is AdmissionVerdict.CREATED


async def test_a_repeated_request_keeps_its_place_in_a_full_queue(world: World) -> None:
    ledger = await world.open()
    new = asked(idempotency_key="k", request_hash="h")
    first = (await ledger.claims.insert_queued(new, now=NOW, wait_until=after(60), queue_limit=1)).require()
    again = await ledger.claims.insert_queued(new, now=NOW, wait_until=after(60), queue_limit=1)
    assert (again.verdict, again.require().id) == (AdmissionVerdict.EXISTING, first.id)
