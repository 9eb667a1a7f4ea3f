"""Warmups as a part of the control plane: caches, loop, read side and requests, wired together."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.loop import ReconcileLoop
from mooring.control.part import OnChange
from mooring.control.warming.reading import WarmupReadSide
from mooring.control.warming.reconciler import WarmupReconciler
from mooring.control.warming.requests import WarmupRequests
from mooring.control.warming.watch import WarmupWatch
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector
from mooring.ledger.port import Ledger
from mooring.model.timeouts import Timeouts

COALESCE_SECONDS = 0.2


class Warming:
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
        self._watch = WarmupWatch(client, fleet, clock, entropy, timeouts)
        self.reading = WarmupReadSide(self._watch, fleet)
        fleet.learn_warmth(self.reading.warm_nodes)
        self.requests = WarmupRequests(client, self._watch, auditor, entropy)
        reconciler = WarmupReconciler(client, ledger, fleet, self._watch, auditor, why_paused, clock)
        self._loop = ReconcileLoop(
            "warmups", reconciler.reconcile, lambda: may_act() and self._watch.synced, clock, entropy
        )
        self._watch.subscribe(self._on_change)

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        return self._watch.reflectors

    def subscribe(self, listener: OnChange) -> None:
        """Be told the key of every Warmup that may have changed."""
        self._watch.subscribe(listener)

    async def run(self) -> None:
        """Watch and reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.run())
            group.create_task(self._loop.run())

    async def stop(self, timeout_seconds: float) -> None:
        """Let passes under way finish."""
        await self._loop.stop(timeout_seconds)

    def _on_change(self, _: str, key: str) -> None:
        self._loop.queue.add_after(key, COALESCE_SECONDS)
