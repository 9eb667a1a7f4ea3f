"""Actions of a plan. They are data; the controllers carry them out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

import msgspec

from mooring.model.audit import Subject
from mooring.model.proof import Proofs
from mooring.model.worker import Worker

WARM_FLOOR = "warm-floor"


@dataclass(frozen=True, slots=True)
class CreateWorker:
    """Create one worker.

    Its name is its slot in the pool, so the API server refuses to create the same worker twice.
    """

    name: str
    spec_hash: str


class RetireWorker(msgspec.Struct, frozen=True, gc=False):
    """Delete one worker pod, after it passed the rails. The action carries both proofs, the age and the evidence.

    Without cycles: the garbage collector need not walk the thousands that a plan for a large pool may have.
    """

    worker: Worker
    invariant: str
    reason: str
    proofs: Proofs
    age_seconds: float
    floor_seconds: float

    @property
    def key(self) -> str:
        """Identifies the action; equal on both ticks."""
        return f"{self.invariant}/{self.worker.uid}"

    @property
    def action(self) -> str:
        return "delete"

    @property
    def subject(self) -> Subject:
        return Subject("Pod", self.worker.namespace, self.worker.name, self.worker.uid)

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence for the audit row."""
        return {
            "proofs": [str(proof) for proof in self.proofs],
            "ageSeconds": round(self.age_seconds, 1),
            "floorSeconds": self.floor_seconds,
            "phase": self.worker.phase,
            "node": self.worker.node,
            "uid": self.worker.uid,
            "resourceVersion": self.worker.resource_version,
        }


class _Job(Protocol):
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...


class JobDelete:
    """The delete of one Job, as the rails and the audit row name it."""

    __slots__ = ()

    invariant: ClassVar[str]
    job: _Job

    @property
    def key(self) -> str:
        """Identifies the action; equal on both ticks."""
        return f"{self.invariant}/{self.job.uid}"

    @property
    def action(self) -> str:
        return "delete"

    @property
    def subject(self) -> Subject:
        return Subject("Job", self.job.namespace, self.job.name, self.job.uid)


@dataclass(frozen=True, slots=True)
class Reason:
    """Explains something that the plan did or held back."""

    code: str
    message: str
    fix: str = ""


def earliest(*times: datetime | None) -> datetime | None:
    """The earliest of some times, each of which may be missing."""
    present = [time for time in times if time is not None]
    return min(present, default=None)
