"""What a plan asks for. Actions are data; the executor in control/ carries them out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mooring.model.worker import Worker


@dataclass(frozen=True, slots=True)
class CreateWorker:
    """Make one worker. The name is its slot in the pool: made twice, it is refused by the API server."""

    name: str
    spec_hash: str


@dataclass(frozen=True, slots=True)
class RetireWorker:
    """Delete one worker pod. Passes the rails: both proofs, the age and the evidence travel with it."""

    worker: Worker
    invariant: str
    reason: str
    proofs: tuple[str, str]
    age_seconds: float
    floor_seconds: float

    @property
    def key(self) -> str:
        """The same on both ticks."""
        return f"{self.invariant}/{self.worker.uid}"

    @property
    def evidence(self) -> dict[str, Any]:
        """What the audit row keeps."""
        return {
            "proofs": list(self.proofs),
            "ageSeconds": round(self.age_seconds, 1),
            "floorSeconds": self.floor_seconds,
            "phase": self.worker.phase,
            "node": self.worker.node,
            "uid": self.worker.uid,
            "resourceVersion": self.worker.resource_version,
        }


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence for people about something the plan did or held back."""

    code: str
    message: str
    fix: str = ""


def earliest(*times: datetime | None) -> datetime | None:
    """The first of some times, any of which may be missing."""
    present = [time for time in times if time is not None]
    return min(present, default=None)
