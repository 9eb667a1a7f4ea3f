"""Submissions, as a part beside the pools: its caches, its loop, its rounds, its desk and its read side."""

import asyncio
from collections.abc import Callable

from mooring.clock import Clock, Entropy
from mooring.control.auditing import Auditor
from mooring.control.fleet import Fleet
from mooring.control.part import Part
from mooring.control.submitting.admission import Admitting
from mooring.control.submitting.creation import JobCreation
from mooring.control.submitting.gates import GateReader
from mooring.control.submitting.lease import NamespaceLease
from mooring.control.submitting.leftovers import Leftovers
from mooring.control.submitting.reading import SubmissionReadSide
from mooring.control.submitting.reconciler import SubmissionReconciler
from mooring.control.submitting.requests import SubmissionDesk
from mooring.control.submitting.rounds import LeftoverRounds
from mooring.control.submitting.stopping import JobStopping
from mooring.control.submitting.watch import SubmissionWatch
from mooring.control.switches import Switches
from mooring.kube.client import KubeClient
from mooring.ledger.port import Ledger
from mooring.model.submission import ENDED, Phase

_COALESCE_SECONDS = 0.5


class Submissions(Part[SubmissionWatch]):
    """Watches, admits and makes while this replica leads, and tells."""

    def __init__(
        self,
        client: KubeClient,
        ledger: Ledger,
        fleet: Fleet,
        auditor: Auditor,
        switches: Switches,
        may_act: Callable[[], bool],
        clock: Clock,
        entropy: Entropy,
        replica_id: str,
        ceiling: int,
    ) -> None:
        watch = SubmissionWatch(client, clock, entropy)
        leftovers = Leftovers(client, fleet, watch, switches.why_paused, auditor, clock)
        lease = NamespaceLease(client, clock, entropy, replica_id)
        admitting = Admitting(GateReader(client, fleet, watch), lease, leftovers, ceiling, clock, entropy)
        creation = JobCreation(client, fleet, watch, clock, entropy)
        stopping = JobStopping(client, auditor, switches.why_paused, clock)
        reconciler = SubmissionReconciler(client, fleet, watch, admitting, creation, stopping, clock)
        super().__init__("submissions", watch, reconciler.reconcile, may_act, clock, entropy, _COALESCE_SECONDS)
        self._rounds = LeftoverRounds(watch, leftovers, ledger, self._ready, clock)
        self.desk = SubmissionDesk(client, watch, clock, entropy)
        self.reading = SubmissionReadSide(watch)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(super().run())
            group.create_task(self._rounds.run())

    def _on_change(self, kind: str, key: str) -> None:
        super()._on_change(kind, key)
        changed = self._watch.submission(key)
        if changed is None or changed.status.phase in ENDED:
            self._wake_waiting(key.partition("/")[0])

    def _wake_waiting(self, namespace: str) -> None:
        """A place may have become free."""
        for view in self._watch.submissions:
            if view.metadata.namespace == namespace and view.status.phase in ("", Phase.PENDING):
                self._loop.queue.add_after(f"{namespace}/{view.metadata.name}", _COALESCE_SECONDS)
