"""A control plane on a stage: started, recorded at every call, and killed as by `kill -9`."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from drydock.faults import FaultyTransport, Process, SkewedClock
from mooring.app import Mooring
from mooring.ledger.faults import Fault, FaultyLedger, LedgerCall

LedgerFault = Callable[[LedgerCall], Fault]


def no_fault(_: LedgerCall) -> Fault:
    """A ledger without faults."""
    return Fault.NONE


class SharedFate:
    """A process that dies in a call to its ledger is also dead for its cluster, and the other way round."""

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
    """A running control plane and all its calls."""

    mooring: Mooring
    process: Process
    transport: FaultyTransport
    ledger: FaultyLedger
    clock: SkewedClock
    task: asyncio.Task[None]

    def pod_creates(self) -> int:
        """The number of workers that the replica tried to create."""
        return sum(call.method == "POST" and call.path.endswith("/pods") for call in self.process.calls)

    async def kill(self) -> None:
        """From now on none of its calls takes effect."""
        self.process.crash("killed")
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, BaseExceptionGroup):
            await self.task
