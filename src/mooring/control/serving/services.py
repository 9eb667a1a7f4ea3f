"""Services, as a part beside the pools: its caches, its loop, its read side."""

from collections.abc import Callable

from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.part import Part
from mooring.control.serving.document import Documents
from mooring.control.serving.evidence import EvidenceRoom
from mooring.control.serving.reading import ServiceReadSide
from mooring.control.serving.reconciler import ServiceReconciler
from mooring.control.serving.watch import ServiceWatch
from mooring.kube.client import KubeClient

_COALESCE_SECONDS = 0.1
_NODE_COALESCE_SECONDS = 1.0


class Services(Part[ServiceWatch]):
    """Watches, applies while this replica leads, and tells."""

    def __init__(
        self,
        client: KubeClient,
        fleet: Fleet,
        documents: Documents,
        auditor: Auditor,
        leading: Callable[[], bool],
        why_paused: Callable[[str], str],
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        watch = ServiceWatch(client, clock, entropy)
        room = EvidenceRoom(client, documents)
        self.reading = ServiceReadSide(watch, room)
        reconciler = ServiceReconciler(client, fleet, watch, room, auditor, clock, why_paused)
        super().__init__("services", watch, reconciler.reconcile, leading, clock, entropy, _COALESCE_SECONDS)
        fleet.subscribe(self._on_fleet)

    def _on_fleet(self, kind: str, _: str) -> None:
        """Taints and labels may have changed what a placement means."""
        if kind in ("node", "nodepool"):
            for key in self._watch.services:
                self._loop.queue.add_after(key, _NODE_COALESCE_SECONDS)
