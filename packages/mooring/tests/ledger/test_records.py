"""Audit, invariants and replicas: the smaller nouns."""

from datetime import datetime

import pytest

from mooring.ledger.records import AuditFilter, InvariantCheck, InvariantState
from mooring.model.audit import AuditOutcome
from mooring.model.errors import StaleEpoch
from packages.mooring.tests.ledger.worlds import NOW, World, after, entry


async def test_an_act_is_written_down_before_it_is_done_and_completed_after(world: World) -> None:
    ledger = await world.open()
    what = entry()
    begun = await ledger.audit.begin(what)
    assert (begun.entry, begun.outcome, begun.completed_at) == (what, AuditOutcome.PENDING, None)
    done = await ledger.audit.complete(what.id, AuditOutcome.FAILED, now=after(1), error="409")
    assert done is not None
    assert (done.outcome, done.error, done.completed_at) == (AuditOutcome.FAILED, "409", after(1))
    assert done.sequence == begun.sequence


async def test_audit_writes_repeated_after_lost_answers_change_nothing(world: World) -> None:
    ledger = await world.open()
    what = entry()
    begun = await ledger.audit.begin(what)
    assert await ledger.audit.begin(what) == begun
    done = await ledger.audit.complete(what.id, AuditOutcome.DONE, now=after(1))
    assert await ledger.audit.complete(what.id, AuditOutcome.FAILED, now=after(2), error="late") == done
    assert await ledger.audit.begin(what) == done
    assert (await ledger.audit.list(AuditFilter())).total == 1


async def test_completing_what_was_never_begun_says_so(world: World) -> None:
    ledger = await world.open()
    assert await ledger.audit.complete("nothing", AuditOutcome.DONE, now=NOW) is None


async def test_the_audit_is_listed_newest_first_and_can_be_narrowed(world: World) -> None:
    ledger = await world.open()
    first = await ledger.audit.begin(entry("delete", "w-1"))
    second = await ledger.audit.begin(entry("patch", "w-2", actor="someone"))
    third = await ledger.audit.begin(entry("delete", "w-2", at=after(60)))
    await ledger.audit.complete(third.entry.id, AuditOutcome.SKIPPED, now=after(60))

    async def found(**narrow: object) -> list[int]:
        return [record.sequence for record in (await ledger.audit.list(AuditFilter(**narrow))).items]  # type: ignore[arg-type]

    assert await found() == [third.sequence, second.sequence, first.sequence]
    assert await found(action="delete") == [third.sequence, first.sequence]
    assert await found(name="w-2", outcome=AuditOutcome.PENDING) == [second.sequence]
    assert await found(actor="someone", kind="Pod", namespace="ci", uid="uid-w-2") == [second.sequence]
    assert await found(since=after(1)) == [third.sequence]
    page = await ledger.audit.list(AuditFilter(), limit=2)
    assert page.total == 3
    rest = await ledger.audit.list(AuditFilter(), limit=2, before_sequence=page.next_sequence)
    assert [record.sequence for record in rest.items] == [first.sequence]
    assert rest.next_sequence is None


async def test_forgetting_old_audit_rows_spares_the_interrupted_ones(world: World) -> None:
    ledger = await world.open()
    interrupted = await ledger.audit.begin(entry())
    ended = await ledger.audit.begin(entry())
    await ledger.audit.complete(ended.entry.id, AuditOutcome.DONE, now=NOW)
    assert await ledger.audit.prune(before=after(1)) == 1
    assert (await ledger.audit.list(AuditFilter())).items == (interrupted,)


async def test_a_rule_is_paused_by_somebody_for_a_reason_and_resumed(world: World) -> None:
    ledger = await world.open()
    assert await ledger.invariants.all() == {}
    paused = await ledger.invariants.pause("claim-alive", actor="ann", reason="maintenance", now=NOW)
    assert (paused.paused, paused.paused_by, paused.reason, paused.paused_since) == (True, "ann", "maintenance", NOW)
    again = await ledger.invariants.pause("claim-alive", actor="bob", reason="still", now=after(9))
    assert (again.paused_by, again.paused_since) == ("bob", NOW)
    resumed = await ledger.invariants.resume("claim-alive", actor="ann", now=after(10))
    assert (resumed.paused, resumed.paused_since, resumed.reason) == (False, None, "")
    assert await ledger.invariants.all() == {"claim-alive": resumed}


async def test_a_rules_figures_add_up_and_leave_its_switch_alone(world: World) -> None:
    ledger = await world.open()
    await ledger.invariants.pause("adopted", actor="ann", reason="r", now=NOW)
    await ledger.invariants.record(
        [
            InvariantCheck(id="warm-floor", at=NOW, broken=2, found=2, evidence={"pool": "ci/linux"}),
            InvariantCheck(id="adopted", at=NOW, broken=0),
        ]
    )
    await ledger.invariants.record([InvariantCheck(id="warm-floor", at=after(60), broken=0, healed=(30.0, 50.0))])
    states = await ledger.invariants.all()
    assert states["warm-floor"] == InvariantState(
        id="warm-floor", checked_at=after(60), broken=0, found=2, healed=2, heal_seconds=80.0, last_heal_seconds=50.0,
        evidence={"pool": "ci/linux"}, verdict_since=after(60),
    )  # fmt: skip
    assert states["adopted"].paused and states["adopted"].checked_at == NOW


