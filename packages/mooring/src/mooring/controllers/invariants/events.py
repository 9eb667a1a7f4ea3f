"""Events on a pool about what the invariants did to its workers and claims, which may be gone when somebody looks."""

from collections.abc import Iterable, Mapping

from mooring.controllers.fleet import Fleet
from mooring.engine.events import EventNote, EventWriter
from mooring.kinds.resources import WORKERPOOLS
from mooring.model.audit import Subject
from mooring.planning.invariants.claims import Act, Remedy

REASONS: Mapping[Remedy, str] = {
    Remedy.UNSTAMP: "StampRemoved",
    Remedy.DELETE_WORKER: "WorkerDeleted",
    Remedy.LOSE_CLAIM: "ClaimLost",
    Remedy.FAIL_CLAIM: "ClaimFailed",
    Remedy.EXPIRE_CLAIM: "ClaimExpired",
}


class InvariantEvents:
    """One Event for each act. An account is tied to its pool by nothing but a name, so it has none."""

    def __init__(self, fleet: Fleet, events: EventWriter) -> None:
        self._fleet = fleet
        self._events = events

    def healed(self, acts: Iterable[Act]) -> None:
        """These acts were done."""
        for act in acts:
            owned = act.claim or act.worker
            pool = self._fleet.pool(f"{owned.namespace}/{owned.pool}") if owned is not None else None
            if pool is None or act.remedy not in REASONS:
                continue
            subject = Subject(WORKERPOOLS.kind, pool.namespace, pool.name, pool.uid)
            message = f"{act.subject.kind} {act.subject.name}: {act.reason}"
            note = EventNote(subject, WORKERPOOLS.api_version, REASONS[act.remedy], message, act.key, "Warning")
            self._events.record(note)
