"""Every call of a claim's way may be lost, unanswered or deadly: repeated, it leads to where it would have led."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mooring.ledger.faults import Fault, FaultyLedger, LedgerCall, Script, SimulatedCrash
from mooring.ledger.port import Ledger
from mooring.ledger.records import AuditFilter, Channel, ClaimFilter, Wake
from mooring.model.audit import AuditOutcome
from mooring.model.claim import ClaimState, EndCause
from mooring.model.errors import Unavailable
from packages.mooring.tests.ledger.worlds import NOW, World, after, asked, entry, eventually, on

Step = Callable[[], Awaitable[object]]


async def stubbornly(step: Step) -> object:
    """Repeat a call until it is answered, as everyone who uses the ledger must be able to."""
    while True:
        try:
            return await step()
        except Unavailable:
            continue


class Story:
    """A claim that waits, is bound, moves, runs, is delivered, loses its worker, runs again and is released."""

    def __init__(self, number: int) -> None:
        self.new = asked(f"owner-{number}", pool=f"pool-{number}", retryable=True, payload={"n": 1})
        self.pods = [f"{number}-{pod}" for pod in ("a", "b", "c")]
        self.entry = entry(name=f"w-{number}")

    async def play(self, ledger: Ledger) -> None:
        claims, pods = ledger.claims, self.pods
        await stubbornly(lambda: claims.insert_queued(self.new, now=NOW, wait_until=after(60), owner_limit=1))
        await stubbornly(lambda: self._bind_to(ledger, pods[0]))
        await stubbornly(lambda: self._bind_to(ledger, pods[1]))
        await stubbornly(lambda: self._write(ledger, ClaimState.RUNNING))
        await stubbornly(lambda: claims.deliver_next(f"uid-{pods[1]}", now=NOW))
        await stubbornly(lambda: self._write(ledger, ClaimState.QUEUED))
        await stubbornly(lambda: self._bind_to(ledger, pods[2]))
        await stubbornly(lambda: self._write(ledger, ClaimState.RUNNING))
        await stubbornly(lambda: ledger.audit.begin(self.entry))
        await stubbornly(lambda: self._write(ledger, ClaimState.RELEASED))
        await stubbornly(lambda: ledger.audit.complete(self.entry.id, AuditOutcome.DONE, now=NOW))

    async def _bind_to(self, ledger: Ledger, pod: str) -> None:
        """What a restarted process does: it looks where the claim is before it goes on."""
        claim = await ledger.claims.get(self.new.id)
        assert claim is not None
        if claim.state in (ClaimState.QUEUED, ClaimState.CLAIMED) and claim.pod_name != pod:
            assert (await ledger.claims.bind(claim.id, claim.epoch, on(pod), now=NOW)).applied

    async def _write(self, ledger: Ledger, goal: ClaimState) -> None:
        claim = await ledger.claims.get(self.new.id)
        assert claim is not None
        if claim.state is goal:
            return
        match goal:
            case ClaimState.RUNNING:
                outcome = await ledger.claims.mark_running(claim.id, claim.epoch, now=NOW)
            case ClaimState.QUEUED:
                outcome = await ledger.claims.requeue(
                    claim.id, claim.epoch, EndCause.WORKER_LOST, now=NOW, reason="", wait_until=None
                )
            case _:
                outcome = await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
        assert outcome.applied

    async def end_state(self, ledger: Ledger) -> tuple[object, ...]:
        (claim,) = (await ledger.claims.list(ClaimFilter(owner=self.new.owner))).items
        (record,) = (await ledger.audit.list(AuditFilter(name=self.entry.subject.name))).items
        live = await ledger.claims.live("ci", self.new.pool)
        return claim.state, claim.rebinds, claim.payload, record.outcome, live.claims


@pytest.mark.parametrize("fault", [Fault.AWAY, Fault.LOSE_ANSWER])
async def test_any_one_call_may_fail_and_be_repeated(world: World, fault: Fault) -> None:
    inner = await world.open()
    calls = await _calls_of(Story(0), inner)
    assert len(calls) > 15
    undisturbed = (ClaimState.RELEASED, 1, None, AuditOutcome.DONE, ())
    for number, victim in enumerate(calls, start=1):
        story = Story(number)
        ledger = FaultyLedger(inner, Script(_only(victim.index, fault)))
        await story.play(ledger)
        assert await story.end_state(inner) == undisturbed, victim.path
        assert len(ledger.calls) > len(calls), "the fault was met"


async def test_a_process_that_dies_at_any_call_leaves_what_its_successor_can_finish(world: World) -> None:
    inner = await world.open()
    calls = await _calls_of(Story(0), inner)
    deaths = [(call, fault) for call in calls for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER)]
    for number, (victim, fault) in enumerate(deaths, start=1):
        story = Story(number)
        dying = FaultyLedger(inner, Script(_only(victim.index, fault)))
        with pytest.raises(SimulatedCrash):
            await story.play(dying)
        with pytest.raises(SimulatedCrash):
            await dying.meta.ping()
        await _finish(story, inner)
        state, _, payload, outcome, live = await story.end_state(inner)
        assert (state, payload, outcome, live) == (ClaimState.RELEASED, None, AuditOutcome.DONE, ()), (victim, fault)


async def test_an_answer_on_its_way_does_not_reach_a_process_that_died_meanwhile(world: World) -> None:
    script = Script(lambda call: Fault.CRASH_BEFORE if call.method == "ping" else Fault.NONE)
    ledger = FaultyLedger(await world.open(), script)
    on_its_way = asyncio.create_task(ledger.claims.live())
    await asyncio.sleep(0)
    with pytest.raises(SimulatedCrash):
        await ledger.meta.ping()
    with pytest.raises(SimulatedCrash):
        await on_its_way


async def test_calls_are_recorded_with_what_they_are(world: World) -> None:
    ledger = FaultyLedger(await world.open(), Script())
    await ledger.claims.live()
    await ledger.invariants.pause("adopted", actor="a", reason="r", now=NOW)
    await ledger.notify(Channel.QUEUE, "x")
    assert ledger.calls == [
        LedgerCall(0, "claims", "live", mutation=False),
        LedgerCall(1, "invariants", "pause", mutation=True),
        LedgerCall(2, "ledger", "notify", mutation=True),
    ]


async def test_the_deaf_miss_notifications_and_look_at_everything_afterwards(world: World) -> None:
    inner = await world.open()
    ledger = FaultyLedger(inner, Script())
    heard: list[Wake] = []
    marker: list[Wake] = []
    unlisten = ledger.listen(Channel.QUEUE, heard.append)
    inner.listen(Channel.QUEUE, marker.append)
    ledger.deaf = True
    await inner.notify(Channel.QUEUE, "missed")
    await eventually(lambda: Wake(Channel.QUEUE, "missed") in marker)
    assert heard == []
    ledger.hear_again()
    await inner.notify(Channel.QUEUE, "heard")
    await eventually(lambda: len(heard) == 2)
    assert heard == [Wake(Channel.QUEUE, "", resync=True), Wake(Channel.QUEUE, "heard")]
    unlisten()
    ledger.hear_again()
    assert len(heard) == 2


def _only(index: int, fault: Fault) -> Callable[[LedgerCall], Fault]:
    return lambda call: fault if call.index == index else Fault.NONE


async def _calls_of(story: Story, inner: Ledger) -> list[LedgerCall]:
    ledger = FaultyLedger(inner, Script())
    await story.play(ledger)
    return ledger.calls


async def _finish(story: Story, ledger: Ledger) -> None:
    """The successor: goes on from what the ledger says, to the release."""
    await ledger.claims.insert_queued(story.new, now=NOW, wait_until=after(60), owner_limit=1)
    claim = await ledger.claims.get(story.new.id)
    assert claim is not None
    await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=NOW, reason="")
    await ledger.audit.begin(story.entry)
    await ledger.audit.complete(story.entry.id, AuditOutcome.DONE, now=NOW)
