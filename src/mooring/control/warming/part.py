"""Warmups as a part of the control plane: caches, loop, read side and requests, wired together."""

import asyncio
from collections.abc import Callable

from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.part import Part
from mooring.control.warming.idling import WarmIdling
from mooring.control.warming.reading import WarmupReadSide
from mooring.control.warming.reconciler import WarmupReconciler
from mooring.control.warming.requests import WarmupRequests
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.ledger.port import Ledger
from mooring.model.timeouts import Timeouts

COALESCE_SECONDS = 0.2


class Warming(Part[WarmupWatch]):
    """Runs on every replica; acts on the one that leads."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        auditor: Auditor,
        why_paused: Callable[[str], str],
        may_act: Callable[[], bool],
        clock: Clock,
        entropy: Entropy,
        timeouts: Timeouts,
    ) -> None:
        watch = WarmupWatch(client, fleet, clock, entropy, timeouts)
        self.reading = WarmupReadSide(watch, fleet)
        fleet.learn_warmth(self.reading.warm_nodes)
        self.requests = WarmupRequests(client, watch, auditor, entropy)
        reconciler = WarmupReconciler(client, ledger, fleet, watch, auditor, why_paused, clock)
        super().__init__("warmups", watch, reconciler.reconcile, may_act, clock, entropy, COALESCE_SECONDS)
        self._idling = WarmIdling(ledger, watch, self._ready, clock)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._idling.run())
