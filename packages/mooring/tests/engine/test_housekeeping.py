"""Housekeeping keeps up with any rate, in small transactions, and says its backlog."""

from datetime import timedelta

import pytest

from hawser.clock import Entropy, LoopClock
from mooring.engine import housekeeping as housekeeping_module
from mooring.engine.housekeeping import BATCH, Housekeeping, Retention
from mooring.engine.metrics import HOUSEKEEPING_BACKLOG, LeaderGauge
from mooring.ledger.faults import FaultyLedger, Script
from mooring.ledger.twin import MemoryLedger, MemoryStore
from mooring.model.claim import EndCause, NewClaim, WorkerSlot
from mooring.model.errors import InvalidInput
from packages.testing.coroutines import START


def backlog(table: str) -> float | None:
    for sample in HOUSEKEEPING_BACKLOG.collect()[0].samples:
        if sample.labels["table"] == table:
            return float(sample.value)
    return None


async def end_claims(ledger: MemoryLedger, clock: LoopClock, count: int) -> None:
    for number in range(count):
        new = NewClaim(id=f"{clock.monotonic()}-{number}", namespace="ns", pool="linux", owner="a", ttl_seconds=60)
        claim = (await ledger.claims.insert_claimed(new, WorkerSlot("w", f"u{number}"), now=clock.now())).require()
        await ledger.claims.end(claim.id, claim.epoch, EndCause.RELEASED, now=clock.now(), reason="")


async def test_one_sweep_deletes_all_that_is_old_in_small_batches() -> None:
    clock = LoopClock(START)
    inner = MemoryLedger(MemoryStore(), clock=clock, entropy=Entropy(1))
    ledger = FaultyLedger(inner, Script())
    await end_claims(inner, clock, 2 * BATCH + 7)
    LeaderGauge.export_in(lambda: 1)
    housekeeping = Housekeeping(ledger, lambda: True, clock, Retention(claims=timedelta(hours=1)))
    await housekeeping.sweep()
    assert len(inner._session.store.claims) == 2 * BATCH + 7, "young rows stay"
    await clock.sleep(3601)
    await end_claims(inner, clock, 5)
    await housekeeping.sweep()
    assert len(inner._session.store.claims) == 5
    assert sum(call.path == "claims.prune" for call in ledger.calls) >= 4, "no transaction deletes more than a batch"
    assert backlog("claims") == 0


async def test_the_backlog_is_reported_when_a_sweep_cannot_finish() -> None:
    clock = LoopClock(START)
    inner = MemoryLedger(MemoryStore(), clock=clock, entropy=Entropy(1))
    await end_claims(inner, clock, 3 * BATCH)
    await clock.sleep(3601)
    LeaderGauge.export_in(lambda: 1)
    looks = iter([True, False])
    housekeeping = Housekeeping(inner, lambda: next(looks, False), clock, Retention(claims=timedelta(hours=1)))
    await housekeeping.sweep()
    assert backlog("claims") == 2 * BATCH


async def test_the_backlog_is_reported_while_a_long_sweep_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping_module, "COUNTED_EVERY", 2 * BATCH)
    clock = LoopClock(START)
    inner = MemoryLedger(MemoryStore(), clock=clock, entropy=Entropy(1))
    await end_claims(inner, clock, 5 * BATCH)
    await clock.sleep(3601)
    LeaderGauge.export_in(lambda: 1)
    seen: list[float | None] = []

    def may_act() -> bool:
        seen.append(backlog("claims"))
        return True

    await Housekeeping(inner, may_act, clock, Retention(claims=timedelta(hours=1))).sweep()
    assert [count for count in dict.fromkeys(seen) if count is not None] == [5 * BATCH, 3 * BATCH, BATCH, 0]


async def test_it_keeps_up_with_a_high_rate() -> None:
    clock = LoopClock(START)
    inner = MemoryLedger(MemoryStore(), clock=clock, entropy=Entropy(1))
    housekeeping = Housekeeping(inner, lambda: True, clock, Retention(claims=timedelta(minutes=5)))
    for _ in range(10):  # 25 claims a second, a hundred times what one thousand rows an hour allow
        await end_claims(inner, clock, 1500)
        await clock.sleep(60)
        await housekeeping.sweep()
    assert len(inner._session.store.claims) <= 1500 * 6


@pytest.mark.parametrize(("claims", "audit"), [(0, 90), (7, -1), (40_000, 90)])
def test_a_retention_must_be_at_least_a_day(claims: int, audit: int) -> None:
    with pytest.raises(InvalidInput):
        Retention.of_days(claims, audit)
