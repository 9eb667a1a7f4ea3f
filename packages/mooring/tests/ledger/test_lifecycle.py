import asyncio
from datetime import timedelta

import pytest

from mooring.ledger.records import ClaimFilter
from mooring.model.claim import ClaimState, EndCause, Verdict
from mooring.model.errors import Conflict, NotFound, StaleEpoch
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, claimed, on, queued, running


async def test_running_is_fenced_on_the_epoch(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger)
    stale = await ledger.claims.mark_running(claim.id, claim.epoch - 1, now=NOW)
    assert stale.verdict is Verdict.STALE
    with pytest.raises(StaleEpoch):
        stale.require()
    outcome = await ledger.claims.mark_running(claim.id, claim.epoch, now=after(1), minted={"token": "t"})
    assert outcome.verdict is Verdict.DONE
    started = outcome.require()
    assert (started.state, started.running_at, started.heartbeat_at) == (ClaimState.RUNNING, after(1), after(1))
    assert started.session_payload == {"token": "t"}


async def test_running_repeated_after_a_lost_answer_changes_nothing(world: World) -> None:
    ledger = await world.open()
    first = await running(ledger)
    again = await ledger.claims.mark_running(first.id, first.epoch, now=after(9))
    assert (again.verdict, again.require()) == (Verdict.ALREADY, first)


async def test_running_without_a_payload_keeps_the_one_asked_with(world: World) -> None:
    ledger = await world.open()
    assert (await running(ledger, payload={"a": 1})).payload == {"a": 1}


async def test_what_the_mint_made_joins_the_payload_asked_with_and_wins_where_both_speak(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, payload={"command": ["make"], "token": "mine"})
    minted = {"token": "minted", "nested": {"a": None}}
    outcome = await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW, minted=minted)
    assert outcome.require().session_payload == {"command": ["make"], **minted}


async def test_running_never_began_before_the_claim_did(world: World) -> None:
    """A clock that is set back in between must not make a worker that ran look like one that never did."""
    ledger = await world.open()
    claim = await claimed(ledger)
    started = (await ledger.claims.mark_running(claim.id, claim.epoch, now=after(-30))).require()
    assert started.running_at == claim.claimed_at


async def test_what_does_not_exist_is_said_to_be_missing(world: World) -> None:
    ledger = await world.open()
    outcomes = [
        await ledger.claims.mark_running("nobody", 1, now=NOW),
        await ledger.claims.heartbeat("nobody", 1, now=NOW),
        await ledger.claims.end("nobody", 1, EndCause.RELEASED, now=NOW, reason=""),
        await ledger.claims.expire("nobody", 1, heartbeat_at=None, now=NOW, reason=""),
        await ledger.claims.requeue("nobody", 1, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=None),
        await ledger.claims.bind("nobody", 1, on("a"), now=NOW),
    ]
    assert {outcome.verdict for outcome in outcomes} == {Verdict.MISSING}
    with pytest.raises(NotFound):
        outcomes[0].require()
    assert await ledger.claims.get("nobody") is None
    assert await ledger.claims.position("nobody") is None