async def test_a_rule_holds_or_is_broken_since_the_first_check_that_found_it_so(world: World) -> None:
    ledger = await world.open()

    async def check(second: int, broken: int) -> datetime | None:
        await ledger.invariants.record([InvariantCheck(id="adopted", at=after(second), broken=broken)])
        return (await ledger.invariants.all())["adopted"].verdict_since

    await ledger.invariants.pause("adopted", actor="ann", reason="r", now=NOW)
    assert (await ledger.invariants.all())["adopted"].verdict_since is None
    assert [await check(*step) for step in ((1, 0), (2, 0), (3, 2), (4, 1), (5, 0))] == [
        after(1), after(1), after(3), after(3), after(5),
    ]  # fmt: skip


async def test_a_replica_that_registers_again_ends_the_epoch_of_its_predecessor(world: World) -> None:
    ledger = await world.open()
    first = await ledger.replicas.register("r-1", address="a:1", version="1", now=NOW)
    second = await ledger.replicas.register("r-1", address="a:2", version="2", now=after(5))
    assert second.epoch > first.epoch
    assert (second.address, second.version, second.started_at) == ("a:2", "2", after(5))
    assert not await ledger.replicas.heartbeat("r-1", first.epoch, now=after(6))
    assert not await ledger.replicas.leave("r-1", first.epoch, now=after(6))
    assert await ledger.replicas.heartbeat("r-1", second.epoch, now=after(6))


async def test_a_replicas_beats_rise_whatever_its_clock_does(world: World) -> None:
    ledger = await world.open()
    replica = await ledger.replicas.register("r-1", address="", version="", now=NOW)
    assert await ledger.replicas.heartbeat("r-1", replica.epoch, now=after(10))
    assert await ledger.replicas.heartbeat("r-1", replica.epoch, now=after(-100))
    (seen,) = await ledger.replicas.all()
    assert (seen.beats, seen.heartbeat_at) == (replica.beats + 2, after(10))
    assert (await ledger.replicas.register("r-1", address="", version="", now=NOW)).beats == replica.beats + 3


async def test_a_replica_that_left_has_no_more_heartbeats(world: World) -> None:
    ledger = await world.open()
    replica = await ledger.replicas.register("r-1", address="", version="", now=NOW)
    assert await ledger.replicas.leave("r-1", replica.epoch, now=after(1))
    assert await ledger.replicas.leave("r-1", replica.epoch, now=after(2)), "the repeat of a lost answer"
    assert not await ledger.replicas.heartbeat("r-1", replica.epoch, now=after(3))
    (seen,) = await ledger.replicas.all()
    assert seen.left_at == after(1)


async def test_replicas_long_silent_are_forgotten(world: World) -> None:
    ledger = await world.open()
    await ledger.replicas.register("old", address="", version="", now=NOW)
    await ledger.replicas.register("new", address="", version="", now=after(100))
    assert await ledger.replicas.forget(silent_since=after(50)) == 1
    assert [replica.id for replica in await ledger.replicas.all()] == ["new"]
    assert not await ledger.replicas.heartbeat("old", 1, now=after(101))


async def test_a_silent_replica_is_deposed_only_as_it_was_seen_and_must_register_again(world: World) -> None:
    ledger = await world.open()
    seen = await ledger.replicas.register("a", address="", version="1", now=NOW)
    assert await ledger.replicas.heartbeat("a", seen.epoch, now=after(5))
    assert not await ledger.replicas.depose("a", seen.epoch, beats=seen.beats, now=after(20))
    (present,) = await ledger.replicas.all()
    assert await ledger.replicas.depose("a", seen.epoch, beats=present.beats, now=after(40))
    assert not await ledger.replicas.depose("a", seen.epoch, beats=present.beats, now=after(41))
    assert not await ledger.replicas.heartbeat("a", seen.epoch, now=after(42))
    again = await ledger.replicas.register("a", address="", version="1", now=after(43))
    assert again.epoch > seen.epoch


async def test_an_act_of_an_epoch_that_is_over_is_refused_before_it_is_written(world: World) -> None:
    ledger = await world.open()
    replica = await ledger.replicas.register("r-1", address="", version="1", now=NOW)
    begun = await ledger.audit.begin(entry(), epoch=replica.epoch)
    assert begun.outcome is AuditOutcome.PENDING
    await ledger.replicas.depose("r-1", replica.epoch, beats=replica.beats, now=after(20))
    for epoch in (replica.epoch, 0):
        with pytest.raises(StaleEpoch):
            await ledger.audit.begin(entry(), epoch=epoch)
    assert await ledger.audit.begin(begun.entry, epoch=replica.epoch) == begun
    assert (await ledger.audit.list(AuditFilter())).total == 1
    assert (await ledger.audit.begin(entry())).outcome is AuditOutcome.PENDING


async def test_signs_of_life_are_counted_by_sender_and_only_say_that_there_was_a_newer_one(world: World) -> None:
    ledger, other = await world.open(), await world.open()
    assert await ledger.liveness.counts(["uid-1"]) == {}
    await ledger.liveness.record(["uid-2", "uid-1", "uid-1"], now=after(60))
    await other.liveness.record(["uid-1"], now=after(1))
    await other.liveness.record([], now=after(1))
    assert await other.liveness.counts(["uid-1", "uid-2", "uid-3"]) == {"uid-1": 2, "uid-2": 1}


async def test_words_of_long_ago_are_forgotten_by_the_newest_one(world: World) -> None:
    ledger = await world.open()
    await ledger.liveness.record(["uid-1", "uid-2"], now=after(1))
    await ledger.liveness.record(["uid-2"], now=after(100))
    await ledger.liveness.record(["uid-2"], now=after(2))  # a replica whose clock is behind
    assert await ledger.liveness.forget(silent_since=after(50)) == 1
    assert await ledger.liveness.counts(["uid-1", "uid-2"]) == {"uid-2": 3}
