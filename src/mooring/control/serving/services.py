"""Services, as a part beside the pools: its caches, its loop, its read side."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mooring.clock import Clock, Entropy
from mooring.control.fleet import Fleet
from mooring.control.loop import ReconcileLoop
from mooring.control.part import OnChange
from mooring.control.serving.document import Documents
from mooring.control.serving.evidence import EvidenceRoom
from mooring.control.serving.reading import ServiceReadSide
from mooring.control.serving.reconciler import ServiceReconciler
from mooring.control.serving.watch import ServiceWatch
from mooring.kube.client import KubeClient
from mooring.kube.reflector import Reflector

_COALESCE_SECONDS = 0.1
_NODE_COALESCE_SECONDS = 1.0


class Services:
    """Watches, applies while this replica leads, and tells."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        documents: Documents,
        leading: Callable[[], bool],
        why_paused: Callable[[str], str],
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._watch = watch = ServiceWatch(client, clock, entropy)
        room = EvidenceRoom(client, documents)
        self.reading = ServiceReadSide(watch, room)
        reconciler = ServiceReconciler(client, fleet, watch, room, clock, why_paused)
        self._loop = ReconcileLoop("services", reconciler.reconcile, lambda: watch.synced and leading(), clock, entropy)
        watch.subscribe(self._on_change)
        fleet.subscribe(self._on_fleet)

    @property
    def reflectors(self) -> Mapping[str, Reflector[Any]]:
        return self._watch.reflectors

    def subscribe(self, listener: OnChange) -> None:
        self._watch.subscribe(listener)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.run())
            group.create_task(self._loop.run())

    async def stop(self, timeout_seconds: float) -> None:
        await self._loop.stop(timeout_seconds)

    def _on_change(self, _: str, key: str) -> None:
        self._loop.queue.add_after(key, _COALESCE_SECONDS)

    def _on_fleet(self, kind: str, _: str) -> None:
        """Taints and labels may have changed what a placement means."""
        if kind in ("node", "nodepool"):
            for key in self._watch.services:
                self._loop.queue.add_after(key, _NODE_COALESCE_SECONDS)