async def test_every_heartbeat_is_a_later_one_whatever_the_clock_says(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    assert (await ledger.claims.heartbeat(claim.id, claim.epoch, now=after(20))).require().heartbeat_at == after(20)
    late = await ledger.claims.heartbeat(claim.id, claim.epoch, now=after(10))
    assert late.require().heartbeat_at == after(20) + timedelta(microseconds=1)


async def test_of_two_that_take_a_claim_at_the_same_time_only_the_first_one_does(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    first = await ledger.claims.heartbeat(claim.id, claim.epoch, now=after(20), last=claim.heartbeat_at)
    second = await ledger.claims.heartbeat(claim.id, claim.epoch, now=after(20), last=claim.heartbeat_at)
    assert (first.verdict, second.verdict) == (Verdict.DONE, Verdict.REFUSED)
    assert second.claim == first.claim


async def test_a_heartbeat_is_refused_for_an_old_epoch_and_for_an_ended_claim(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    assert (await ledger.claims.heartbeat(claim.id, claim.epoch + 1, now=NOW)).verdict is Verdict.STALE
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="done")
    ended = await ledger.claims.heartbeat(claim.id, claim.epoch, now=NOW)
    assert ended.verdict is Verdict.ENDED
    with pytest.raises(Conflict, match="released"):
        ended.require()


async def test_a_waiting_claim_has_no_heartbeat_and_cannot_run(world: World) -> None:
    ledger = await world.open()
    claim = await queued(ledger)
    assert (await ledger.claims.heartbeat(claim.id, claim.epoch, now=NOW)).verdict is Verdict.REFUSED
    assert (await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)).verdict is Verdict.REFUSED


@pytest.mark.parametrize("cause", EndCause)
async def test_an_end_is_fenced_final_and_repeatable(world: World, cause: EndCause) -> None:
    ledger = await world.open()
    claim = await running(ledger, payload={"secret": "s"})
    assert (await ledger.claims.end(claim.id, claim.epoch - 1, cause, now=NOW, reason="x")).verdict is Verdict.STALE
    outcome = await ledger.claims.end(claim.id, claim.epoch, cause, now=after(5), reason="why")
    ended = outcome.require()
    assert outcome.verdict is Verdict.DONE
    assert (ended.state, ended.ended_at, ended.reason, ended.payload) == (cause.state, after(5), "why", None)
    assert ended.cause is cause
    assert (ended.pod_uid, ended.slot) == ("uid-a", 0), "where it was stays known"
    again = await ledger.claims.end(claim.id, claim.epoch, cause, now=after(9), reason="other")
    assert (again.verdict, again.claim) == (Verdict.ALREADY, ended)
    another = next(other for other in EndCause if other.state is not cause.state)
    assert (await ledger.claims.end(claim.id, claim.epoch, another, now=NOW, reason="")).verdict is Verdict.ENDED
    assert (await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)).verdict is Verdict.ENDED


async def test_who_ends_a_claim_in_the_same_way_for_another_cause_comes_too_late(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    assert claim.cause is None
    drained = (await ledger.claims.end(claim.id, claim.epoch, EndCause.DRAINED, now=NOW, reason="")).require()
    late = await ledger.claims.end(claim.id, claim.epoch, EndCause.WORKER_LOST, now=after(1), reason="")
    assert (late.verdict, late.claim) == (Verdict.ALREADY, drained)


async def test_a_claim_remembers_why_it_lost_its_worker_until_it_ends_itself(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger, retryable=True)
    back = await ledger.claims.requeue(
        claim.id, claim.epoch, EndCause.DRAINED, now=NOW, reason="drained", wait_until=None
    )
    assert back.require().cause is EndCause.DRAINED
    bound = await ledger.claims.bind_next("ci", "linux", on("b"), now=after(1))
    assert bound is not None
    again = (await ledger.claims.mark_running(claim.id, bound.require().epoch, now=after(1))).require()
    assert (again.cause, again.reason) == (EndCause.DRAINED, ""), "whoever held it on its first worker may still ask"
    ended = await ledger.claims.end(again.id, again.epoch, EndCause.RELEASED, now=after(2), reason="")
    assert ended.require().cause is EndCause.RELEASED


async def test_silence_and_a_wait_that_is_over_both_expire_a_claim_and_are_told_apart(world: World) -> None:
    ledger = await world.open()
    silent, waiting = await running(ledger), await queued(ledger)
    expired = await ledger.claims.expire(
        silent.id, silent.epoch, heartbeat_at=silent.heartbeat_at, now=after(90), reason="silent"
    )
    assert expired.require().cause is EndCause.EXPIRED
    (over,) = await ledger.claims.expire_waiting(now=after(9000))
    assert (over.id, over.cause) == (waiting.id, EndCause.WAIT_OVER)
    (seen,) = [claim for claim in (await ledger.claims.list(ClaimFilter())).items if claim.id == waiting.id]
    assert seen == over


async def test_a_waiting_claim_can_be_released(world: World) -> None:
    ledger = await world.open()
    claim = await queued(ledger)
    outcome = await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="cancelled")
    assert outcome.verdict is Verdict.DONE
    assert await ledger.claims.queue("ci", "linux") == ()


