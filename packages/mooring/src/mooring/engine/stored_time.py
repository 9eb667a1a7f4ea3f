"""The one clock of stored moments: the ledger's, read on every replica.

Ceilings, the end of a wait and the progress of a claim are moments that one replica writes and another compares. With
the wall clock of each machine they would differ by the skew. This clock follows the ledger's, by the monotonic clock
of the machine: setting the machine's clock does not move it.
"""

from datetime import datetime, timedelta

import structlog

from hawser.clock import Clock
from mooring.engine.containment import contained
from mooring.ledger.port import Ledger
from mooring.model.errors import Unavailable

log = structlog.get_logger()

MEASURE_SECONDS = 10.0
RETRY_SECONDS = 1.0
_SHOWN_SECONDS = 5.0


class LedgerClock:
    """Implements `Clock`. Before the ledger was asked for the first time it shows the machine's wall clock."""

    def __init__(self, machine: Clock, ledger: Ledger) -> None:
        self.machine = machine
        self._ledger = ledger
        self._zero: datetime | None = None  # the ledger's time when the monotonic clock was 0

    def now(self) -> datetime:
        return self.machine.now() if self._zero is None else self._zero + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return self.machine.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self.machine.sleep(seconds)

    async def run(self) -> None:
        """Follow the ledger's clock until cancelled. While the ledger does not answer, the clock goes on."""
        while True:
            wait = RETRY_SECONDS
            with contained("ledger-clock"):
                try:
                    await self.measure()
                    wait = MEASURE_SECONDS
                except Unavailable as error:
                    log.info("the ledger's clock was not read", error=error.message)
            await self.sleep(wait)

    async def measure(self) -> None:
        """Ask once. The answer was true somewhere between question and answer: the clock moves no further than that."""
        asked = self.monotonic()
        there = await self._ledger.meta.time()
        earliest, latest = there - timedelta(seconds=self.monotonic()), there - timedelta(seconds=asked)
        before = self._zero if self._zero is not None else earliest + (latest - earliest) / 2
        self._zero = min(max(before, earliest), latest)
        moved = (self._zero - before).total_seconds()
        if abs(moved) >= _SHOWN_SECONDS:
            log.warning("the ledger's clock was set", seconds=round(moved, 1))
