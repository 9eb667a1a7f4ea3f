"""Reading the ledger's past from the stamps on pods, and reporting marks that Mooring did not set."""

from collections.abc import Iterable

import structlog

from mooring.controllers.fleet import Fleet
from mooring.controllers.invariants.metrics import MARKS_REFUSED
from mooring.engine.context import Context
from mooring.engine.events import EventNote
from mooring.model.audit import Subject
from mooring.model.worker import Worker
from mooring.planning.invariants.stamp_checks import (
    RefusedMark,
    classify_epochs,
    find_refused_pods,
    find_refused_stamps,
)

log = structlog.get_logger()


class StampChecks:
    """Disarms a ledger that was restored. An epoch that anybody wrote on a pod does nothing but raise a metric."""

    def __init__(self, context: Context, fleet: Fleet) -> None:
        self._ledger = context.ledger
        self._events = context.events
        self._clock = context.clock
        self._fleet = fleet
        self._issued = 0
        self._reported: set[tuple[str, str, int]] = set()

    def forget(self) -> None:
        """The ledger may be another one by now: ask it again what it has issued."""
        self._issued = 0

    async def check(self, workers: Iterable[Worker]) -> None:
        """Compare the stamps of all workers with what the ledger has issued."""
        workers = tuple(workers)
        key = self._ledger.seal_key
        refused = [*find_refused_stamps(workers), *find_refused_pods(self._fleet.strangers, key)]
        newer = [worker for worker in workers if worker.stamp is not None and worker.stamp.epoch > self._issued]
        if newer:
            self._issued = await self._ledger.meta.issued_epoch()
            verdict = classify_epochs(newer, self._issued, key)
            refused += verdict.refused
            if verdict.lost_epoch:
                await self._ledger.meta.observe_epoch(verdict.lost_epoch, now=self._clock.now())
        self._report(refused)

    def _report(self, refused: Iterable[RefusedMark]) -> None:
        """Each once, until it changes."""
        before, self._reported = self._reported, set()
        for one in refused:
            worker = one.worker
            occasion = (worker.uid, one.why.value, worker.stamp.epoch if worker.stamp is not None else 0)
            self._reported.add(occasion)
            if occasion in before:
                continue
            MARKS_REFUSED.labels(one.why.value).inc()
            log.warning("mark refused", namespace=worker.namespace, pod=worker.name, why=one.message)
            subject = Subject("Pod", worker.namespace, worker.name, worker.uid)
            message = f"Mooring did not set the mooring.dev marks of this pod: {one.message}"
            note = EventNote(subject, "v1", "MarkRefused", message, "/".join(map(str, occasion)), "Warning")
            self._events.record(note)