async def test_a_claim_expires_only_on_the_heartbeat_it_was_judged_by(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    await ledger.claims.heartbeat(claim.id, claim.epoch, now=after(30))
    spared = await ledger.claims.expire(
        claim.id, claim.epoch, heartbeat_at=claim.heartbeat_at, now=after(90), reason="silent"
    )
    assert spared.verdict is Verdict.REFUSED
    assert spared.claim is not None and spared.claim.state is ClaimState.RUNNING
    ended = await ledger.claims.expire(claim.id, claim.epoch, heartbeat_at=after(30), now=after(91), reason="silent")
    assert ended.verdict is Verdict.DONE
    again = await ledger.claims.expire(claim.id, claim.epoch, heartbeat_at=after(30), now=after(92), reason="silent")
    assert again.verdict is Verdict.ALREADY


async def test_a_heartbeat_and_an_expiry_at_the_same_time_have_one_winner(world: World) -> None:
    one, other = await world.open(), await world.open()
    for number in range(10):
        claim = await running(one, f"w{number}")
        beat, expiry = await asyncio.gather(
            one.claims.heartbeat(claim.id, claim.epoch, now=after(61)),
            other.claims.expire(claim.id, claim.epoch, heartbeat_at=NOW, now=after(61), reason="silent"),
        )
        assert (beat.verdict, expiry.verdict) in (
            (Verdict.DONE, Verdict.REFUSED),
            (Verdict.ENDED, Verdict.DONE),
        )


async def test_a_claim_moves_to_another_worker_under_a_higher_epoch(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, "a")
    outcome = await ledger.claims.bind(claim.id, claim.epoch, on("b"), now=after(1))
    moved = outcome.require()
    assert outcome.verdict is Verdict.DONE
    assert (moved.id, moved.pod_uid, moved.previous_epoch) == (claim.id, "uid-b", claim.epoch)
    assert moved.epoch > claim.epoch
    assert (await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)).verdict is Verdict.STALE
    assert (await claimed(ledger, "a")).pod_uid == "uid-a", "the old slot is free"
    again = await ledger.claims.bind(claim.id, claim.epoch, on("b"), now=after(2))
    assert (again.verdict, again.claim) == (Verdict.ALREADY, moved)


async def test_a_claim_does_not_move_onto_a_taken_slot_nor_when_it_runs(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, "a")
    await claimed(ledger, "b")
    taken = await ledger.claims.bind(claim.id, claim.epoch, on("b"), now=NOW)
    assert (taken.verdict, taken.claim) == (Verdict.SLOT_TAKEN, claim)
    started = (await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)).require()
    assert (await ledger.claims.bind(claim.id, claim.epoch, on("c"), now=NOW)).verdict is Verdict.REFUSED
    assert await ledger.claims.get(claim.id) == started


async def test_a_lost_worker_sends_a_retryable_claim_back_to_its_old_place(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger, retryable=True)
    waiting = await queued(ledger)
    outcome = await ledger.claims.requeue(
        claim.id, claim.epoch, EndCause.WORKER_LOST, now=after(5), reason="worker lost", wait_until=None
    )
    back = outcome.require()
    assert outcome.verdict is Verdict.DONE
    assert (back.state, back.pod_uid, back.slot, back.rebinds) == (ClaimState.QUEUED, None, None, 1)
    assert (back.heartbeat_at, back.claimed_at, back.queued_at) == (None, None, after(5))
    assert back.running_at == claim.running_at, "that it ran once stays known"
    assert back.epoch > claim.epoch
    assert [c.id for c in await ledger.claims.queue("ci", "linux")] == [claim.id, waiting.id]
    assert (await ledger.claims.heartbeat(claim.id, claim.epoch, now=NOW)).verdict is Verdict.STALE
    again = await ledger.claims.requeue(
        claim.id, claim.epoch, EndCause.WORKER_LOST, now=after(9), reason="worker lost", wait_until=None
    )
    assert (again.verdict, again.claim) == (Verdict.ALREADY, back)
    bound = await ledger.claims.bind_next("ci", "linux", on("b"), now=after(9))
    assert bound is not None and bound.require().epoch > back.epoch


