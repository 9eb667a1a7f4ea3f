"""One owner at a time on a worker: the ledger refuses the second one, whatever replicas believe."""

import asyncio

from mooring.model.claim import AdmissionVerdict, EndCause, Verdict, WorkerSlot
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, queued

SLOTS = 4


def at(slot: int, pod: str = "a") -> WorkerSlot:
    return WorkerSlot(pod, f"uid-{pod}", slot, "127.64.0.1", one_owner=True)


async def test_a_second_owner_is_refused_until_the_worker_is_empty(world: World) -> None:
    ledger = await world.open()
    first = (await ledger.claims.insert_claimed(asked("acme"), at(0), now=NOW)).require()
    refused = await ledger.claims.insert_claimed(asked("globex"), at(1), now=NOW)
    assert refused.verdict is AdmissionVerdict.WORKER_TAKEN
    second = (await ledger.claims.insert_claimed(asked("acme"), at(1), now=NOW)).require()
    await ledger.claims.end(first.id, first.epoch, EndCause.RELEASED, now=NOW, reason="")
    refused = await ledger.claims.insert_claimed(asked("globex"), at(0), now=NOW)
    assert refused.verdict is AdmissionVerdict.WORKER_TAKEN
    await ledger.claims.end(second.id, second.epoch, EndCause.RELEASED, now=NOW, reason="")
    assert (await ledger.claims.insert_claimed(asked("globex"), at(0), now=NOW)).require().owner == "globex"


async def test_replicas_that_race_for_the_slots_of_a_worker_leave_it_with_one_owner(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    await asyncio.gather(*(processes[number % 3].meta.ping() for number in range(12)))  # connections are open
    for pod in (f"w{number}" for number in range(25)):
        attempts = [
            processes[number % 3].claims.insert_claimed(asked(f"owner-{number}"), at(number, pod), now=NOW)
            for number in range(SLOTS)
        ]
        verdicts = [admission.verdict for admission in await asyncio.gather(*attempts)]
        assert verdicts.count(AdmissionVerdict.CREATED) == 1, pod
        assert verdicts.count(AdmissionVerdict.WORKER_TAKEN) == SLOTS - 1


async def test_replicas_that_bind_waiting_claims_leave_a_worker_with_one_owner(world: World) -> None:
    processes = [await world.open() for _ in range(3)]
    waiting = [await queued(processes[0], owner=f"owner-{number % 3}") for number in range(9)]
    await asyncio.gather(
        *(
            processes[number % 3].claims.bind(claim.id, claim.epoch, at(number % SLOTS), now=NOW)
            for number, claim in enumerate(waiting)
        ),
        *(processes[slot % 3].claims.bind_next("ci", "linux", at(slot), now=NOW) for slot in range(SLOTS)),
    )
    live = await processes[0].claims.live_by_pods(["uid-a"])
    assert len({claim.owner for claim in live}) == 1


async def test_the_next_waiting_claim_is_the_first_one_that_may_have_the_slot(world: World) -> None:
    ledger = await world.open()
    (await ledger.claims.insert_claimed(asked("acme"), at(0), now=NOW)).require()
    stranger, own = await queued(ledger, owner="globex", priority=9), await queued(ledger, owner="acme")
    bound = await ledger.claims.bind_next("ci", "linux", at(1), now=NOW)
    assert bound is not None and bound.require().id == own.id
    assert await ledger.claims.bind_next("ci", "linux", at(2), now=NOW) is None
    refused = await ledger.claims.bind(stranger.id, stranger.epoch, at(2), now=NOW)
    assert (refused.verdict, refused.claim) == (Verdict.WORKER_TAKEN, stranger)


async def test_a_private_slot_waits_only_for_the_owners_own_claims(world: World) -> None:
    ledger = await world.open()
    await queued(ledger, owner="globex")
    ahead = await ledger.claims.insert_claimed(asked("acme"), at(0), now=NOW)
    assert ahead.verdict is AdmissionVerdict.QUEUE_AHEAD
    assert (await ledger.claims.insert_claimed(asked("acme"), at(0), now=NOW, private=True)).require()
    await queued(ledger, owner="acme")
    again = await ledger.claims.insert_claimed(asked("acme"), at(1), now=NOW, private=True)
    assert again.verdict is AdmissionVerdict.QUEUE_AHEAD


async def test_the_heads_of_the_queue_are_the_first_claims_of_each_owner_in_its_order(world: World) -> None:
    ledger = await world.open()
    await queued(ledger, owner="late", wait_seconds=1)
    one = await queued(ledger, owner="acme")
    await queued(ledger, owner="acme")
    two = await queued(ledger, owner="globex")
    urgent = await queued(ledger, owner="globex", priority=5)
    await queued(ledger, owner="initech", pool="macos")
    assert await ledger.claims.heads("ci", "linux", now=after(2)) == (urgent, one)
    assert await ledger.claims.heads("ci", "linux", now=after(2), skip=[urgent.id]) == (one, two)
    await ledger.claims.end(urgent.id, urgent.epoch, EndCause.REVOKED, now=NOW, reason="")
    assert await ledger.claims.heads("ci", "linux", now=after(2)) == (one, two)
