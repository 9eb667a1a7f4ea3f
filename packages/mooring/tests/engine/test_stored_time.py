"""The clock of stored moments follows the ledger's, however the machine's is set."""

from datetime import UTC, datetime, timedelta

from drydock import VirtualLoop
from drydock.faults import SkewedClock
from hawser.clock import Entropy
from mooring.engine.stored_time import MEASURE_SECONDS, LedgerClock
from mooring.ledger.faults import Fault, FaultyLedger, Script
from mooring.ledger.twin import MemoryLedger, MemoryStore

HOUR = 3600.0


class Slow:
    """A ledger's clock whose answer takes a while."""

    def __init__(self, there: SkewedClock, seconds: float) -> None:
        self.there = there
        self.seconds = seconds
        self.meta = self

    async def time(self) -> datetime:
        await self.there.sleep(self.seconds / 2)
        answer = self.there.now()
        await self.there.sleep(self.seconds / 2)
        return answer


def clocks(ahead: float) -> tuple[SkewedClock, SkewedClock, LedgerClock]:
    """The ledger's machine, this machine, and the clock that is tested."""
    base = VirtualLoop.running().clock
    there, here = SkewedClock(base), SkewedClock(base)
    here.jump(ahead)
    return there, here, LedgerClock(here, MemoryLedger(MemoryStore(), clock=there, entropy=Entropy(1)))


async def test_before_the_first_answer_it_is_the_clock_of_the_machine() -> None:
    _, here, clock = clocks(HOUR)
    assert clock.now() == here.now()


async def test_two_machines_an_hour_apart_read_the_same_time() -> None:
    there, _, clock = clocks(HOUR)
    await clock.measure()
    assert clock.now() == there.now()
    await clock.sleep(50)
    assert clock.now() == there.now()


async def test_a_machine_whose_clock_is_set_keeps_the_ledgers_time() -> None:
    there, here, clock = clocks(0)
    await clock.measure()
    here.jump(-HOUR)
    assert clock.now() == there.now()


async def test_a_slow_answer_moves_the_clock_no_further_than_it_proves() -> None:
    base = VirtualLoop.running().clock
    there = SkewedClock(base)
    slow = Slow(there, 0.0)
    clock = LedgerClock(SkewedClock(base), slow)  # type: ignore[arg-type]
    await clock.measure()
    slow.seconds = 4.0
    await clock.measure()
    assert clock.now() == there.now()
    there.jump(10)
    await clock.measure()
    assert abs(clock.now() - there.now()) <= timedelta(seconds=2)


async def test_it_goes_on_while_the_ledger_is_away_and_follows_when_it_is_back() -> None:
    base = VirtualLoop.running().clock
    there, here, away = SkewedClock(base), SkewedClock(base), False
    inner = MemoryLedger(MemoryStore(), clock=there, entropy=Entropy(1))
    ledger = FaultyLedger(inner, Script(lambda _: Fault.AWAY if away else Fault.NONE))
    clock = LedgerClock(here, ledger)
    running = VirtualLoop.running().create_task(clock.run())
    await base.sleep(1)
    away = True
    there.jump(60)
    await base.sleep(300)
    assert there.now() - clock.now() == timedelta(seconds=60)
    assert clock.now().tzinfo is UTC
    away = False
    await base.sleep(2 * MEASURE_SECONDS)
    assert clock.now() == there.now()
    running.cancel()
