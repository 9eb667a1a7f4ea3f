"""Events of a pool: the workers that were created and retired for it."""

from collections.abc import Iterable, Sequence

from hawser.views import Object
from mooring.engine.events import EventNote, EventWriter, enumerate_names, summarize_acts
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.audit import Subject
from mooring.model.pool import Pool
from mooring.planning.actions import RetireWorker


class PoolEvents:
    """One Event for equal acts of one pass, however many workers they touch."""

    def __init__(self, events: EventWriter) -> None:
        self._events = events

    def created(self, pool: Pool, pods: Sequence[Object]) -> None:
        """These workers were created."""
        if pods:
            message = f"created {enumerate_names([pod.metadata.name for pod in pods])}"
            self._record(pool, "WorkersCreated", message, "/".join(pod.metadata.uid for pod in pods))

    def retired(self, pool: Pool, acts: Iterable[RetireWorker]) -> None:
        """Report deleted workers, each with its reason."""
        acts = tuple(acts)
        for reason, message in summarize_acts((act.worker.name, act.reason) for act in acts).items():
            uids = "/".join(act.worker.uid for act in acts if act.reason == reason)
            self._record(pool, "WorkersRetired", message, uids)

    def _record(self, pool: Pool, reason: str, message: str, occasion: str) -> None:
        subject = Subject(WORKERPOOLS.kind, pool.namespace, pool.name, pool.uid)
        self._events.record(EventNote(subject, WORKERPOOLS.api_version, reason, message, occasion))