async def test_running_work_that_may_not_be_repeated_is_not_requeued(world: World) -> None:
    ledger = await world.open()
    claim = await running(ledger)
    refused = await ledger.claims.requeue(
        claim.id, claim.epoch, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=None
    )
    assert refused.verdict is Verdict.REFUSED
    not_begun = await claimed(ledger, "b")
    assert (
        await ledger.claims.requeue(
            not_begun.id, not_begun.epoch, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=None
        )
    ).verdict is Verdict.DONE


async def test_a_payload_is_delivered_once_per_epoch_and_only_when_running(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, retryable=True)
    assert await ledger.claims.deliver_next("uid-a", now=NOW) is None
    await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW, minted={"job": 1})
    delivered = await ledger.claims.deliver_next("uid-a", now=after(1))
    assert delivered is not None and delivered.session_payload == {"job": 1}
    assert delivered.delivered_epoch == claim.epoch
    assert await ledger.claims.deliver_next("uid-a", now=after(2)) is None
    back = (
        await ledger.claims.requeue(
            claim.id, claim.epoch, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=after(60)
        )
    ).require()
    bound = (await ledger.claims.bind(back.id, back.epoch, on("a"), now=NOW)).require()
    await ledger.claims.mark_running(bound.id, bound.epoch, now=NOW, minted={"job": 2})
    second = await ledger.claims.deliver_next("uid-a", now=after(3))
    assert second is not None and second.session_payload == {"job": 2}


async def test_what_the_mint_made_for_a_lost_worker_is_gone_and_the_clients_payload_stays(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, "a", payload={"command": ["make"]}, retryable=True)
    await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW, minted={"token": "for-a"})
    lost = EndCause.WORKER_LOST
    again = (await ledger.claims.requeue(claim.id, claim.epoch, lost, now=NOW, reason="", wait_until=None)).require()
    assert again.session_payload == {"command": ["make"]}
    bound = await ledger.claims.bind_next("ci", "linux", on("b"), now=NOW)
    assert bound is not None and bound.require().session_payload == {"command": ["make"]}
    ran = await ledger.claims.mark_running(claim.id, bound.require().epoch, now=NOW)
    assert ran.require().session_payload == {"command": ["make"]}
    delivered = await ledger.claims.deliver_next("uid-b", now=NOW)
    assert delivered is not None and delivered.session_payload == {"command": ["make"]}


async def test_attempts_count_the_workers_of_a_claim_from_one(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, "a", retryable=True)
    moved = (await ledger.claims.bind(claim.id, claim.epoch, on("b"), now=NOW)).require()
    lost = EndCause.WORKER_LOST
    waiting = (await ledger.claims.requeue(claim.id, moved.epoch, lost, now=NOW, reason="", wait_until=None)).require()
    bound = await ledger.claims.bind_next("ci", "linux", on("c"), now=NOW)
    assert bound is not None
    assert [one.attempt for one in (claim, moved, waiting, bound.require())] == [1, 2, 2, 3]
    assert (await queued(ledger)).attempt == 0


async def test_nothing_secret_is_left_of_an_ended_claim(world: World) -> None:
    ledger = await world.open()
    claim = await claimed(ledger, payload={"mine": "s"})
    await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW, minted={"token": "s"})
    ended = (await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")).require()
    assert (ended.payload, ended.minted, ended.session_payload) == (None, None, None)


async def test_workers_that_poll_at_the_same_time_get_each_payload_once(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    for slot in range(4):
        claim = (await processes[0].claims.insert_claimed(asked(), on("a", slot), now=NOW)).require()
        await processes[0].claims.mark_running(claim.id, claim.epoch, now=NOW)
    polls = (processes[i % 3].claims.deliver_next("uid-a", now=NOW) for i in range(12))
    delivered = [claim.id for claim in await asyncio.gather(*polls) if claim]
    while (late := await processes[0].claims.deliver_next("uid-a", now=NOW)) is not None:
        delivered.append(late.id)  # a poll passes by a row that another one is just taking
    assert len(delivered) == len(set(delivered)) == 4
