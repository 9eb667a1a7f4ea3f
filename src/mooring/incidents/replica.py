"""A control plane on a stage: started, watched at every call, and killed as by `kill -9`."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from mooring.app import Mooring
from mooring.ledger.faults import Fault, FaultyLedger, LedgerCall
from mooring.sandbox.faults import FaultyTransport, Process, SkewedClock

LedgerFault = Callable[[LedgerCall], Fault]


def no_fault(_: LedgerCall) -> Fault:
    """A ledger that works."""
    return Fault.NONE


class SharedFate:
    """A process that dies at its ledger is dead to its cluster too, and the other way round."""

    def __init__(self, process: Process, fault: LedgerFault) -> None:
        self._process = process
        self._life = process.life
        self._fault = fault

    def check(self) -> None:
        self._process.check(self._life)

    def decide(self, call: LedgerCall) -> Fault:
        return self._fault(call)

    def crash(self, call: LedgerCall) -> BaseException:
        return self._process.crash(call.path)


@dataclass(slots=True)
class Replica:
    """A control plane that runs, and everything it called."""

    mooring: Mooring
    process: Process
    transport: FaultyTransport
    ledger: FaultyLedger
    clock: SkewedClock
    task: asyncio.Task[None]

    def pod_creates(self) -> int:
        """How many workers it tried to make."""
        return sum(call.method == "POST" and call.path.endswith("/pods") for call in self.process.calls)

    async def kill(self) -> None:
        """Nothing it still tries gets out."""
        self.process.crash("killed")
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self.task
